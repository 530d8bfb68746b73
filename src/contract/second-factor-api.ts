import { z } from 'zod'
import { del, get, post } from './endpoint.ts'
import { SignedIn } from './user-api.ts'
import { byId, needed, optional, Text } from './wire.ts'

/**
 * Two-factor sign-in with an authenticator app (TOTP, RFC 6238) and one-time recovery codes. Paths
 * and members are New API's (`controller/twofa.go`, September 2026), so that its consoles and
 * clients work; `POST /api/verify` takes the password too.
 */

const Code = needed(Text)
  .transform((value) => value ?? '')
  .pipe(z.string())
  .meta({
    description: 'Six digits of the authenticator app, or a recovery code.',
    example: '492039',
  })

const CodeBody = z
  .object({ code: Code })
  .meta({ id: 'SecondFactorCode', description: 'Proof of the second factor.' })

const ProofMethod = z.enum(['password', 'code', 'passkey'])
export type ProofMethod = z.infer<typeof ProofMethod>

const RecoveryCodes = z.array(z.string()).meta({
  description: 'Ten recovery codes, shown only once. Each replaces the app for one sign-in.',
  example: ['7f3k-0q2m-x8vd-11ab-w5c9-4tnz'],
})

export const secondFactorApi = {
  login: post('/api/user/login/2fa', {
    name: 'loginSecondFactor',
    summary: 'Completes a sign-in that was answered with `require_2fa`.',
    access: 'anyone',
    rate: 'critical',
    body: z
      .object({
        code: Code,
        flow_token: optional(Text).meta({
          description: '`flow_token` from `POST /api/user/login`; if omitted, its cookie is used.',
          example: '4Yw0cV1ZrJ9mT8kQd2hXs7LbNf6GpAe3UiRoKtWyMzE',
        }),
      })
      .meta({ id: 'SecondFactorSignIn', description: 'The second step of a sign-in.' }),
    data: SignedIn,
    duringPasswordChange: true,
  }),
  verify: post('/api/verify', {
    name: 'verifyIdentity',
    summary:
      'Confirms the identity of the signed-in user for five minutes: by a code, or by the password without a second factor.',
    access: 'user',
    duringFactorSetup: true,
    rate: 'critical',
    body: z
      .object({
        code: optional(Text).meta({
          description: 'Six digits of the authenticator app, or a recovery code.',
          example: '492039',
        }),
        password: optional(Text).meta({
          description: 'Password of the account, if it has no second factor.',
          example: 'correct-horse-9',
        }),
      })
      .meta({ id: 'Verification', description: 'Proof of identity.' }),
    duringPasswordChange: true,
  }),
  status: get('/api/user/2fa/status', {
    name: 'getSecondFactor',
    summary: 'Whether the caller’s account has a second factor.',
    access: 'user',
    duringFactorSetup: true,
    data: z
      .object({
        enabled: z.boolean().describe('Whether sign-in requires a code.'),
        locked: z
          .boolean()
          .describe('Whether codes are rejected for some minutes, after too many wrong ones.'),
        backup_codes_remaining: z
          .int()
          .meta({ description: 'Number of remaining recovery codes.', example: 10 }),
        proof_methods: z.array(ProofMethod).meta({
          description:
            'Ways to prove the identity: `password` and `code` with `POST /api/verify`, `passkey` with `POST /api/user/passkey/verify/begin`; empty: sign in again instead. Gatehouse only.',
          example: ['code'],
        }),
      })
      .meta({ id: 'SecondFactorStatus', description: 'Second factor of the caller’s account.' }),
  }),
  setup: post('/api/user/2fa/setup', {
    name: 'setUpSecondFactor',
    summary: 'Creates a new secret and recovery codes. Sign-in asks for codes only after `enable`.',
    access: 'user',
    duringFactorSetup: true,
    needsProof: true,
    rate: 'critical',
    data: z
      .object({
        secret: z.string().meta({
          description: 'Secret in Base32, for manual entry in an app.',
          example: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
        }),
        qr_code_data: z.string().meta({
          description: 'Address for the QR code that apps scan.',
          example:
            'otpauth://totp/Gatehouse:li.ming?issuer=Gatehouse&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
        }),
        backup_codes: RecoveryCodes,
      })
      .meta({ id: 'SecondFactorSetup', description: 'A second factor that is not enabled yet.' }),
  }),
  enable: post('/api/user/2fa/enable', {
    name: 'enableSecondFactor',
    summary:
      'Turns the second factor on with a first code; ends the other sessions of the account.',
    access: 'user',
    duringFactorSetup: true,
    rate: 'critical',
    body: CodeBody,
  }),
  disable: post('/api/user/2fa/disable', {
    name: 'disableSecondFactor',
    summary: 'Turns the second factor off.',
    access: 'user',
    rate: 'critical',
    body: CodeBody,
  }),
  recoveryCodes: post('/api/user/2fa/backup_codes', {
    name: 'replaceRecoveryCodes',
    summary: 'Creates ten new recovery codes; the old ones stop working.',
    access: 'user',
    rate: 'critical',
    body: CodeBody,
    data: z
      .object({ backup_codes: RecoveryCodes })
      .meta({ id: 'RecoveryCodes', description: 'New recovery codes.' }),
  }),
  reset: del('/api/user/:id/2fa', {
    name: 'resetSecondFactor',
    summary:
      'Removes authenticator app and passkeys of a user of lower role who lost them, and ends that user’s sessions.',
    access: 'admin',
    needsProof: true,
    params: byId('Id of the user.', 12),
  }),
}
