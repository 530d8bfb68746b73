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
      'Response token of the human check; ignored if the check is off or was passed recently.',
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
      description: 'Unique sign-in name; no `@`, no spaces at either end.',
    }),
    password: needed(Text).meta(password),
    display_name: optional(Text).describe('Rejected if too long; otherwise ignored.'),
    email: UnreadEmail.describe(
      'Used only with `EmailVerificationEnabled`, together with the code that was mailed to it.',
    ),
    verification_code: optional(Text).meta({ description: MailCode, example: '8F2KQ7' }),
    aff_code: optional(Text).meta({
      description: 'Invite code; an unknown code is ignored.',
      example: 'x7Kq',
    }),
  })
  .meta({ id: 'Registration', description: 'A new account.' })

export const accountApi = {
  register: post('/api/user/register', {
    name: 'register',
    summary: 'Creates an account, without signing the caller in.',
    access: 'anyone',
    rate: 'critical',
    query: z.object(HumanCheck),
    body: Registration,
  }),
  sendCode: get('/api/verification', {
    name: 'sendEmailCode',
    summary:
      'Mails a code for registration or for linking an address. The response does not reveal whether the address is in use; only the email does.',
    access: 'anyone',
    rate: 'critical',
    changesState: true,
    query: z.object({ email: Email.describe('Recipient of the code.'), ...HumanCheck }),
  }),
  requestReset: get('/api/reset_password', {
    name: 'requestPasswordReset',
    summary:
      'Mails a link for a new password. The response does not reveal whether an account has this address.',
    access: 'anyone',
    rate: 'critical',
    changesState: true,
    query: z.object({ email: Email.describe('Email address of the account.'), ...HumanCheck }),
  }),
  reset: post('/api/user/reset', {
    name: 'resetPassword',
    summary: 'Sets a new password for the account of a mailed link, and returns it.',
    access: 'anyone',
    rate: 'critical',
    body: z
      .object({
        email: needed(Text).describe('Email address of the account, from the link.'),
        token: needed(Text).meta({
          description: 'Token from the link.',
          example: '0c6d1f5be07a4a1c8f3d2e9b7a65c410',
        }),
      })
      .meta({
        id: 'PasswordReset',
        description: 'Content of the mailed link, with the new password.',
      }),
    data: z.string().meta({ description: 'The new password.', example: 'hT9vQ2mXcR4k' }),
  }),
  inviteCode: get('/api/user/aff', {
    name: 'getInviteCode',
    summary: 'Returns the caller’s invite code, and creates it if missing.',
    access: 'user',
    changesState: true,
    data: z.string().meta({ example: 'x7Kq' }),
  }),
  removeSelf: del('/api/user/self', {
    name: 'deleteSelf',
    summary: 'Deletes the caller’s account.',
    access: 'user',
    needsProof: true,
  }),
  bindEmail: get('/api/oauth/email/bind', {
    name: 'bindEmail',
    summary: 'Links an email address to the caller’s account, with the code mailed to it.',
    access: 'user',
    needsProof: true,
    rate: 'critical',
    changesState: true,
    query: z.object({
      email: Email.describe('Email address to link.'),
      code: z
        .string()
        .max(EMAIL_TEXT_MAX)
        .default('')
        .meta({ description: MailCode, example: '8F2KQ7' }),
    }),
  }),
  testMail: post('/api/mail/test', {
    name: 'sendTestMail',
    summary:
      'Sends a test email with the current settings; requires the role that may change settings.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    rate: 'critical',
    body: z
      .object({
        email: optional(Text).describe('Recipient; if omitted, the caller’s own address.'),
        notice: optional(z.boolean()).describe(
          'True: sends to the destination of operator notices, the message pusher or the super admin’s mailbox.',
        ),
      })
      .meta({ id: 'TestMail', description: 'Recipient of the test email.' }),
  }),
}
