import { z } from 'zod'
import { del, get, post, put } from './endpoint.ts'
import { SignedIn } from './user-api.ts'
import { EpochSeconds, optional, Text } from './wire.ts'

/**
 * Passkeys (WebAuthn Level 3). Paths are New API's (`router/api-router.go`, commit 002f912), and so
 * are the members of `begin` and `finish`; an account may have several passkeys here, with names.
 */

/** Maximum length of a passkey's name, in characters. */
export const PASSKEY_NAME_LENGTH_MAX = 60

const Bytes = Text.meta({ description: 'Bytes in base64url.', example: 'AQIDBA' })

const credential = {
  id: Bytes.describe('Credential id in base64url.'),
  rawId: Bytes.describe('Same as `id`.'),
}

const Attestation = z
  .object({
    ...credential,
    response: z
      .object({
        clientDataJSON: Bytes,
        attestationObject: Bytes,
        transports: optional(z.array(Text.max(32)).max(10)).meta({
          description: 'Ways to reach the authenticator.',
          example: ['internal'],
        }),
      })
      .meta({ id: 'AttestationResponse', description: 'Response of a new passkey.' }),
    name: optional(Text).meta({
      description: `Name of the passkey, at most ${PASSKEY_NAME_LENGTH_MAX} characters. Gatehouse only.`,
      example: 'MacBook',
    }),
  })
  .meta({
    id: 'PasskeyAttestation',
    description: '`PublicKeyCredential.toJSON()` of a new passkey.',
  })
export type PasskeyAttestation = z.infer<typeof Attestation>

const Assertion = z
  .object({
    ...credential,
    response: z
      .object({
        clientDataJSON: Bytes,
        authenticatorData: Bytes,
        signature: Bytes,
        userHandle: optional(Bytes),
      })
      .meta({ id: 'AssertionResponse', description: 'Signature of a passkey.' }),
  })
  .meta({ id: 'PasskeyAssertion', description: '`PublicKeyCredential.toJSON()` of a passkey.' })
export type PasskeyAssertion = z.infer<typeof Assertion>

const Options = (id: string, description: string) =>
  z
    .object({
      options: z
        .object({
          publicKey: z
            .looseObject({ challenge: Bytes })
            .describe('Options in the JSON form of WebAuthn.'),
        })
        .meta({ id: `${id}Wrapper`, description: 'Options of the browser call.' }),
    })
    .meta({ id, description })

const CreationOptions = Options('PasskeyCreation', 'For `navigator.credentials.create()`.')
const RequestOptions = Options('PasskeyRequest', 'For `navigator.credentials.get()`.')

const Passkey = z
  .object({
    id: z.string().meta({ description: 'Credential id in base64url.', example: 'AQIDBA' }),
    name: z.string().meta({ description: 'Name of the passkey.', example: 'MacBook' }),
    created_at: EpochSeconds.describe('Time of creation, in epoch seconds; 0: unknown.'),
    used_at: EpochSeconds.describe('Time of the last use, in epoch seconds; 0: never.'),
  })
  .meta({ id: 'Passkey', description: 'A passkey of the caller’s account.' })
export type Passkey = z.infer<typeof Passkey>

const byPasskey = z.object({
  passkey: z.string().max(2048).meta({ description: '`id` of the list.', example: 'AQIDBA' }),
})

export const passkeyApi = {
  list: get('/api/user/passkey', {
    name: 'listPasskeys',
    summary: 'Passkeys of the caller’s account.',
    access: 'user',
    data: z
      .object({
        enabled: z.boolean().describe('Whether the account has a passkey.'),
        passkeys: z.array(Passkey).describe('Passkeys, oldest first. Gatehouse only.'),
      })
      .meta({ id: 'Passkeys', description: 'Passkeys of the caller’s account.' }),
    duringFactorSetup: true,
  }),
  registerBegin: post('/api/user/passkey/register/begin', {
    name: 'beginPasskeyRegistration',
    summary: 'Returns a challenge for a new passkey; a cookie identifies it.',
    access: 'user',
    needsProof: true,
    data: CreationOptions,
    duringFactorSetup: true,
  }),
  registerFinish: post('/api/user/passkey/register/finish', {
    name: 'finishPasskeyRegistration',
    summary: 'Adds the passkey that a browser has created.',
    access: 'user',
    body: Attestation,
    duringFactorSetup: true,
  }),
  loginBegin: post('/api/user/passkey/login/begin', {
    name: 'beginPasskeySignIn',
    summary: 'Returns a challenge for signing in with a passkey; a cookie identifies it.',
    access: 'anyone',
    rate: 'critical',
    data: RequestOptions,
  }),
  loginFinish: post('/api/user/passkey/login/finish', {
    name: 'finishPasskeySignIn',
    summary: 'Signs in with a passkey, without password and code.',
    access: 'anyone',
    body: Assertion,
    data: SignedIn,
  }),
  verifyBegin: post('/api/user/passkey/verify/begin', {
    name: 'beginPasskeyVerification',
    summary: 'Returns a challenge for a proof of identity; a cookie identifies it.',
    access: 'user',
    data: RequestOptions,
    duringFactorSetup: true,
  }),
  verifyFinish: post('/api/user/passkey/verify/finish', {
    name: 'finishPasskeyVerification',
    summary: 'Proves the caller’s identity with a passkey, like `POST /api/verify`.',
    access: 'user',
    body: Assertion,
    duringFactorSetup: true,
  }),
  rename: put('/api/user/passkey/:passkey', {
    name: 'renamePasskey',
    summary: 'Renames a passkey of the caller’s account. Gatehouse only.',
    access: 'user',
    params: byPasskey,
    body: z
      .object({
        name: Text.meta({
          description: `New name, 1 to ${PASSKEY_NAME_LENGTH_MAX} characters.`,
          example: 'MacBook',
        }),
      })
      .meta({ id: 'PasskeyName', description: 'New name of a passkey.' }),
  }),
  remove: del('/api/user/passkey/:passkey', {
    name: 'deletePasskey',
    summary: 'Removes a passkey of the caller’s account. Gatehouse only.',
    access: 'user',
    needsProof: true,
    params: byPasskey,
  }),
}
