import { secondFactorApi, type ProofMethod } from '../../contract/second-factor-api.ts'
import { UserStatus } from '../../contract/user.ts'
import { noticeCredential } from '../account/credential-notice.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { serve, type Route } from '../http/handler.ts'
import { systemName } from '../mail/mailer.ts'
import { rememberBrowser } from '../sign-in/known-browser.ts'
import { startSession } from '../sign-in/start-session.ts'
import { checkPresentPassword, requireSession } from '../user/present-password.ts'
import { deleteSessionsOf, noteVerified } from '../user/session-store.ts'
import { mayChange } from '../user/user.ts'
import { findUser, lockUser, type StoredUser } from '../user/user-store.ts'
import { hasPasskey } from '../passkey/passkey-store.ts'
import {
  enrolmentAddress,
  newRecoveryCodes,
  newSecret,
  recoveryCodeHash,
} from './one-time-password.ts'
import { deleteAllFactors, secondStepMethods } from './required-factor.ts'
import {
  countRecoveryCodes,
  deleteSecondFactor,
  enable,
  findSecondFactor,
  insertPending,
  replaceRecoveryCodes,
} from './second-factor-store.ts'
import { checkCode, endPending, pendingSignIn } from './second-step.ts'
import { tried } from './tried.ts'

/** Two-factor sign-in: enrolment, sign-in, recovery codes, reset. Paths and members are New API's. */
export const secondFactorRoutes = (app: App): Route[] => [
  ...signInRoutes(app),
  ...ownRoutes(app),
  resetRoute(app),
]

function signInRoutes(app: App): Route[] {
  return [
    serve(secondFactorApi.login, async (call) => {
      const { code, flow_token = '' } = call.body
      const pending = await pendingSignIn(app, call, flow_token)
      await tried(app, pending.userId, () => checkCode(app, pending.userId, code))
      const user = await findUser(app.database.read, pending.userId)
      if (user === undefined || user.status !== UserStatus.enabled) {
        throw new AppError('user_disabled').about(user)
      }
      await endPending(app, call, pending.idHash)
      const { mustChangePassword } = pending
      const data = await startSession(app, call, { user, mustChangePassword })
      rememberBrowser(app, call, user)
      return { data }
    }),
    serve(secondFactorApi.verify, async (call) => {
      const { actor, body } = call
      requireSession(actor)
      const methods = await proofMethods(app, actor.user)
      if (methods.includes('code')) {
        if (!body.code) throw new AppError('second_factor_needed')
        await checkCode(app, actor.id, body.code)
      } else {
        if (!body.password || !methods.includes('password')) {
          throw new AppError('verification_needed')
        }
        await checkPresentPassword(app, call, body.password)
      }
      await noteVerified(app.database.write, actor.sessionHash, app.clock.nowSeconds())
    }),
  ]
}

/** Returns the proofs of identity that a user can give; the password only without second factor. */
async function proofMethods(app: App, user: StoredUser): Promise<ProofMethod[]> {
  // The password alone must not bypass the second factor.
  const second = await secondStepMethods(app, user)
  if (second.length > 0) return second
  // Users of external providers may have no password: they sign in again instead.
  const password = user.password === '' ? [] : (['password'] as const)
  const passkey = (await hasPasskey(app.database.read, user.id)) ? (['passkey'] as const) : []
  return [...password, ...passkey]
}

function ownRoutes(app: App): Route[] {
  const { database, clock } = app
  return [
    serve(secondFactorApi.status, async ({ actor }) => {
      const factor = await findSecondFactor(database.read, actor.id)
      const enabled = factor?.isEnabled ?? false
      const backup_codes_remaining = enabled ? await countRecoveryCodes(database.read, actor.id) : 0
      const waitSeconds = await app.rateLimits.signIn.waitSeconds(`second factor ${actor.id}`)
      const proof_methods = await proofMethods(app, actor.user)
      return { data: { enabled, locked: waitSeconds > 0, backup_codes_remaining, proof_methods } }
    }),
    serve(secondFactorApi.setup, async ({ actor }) => {
      requireSession(actor)
      const nowSeconds = clock.nowSeconds()
      const secret = newSecret()
      const backup_codes = newRecoveryCodes()
      await database.write.transaction().execute(async (trx) => {
        // Locked: two concurrent calls would mix the secret of one with the codes of the other.
        await lockUser(trx, actor.id)
        const stored = await findSecondFactor(trx, actor.id)
        if (stored?.isEnabled === true) throw new AppError('second_factor_enabled')
        const codeHashes = backup_codes.map(recoveryCodeHash)
        await insertPending(trx, { userId: actor.id, secret, codeHashes, nowSeconds })
      })
      const { username } = actor.user
      const qr_code_data = enrolmentAddress(secret, { issuer: systemName(app), username })
      return { data: { secret, qr_code_data, backup_codes } }
    }),
    serve(secondFactorApi.enable, async (call) => {
      const { actor, body } = call
      requireSession(actor)
      const stored = await findSecondFactor(database.read, actor.id)
      if (stored === undefined) throw new AppError('second_factor_missing')
      if (stored.isEnabled) throw new AppError('second_factor_enabled')
      await checkCode(app, actor.id, body.code, { isFirst: true })
      await database.write.transaction().execute(async (trx) => {
        // A set-up in another window may have replaced the secret of this code.
        if (!(await enable(trx, stored, clock.nowSeconds()))) {
          throw new AppError('second_factor_wrong')
        }
        // Sessions created without it.
        await deleteSessionsOf(trx, actor.id, actor.sessionHash)
        await recordChange(call, trx, { before: false, after: true })
      })
      await database.announce(`user:${actor.id}`)
      noticeCredential(app, actor.user, 'second_factor_on', call)
    }),
    serve(secondFactorApi.disable, async (call) => {
      const { actor, body } = call
      requireSession(actor)
      await checkCode(app, actor.id, body.code)
      await database.write.transaction().execute(async (trx) => {
        await deleteSecondFactor(trx, actor.id)
        await recordChange(call, trx, { before: true, after: false })
      })
      noticeCredential(app, actor.user, 'second_factor_off', call)
    }),
    serve(secondFactorApi.recoveryCodes, async (call) => {
      const { actor, body } = call
      requireSession(actor)
      await checkCode(app, actor.id, body.code)
      const backup_codes = newRecoveryCodes()
      await database.write
        .transaction()
        .execute((trx) => replaceRecoveryCodes(trx, actor.id, backup_codes.map(recoveryCodeHash)))
      noticeCredential(app, actor.user, 'recovery_codes', call)
      return { data: { backup_codes } }
    }),
  ]

  type Call = Parameters<typeof recordAudit>[1]
  function recordChange(
    call: Call,
    trx: Parameters<typeof recordAudit>[0],
    { before, after }: { before: boolean; after: boolean },
  ): Promise<void> {
    return recordAudit(trx, call, {
      nowSeconds: clock.nowSeconds(),
      action: 'user.second_factor',
      target: { id: call.actor.id, name: call.actor.user.username },
      before: { second_factor: before },
      after: { second_factor: after },
    })
  }
}

/** Removes the second factor of a user who lost device and recovery codes, and ends the sessions. */
const resetRoute = (app: App): Route =>
  serve(secondFactorApi.reset, async (call) => {
    const { actor, params } = call
    const user = await app.database.write.transaction().execute(async (trx) => {
      const target = await lockUser(trx, params.id)
      if (target === undefined) throw new AppError('not_found')
      if (target.id === actor.id || !mayChange(actor, target)) {
        throw new AppError('cannot_change_peer')
      }
      if (!(await deleteAllFactors(trx, target.id))) throw new AppError('second_factor_missing')
      await deleteSessionsOf(trx, target.id)
      await recordAudit(trx, call, {
        nowSeconds: app.clock.nowSeconds(),
        action: 'user.second_factor',
        target: { id: target.id, name: target.username },
        before: { second_factor: true },
        after: { second_factor: false },
      })
      return target
    })
    await app.database.announce(`user:${params.id}`)
    noticeCredential(app, user, 'second_factor_reset', 'administrator')
  })
