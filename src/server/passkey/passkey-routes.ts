import { generateAuthenticationOptions, generateRegistrationOptions } from '@simplewebauthn/server'
import { PASSKEY_NAME_LENGTH_MAX, passkeyApi } from '../../contract/passkey-api.ts'
import { length } from '../../contract/text.ts'
import { UserStatus } from '../../contract/user.ts'
import { noticeCredential } from '../account/credential-notice.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import type { Queries } from '../db/database.ts'
import { serve, type Actor, type Route } from '../http/handler.ts'
import { hasAnyFactor, isFactorRequired } from '../second-factor/required-factor.ts'
import { tried } from '../second-factor/tried.ts'
import { usesDefaultPassword } from '../sign-in/default-password.ts'
import { rememberBrowser } from '../sign-in/known-browser.ts'
import { startSession } from '../sign-in/start-session.ts'
import { requireSession } from '../user/present-password.ts'
import { deleteSessionsOf, noteVerified } from '../user/session-store.ts'
import { findUser, lockUser } from '../user/user-store.ts'
import {
  ALGORITHMS,
  CHALLENGE_LIFE_SECONDS,
  checkAssertion,
  checkAttestation,
  relyingParty,
  startChallenge,
  takeChallenge,
} from './ceremony.ts'
import {
  deletePasskey,
  findPasskey,
  insertPasskey,
  passkeysOf,
  renamePasskey,
} from './passkey-store.ts'

/** Maximum number of passkeys of an account. */
const PASSKEYS_MAX = 20
const TIMEOUT_MS = CHALLENGE_LIFE_SECONDS * 1000

/** Passkeys: add, sign in, prove identity, rename, delete. Paths and members are New API's. */
export const passkeyRoutes = (app: App): Route[] => [
  ...signInRoutes(app),
  ...registrationRoutes(app),
  ...verificationRoutes(app),
  ...ownRoutes(app),
]

function signInRoutes(app: App): Route[] {
  return [
    serve(passkeyApi.loginBegin, async (call) => {
      const { id } = relyingParty(app, call)
      const publicKey = await generateAuthenticationOptions({
        rpID: id,
        userVerification: 'required',
        timeout: TIMEOUT_MS,
      })
      const { challenge } = publicKey
      await startChallenge(app, call, { challenge, purpose: 'login', userId: 0 })
      return { data: { options: { publicKey: { ...publicKey } } } }
    }),
    serve(passkeyApi.loginFinish, async (call) => {
      const { body } = call
      const party = relyingParty(app, call)
      const challenge = await takeChallenge(app, call, { purpose: 'login', userId: 0 })
      const passkey = await findPasskey(app.database.read, body.id)
      const { userId } = await tried(app, passkey?.userId ?? 0, () =>
        checkAssertion(app, party, { challenge, body, passkey }),
      )
      const user = await findUser(app.database.read, userId)
      if (user === undefined || user.status !== UserStatus.enabled) {
        throw new AppError('user_disabled').about(user)
      }
      const mustChangePassword = await usesDefaultPassword(app, call, user)
      const data = await startSession(app, call, { user, mustChangePassword })
      rememberBrowser(app, call, user)
      return { data }
    }),
  ]
}

function registrationRoutes(app: App): Route[] {
  const { database, clock } = app
  return [
    serve(passkeyApi.registerBegin, async (call) => {
      const { actor } = call
      requireSession(actor)
      const party = relyingParty(app, call)
      const passkeys = await passkeysOf(database.read, actor.id)
      if (passkeys.length >= PASSKEYS_MAX)
        throw new AppError('passkey_limit', { max: PASSKEYS_MAX })
      const { username, display_name } = actor.user
      const publicKey = await generateRegistrationOptions({
        rpName: party.name,
        rpID: party.id,
        userName: username,
        userDisplayName: display_name || username,
        userID: new Uint8Array(Buffer.from(String(actor.id))),
        timeout: TIMEOUT_MS,
        supportedAlgorithmIDs: ALGORITHMS,
        excludeCredentials: passkeys.map(({ credentialId: id, transports }) => ({
          id,
          transports,
        })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      })
      const { challenge } = publicKey
      await startChallenge(app, call, { challenge, purpose: 'register', userId: actor.id })
      return { data: { options: { publicKey: { ...publicKey } } } }
    }),
    serve(passkeyApi.registerFinish, async (call) => {
      const { actor, body } = call
      requireSession(actor)
      const name = passkeyName(body.name ?? '') || 'Passkey'
      const party = relyingParty(app, call)
      const challenge = await takeChallenge(app, call, { purpose: 'register', userId: actor.id })
      const { credential } = await checkAttestation(app, party, { challenge, body })
      const nowSeconds = clock.nowSeconds()
      await database.write.transaction().execute(async (trx) => {
        await lockUser(trx, actor.id)
        if ((await passkeysOf(trx, actor.id)).length >= PASSKEYS_MAX) {
          throw new AppError('passkey_limit', { max: PASSKEYS_MAX })
        }
        const isFirst = !(await hasAnyFactor(trx, actor.id))
        const isNew = await insertPasskey(trx, {
          credentialId: credential.id,
          userId: actor.id,
          name,
          publicKey: Buffer.from(credential.publicKey).toString('base64url'),
          counter: credential.counter,
          transports: body.response.transports ?? [],
          createdAt: nowSeconds,
          usedAt: 0,
        })
        if (!isNew) throw new AppError('passkey_invalid')
        // Sessions that could do nothing without a factor must not be freed by this one.
        if (isFirst && isFactorRequired(app, actor.role)) {
          await deleteSessionsOf(trx, actor.id, actor.sessionHash)
        }
        await recordPasskey(trx, call, { before: null, after: { passkey: name } })
      })
      noticeCredential(app, actor.user, 'passkey_added', call)
    }),
  ]

  type Call = Parameters<typeof recordAudit>[1]
  function recordPasskey(
    trx: Queries,
    call: Call,
    { before, after }: { before: object | null; after: object | null },
  ): Promise<void> {
    return recordAudit(trx, call, {
      nowSeconds: clock.nowSeconds(),
      action: 'user.second_factor',
      target: { id: call.actor.id, name: call.actor.user.username },
      before,
      after,
    })
  }
}

function verificationRoutes(app: App): Route[] {
  const { database, clock } = app
  return [
    serve(passkeyApi.verifyBegin, async (call) => {
      const { actor } = call
      requireSession(actor)
      const { id } = relyingParty(app, call)
      const passkeys = await passkeysOf(database.read, actor.id)
      if (passkeys.length === 0) throw new AppError('passkey_missing')
      const publicKey = await generateAuthenticationOptions({
        rpID: id,
        userVerification: 'required',
        timeout: TIMEOUT_MS,
        allowCredentials: passkeys.map(({ credentialId, transports }) => ({
          id: credentialId,
          transports,
        })),
      })
      const { challenge } = publicKey
      await startChallenge(app, call, { challenge, purpose: 'verify', userId: actor.id })
      return { data: { options: { publicKey: { ...publicKey } } } }
    }),
    serve(passkeyApi.verifyFinish, async (call) => {
      const { actor, body } = call
      requireSession(actor)
      const party = relyingParty(app, call)
      const challenge = await takeChallenge(app, call, { purpose: 'verify', userId: actor.id })
      const passkey = await ownPasskey(app, actor, body.id)
      await checkAssertion(app, party, { challenge, body, passkey })
      await noteVerified(database.write, actor.sessionHash, clock.nowSeconds())
    }),
  ]
}

async function ownPasskey({ database }: App, actor: Actor, credentialId: string) {
  const passkey = await findPasskey(database.read, credentialId)
  return passkey?.userId === actor.id ? passkey : undefined
}

function ownRoutes(app: App): Route[] {
  const { database, clock } = app
  return [
    serve(passkeyApi.list, async ({ actor }) => {
      const passkeys = await passkeysOf(database.read, actor.id)
      return {
        data: {
          enabled: passkeys.length > 0,
          passkeys: passkeys.map(({ credentialId, name, createdAt, usedAt }) => ({
            id: credentialId,
            name,
            created_at: createdAt,
            used_at: usedAt,
          })),
        },
      }
    }),
    serve(passkeyApi.rename, async ({ actor, params, body }) => {
      requireSession(actor)
      const name = passkeyName(body.name)
      if (name === '') throw new AppError('invalid_parameter')
      const wanted = { userId: actor.id, credentialId: params.passkey, name }
      if (!(await renamePasskey(database.write, wanted))) throw new AppError('passkey_missing')
    }),
    serve(passkeyApi.remove, async (call) => {
      const { actor, params } = call
      requireSession(actor)
      await database.write.transaction().execute(async (trx) => {
        const name = await deletePasskey(trx, actor.id, params.passkey)
        if (name === undefined) throw new AppError('passkey_missing')
        await recordAudit(trx, call, {
          nowSeconds: clock.nowSeconds(),
          action: 'user.second_factor',
          target: { id: actor.id, name: actor.user.username },
          before: { passkey: name },
          after: null,
        })
      })
      noticeCredential(app, actor.user, 'passkey_removed', call)
    }),
  ]
}

/** Throws `passkey_name_too_long`. */
function passkeyName(text: string): string {
  const name = text.trim()
  if (length(name) > PASSKEY_NAME_LENGTH_MAX) {
    throw new AppError('passkey_name_too_long', { max: PASSKEY_NAME_LENGTH_MAX })
  }
  return name
}
