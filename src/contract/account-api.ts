import { z } from 'zod'
import { del, get, post } from './endpoint.ts'
import { password, UnreadEmail, username } from './user-api.ts'
import { needed, optional, Text } from './wire.ts'

/**
 * Registration, password reset and account removal. Endpoints that send mail or accept a secret to
 * guess use the critical rate limit.
 */

const HumanCheck = {
  turnstile: z
    .string()
    .max(4096)
    .default('')
    .describe(
      'Answer of the human check’s widget; not looked at when the check is off or just passed.',
    ),
}

/** Maximum length of an email address in a request, in characters. */
const EMAIL_TEXT_MAX = 320
const Email = z.string().max(EMAIL_TEXT_MAX).default('')

const MailCode = '6 characters that were mailed to the address.'

const Registration = z
  .object({
    username: needed(Text).meta({
      ...username,
      description: 'Signs in, and is unique; no `@`, no blank at either end.',
    }),
    password: needed(Text).meta(password),
    display_name: optional(Text).describe('Refused when too long; otherwise not read.'),
    email: UnreadEmail.describe(
      'Read only while `EmailVerificationEnabled`, together with the code that was mailed to it.',
    ),
    verification_code: optional(Text).meta({ description: MailCode, example: '8F2KQ7' }),
    aff_code: optional(Text).meta({
      description: 'Code of whoever invites; one that nobody has is ignored.',
      example: 'x7Kq',
    }),
  })
  .meta({ id: 'Registration', description: 'A new account.' })

export const accountApi = {
  register: post('/api/user/register', {
    name: 'register',
    summary: 'Makes an account; the caller is not signed in by it.',
    access: 'anyone',
    rate: 'critical',
    query: z.object(HumanCheck),
    body: Registration,
  }),
  sendCode: get('/api/verification', {
    name: 'sendEmailCode',
    summary:
      'Mails a code for registering or binding an address. The answer does not tell whether the address is in use; its mailbox does.',
    access: 'anyone',
    rate: 'critical',
    changesState: true,
    query: z.object({ email: Email.describe('Where the code goes.'), ...HumanCheck }),
  }),
  requestReset: get('/api/reset_password', {
    name: 'requestPasswordReset',
    summary:
      'Mails a link for a new password. The answer does not tell whether an account has this address.',
    access: 'anyone',
    rate: 'critical',
    changesState: true,
    query: z.object({ email: Email.describe('Address of the account.'), ...HumanCheck }),
  }),
  reset: post('/api/user/reset', {
    name: 'resetPassword',
    summary: 'Gives the account of a mailed link a new password, and answers it.',
    access: 'anyone',
    rate: 'critical',
    body: z
      .object({
        email: needed(Text).describe('Address of the account, from the link.'),
        token: needed(Text).meta({
          description: 'Token of the link.',
          example: '0c6d1f5be07a4a1c8f3d2e9b7a65c410',
        }),
      })
      .meta({ id: 'PasswordReset', description: 'What the mailed link holds.' }),
    data: z.string().meta({ description: 'The new password.', example: 'hT9vQ2mXcR4k' }),
  }),
  inviteCode: get('/api/user/aff', {
    name: 'getInviteCode',
    summary: 'The own invite code; made when there is none.',
    access: 'user',
    changesState: true,
    data: z.string().meta({ example: 'x7Kq' }),
  }),
  removeSelf: del('/api/user/self', {
    name: 'deleteSelf',
    summary: 'Deletes the own account.',
    access: 'user',
  }),
  bindEmail: get('/api/oauth/email/bind', {
    name: 'bindEmail',
    summary: 'Binds an address to the own account with the code mailed to it.',
    access: 'user',
    rate: 'critical',
    changesState: true,
    query: z.object({
      email: Email.describe('The address.'),
      code: z
        .string()
        .max(EMAIL_TEXT_MAX)
        .default('')
        .meta({ description: MailCode, example: '8F2KQ7' }),
    }),
  }),
  testMail: post('/api/mail/test', {
    name: 'sendTestMail',
    summary: 'Sends a test mail with the settings in force; for those who may change settings.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    rate: 'critical',
    body: z
      .object({
        email: optional(Text).describe('Receiver; absent: the caller’s own address.'),
        notice: optional(z.boolean()).describe(
          'True: goes where notices to the operator go, the message pusher or root’s mailbox.',
        ),
      })
      .meta({ id: 'TestMail', description: 'Where the test mail goes.' }),
  }),
}
