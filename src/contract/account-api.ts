import { z } from 'zod'
import { del, get, post } from './endpoint.ts'
import { optional, Text } from './wire.ts'

/**
 * How people come to an account, get back into it, and leave it. Everything here that costs mail or
 * guesses counts in the critical bucket.
 */

/** Answer of the human check's widget; not looked at when the check is off or just passed. */
const HumanCheck = { turnstile: z.string().max(4096).default('') }

/** Longest e-mail address that is looked at, in characters. */
const EMAIL_TEXT_MAX = 320
const Email = z.string().max(EMAIL_TEXT_MAX).default('')

const Registration = z.object({
  username: optional(Text),
  password: optional(Text),
  /** Refused when too long; otherwise not read. */
  display_name: optional(Text),
  /** Read only while `EmailVerificationEnabled`, together with the code that was mailed to it. */
  email: optional(Text),
  verification_code: optional(Text),
  /** Invite code; one that nobody has is ignored. */
  aff_code: optional(Text),
})

export const accountApi = {
  register: post('/api/user/register', {
    access: 'anyone',
    rate: 'critical',
    query: z.object(HumanCheck),
    body: Registration,
    summary: 'Makes an account; the caller is not signed in by it.',
  }),
  sendCode: get('/api/verification', {
    access: 'anyone',
    rate: 'critical',
    changesState: true,
    query: z.object({ email: Email, ...HumanCheck }),
    summary:
      'Mails a code for registering or binding an address. The answer does not tell whether the address is in use; its mailbox does.',
  }),
  requestReset: get('/api/reset_password', {
    access: 'anyone',
    rate: 'critical',
    changesState: true,
    query: z.object({ email: Email, ...HumanCheck }),
    summary:
      'Mails a link for a new password. The answer does not tell whether an account has this address.',
  }),
  reset: post('/api/user/reset', {
    access: 'anyone',
    rate: 'critical',
    body: z.object({ email: optional(Text), token: optional(Text) }),
    /** The new password. */
    data: z.string(),
  }),
  inviteCode: get('/api/user/aff', {
    access: 'user',
    changesState: true,
    data: z.string(),
    summary: 'The own invite code; made when there is none.',
  }),
  removeSelf: del('/api/user/self', { access: 'user' }),
  bindEmail: get('/api/oauth/email/bind', {
    access: 'user',
    rate: 'critical',
    changesState: true,
    query: z.object({ email: Email, code: z.string().max(EMAIL_TEXT_MAX).default('') }),
    summary: 'Binds an address to the own account with the code mailed to it.',
  }),
  testMail: post('/api/mail/test', {
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    rate: 'critical',
    body: z.object({
      /** Receiver; absent: the caller's own address. */
      email: optional(Text),
      /** True: goes where notices to the operator go, the message pusher or root's mailbox. */
      notice: optional(z.boolean()),
    }),
    summary: 'Sends a test mail with the settings in force; for those who may change settings.',
  }),
}
