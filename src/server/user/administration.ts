import type { AuditAction } from '../../contract/audit.ts'
import type { Limits, LimitInput } from '../../contract/limit-api.ts'
import { logRows, logText } from '../../contract/log-sentences.ts'
import { LogType } from '../../contract/log.ts'
import { groupNames, isRoot, UserStatus, type ManageAction } from '../../contract/user.ts'
import { deleteAccessTokensOf } from '../access-token/access-token-store.ts'
import { noticeCredential } from '../account/credential-notice.ts'
import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import type { Queries } from '../db/database.ts'
import type { Actor } from '../http/handler.ts'
import { requireProof } from '../http/proof.ts'
import { creditUser, setUserQuota } from '../ledger/balances.ts'
import { wholeLimits } from '../limit/limit.ts'
import { findLimits, saveLimits } from '../limit/limit-store.ts'
import { insertLog } from '../log/log-store.ts'
import { quotaLogText } from '../log/log-text.ts'
import type { ExternalProvider } from '../../contract/oauth.ts'
import {
  identitiesOf,
  removeEmptied,
  removeIdentity,
  type ShownIdentities,
} from '../sign-in/identity-store.ts'
import { changeUser, markUserDeleted } from './change-user.ts'
import { hashingCaller } from './password.ts'
import { requireSession } from './present-password.ts'
import { deleteSessionsOf, passwordChanged, sessionsOf } from './session-store.ts'
import { managedState, manageRefusal, mayChange, rankRefusal } from './user.ts'
import {
  findUser,
  findUserByName,
  lockAdministration,
  lockUser,
  type StoredUser,
  type UserChanges,
} from './user-store.ts'

/**
 * Administration of users. Each action is one transaction, and they run one at a time: permission
 * is checked on the current rows, and the audit row is written in the same transaction.
 */

/** The admin's request. */
export interface AdminCall {
  actor: Actor
  address: string
  requestId: string
}

interface UserUpdate extends ShownIdentities {
  id: number
  username?: string | undefined
  display_name?: string | undefined
  password?: string | undefined
  role?: number | undefined
  status?: number | undefined
  email?: string | undefined
  group?: string | undefined
  quota?: number | undefined
  quota_was?: number | undefined
  limits?: LimitInput | undefined
}

/** Changes the given members. An empty name or password and 0 mean unchanged. */
export async function updateUserByAdmin(
  app: App,
  call: AdminCall,
  wanted: UserUpdate,
): Promise<void> {
  const changes: UserChanges = {}
  if (wanted.username) changes.username = wanted.username
  if (wanted.display_name !== undefined) changes.display_name = wanted.display_name
  if (wanted.email !== undefined) changes.email = wanted.email
  if (wanted.group !== undefined) changes.group = groupNames(wanted.group).join(',')
  if (wanted.role) changes.role = wanted.role
  if (wanted.status) changes.status = wanted.status
  // Hashing is slow, so it happens before the transaction, which would block others.
  if (call.actor.id === wanted.id) refuseOwnSignIn(call.actor, wanted)
  if (wanted.password) {
    changes.password = await app.passwords.hash(wanted.password, hashingCaller(call))
  }
  const { before, isUnlinked } = await app.database.write.transaction().execute(async (trx) => {
    const actor = await currentActor(trx, call)
    const target = await lockUser(trx, wanted.id)
    if (target === undefined) throw new AppError('not_found')
    refuse(rankRefusal(actor, target, wanted))
    if (changesSignIn(target, changes)) requireProof(app, call.actor)
    await changeUser(trx, target.id, changes)
    const quota = await adjustQuota(trx, app, { call, target, wanted })
    const limits = await changeLimits(trx, target, wanted)
    const unbound = await removeEmptied(trx, target, wanted)
    if (Object.keys(unbound).length > 0) requireProof(app, call.actor)
    await endOutdatedSessions(trx, call, { target, changes })
    await record(trx, app, call, {
      action: 'user.update',
      target: { ...target, ...limits?.before },
      after: { ...changes, ...(quota === null ? {} : { quota }), ...limits?.after, ...unbound },
    })
    return { before: target, isUnlinked: Object.keys(unbound).length > 0 }
  })
  await app.database.announce(`user:${wanted.id}`)
  const { username = before.username, password, email = before.email } = changes
  if (username !== before.username) noticeCredential(app, before, 'username', 'administrator')
  if (password !== undefined) noticeCredential(app, before, 'password', 'administrator')
  if (email !== before.email) noticeCredential(app, before, 'email', 'administrator')
  if (isUnlinked) noticeCredential(app, before, 'identity_unlinked', 'administrator')
}

/**
 * Root may change its own row here. An access token must not be able to take over the account this
 * way.
 */
function refuseOwnSignIn(actor: Actor, wanted: UserUpdate): void {
  if (wanted.password && actor.sessionHash === '') throw new AppError('old_password_needed')
  if (wanted.email !== undefined && wanted.email !== (actor.user.email ?? '')) requireSession(actor)
}

/** Whether the role changes, or the email address, to which links for a new password are mailed. */
const changesSignIn = (target: StoredUser, { role, email }: UserChanges): boolean =>
  (role !== undefined && role !== target.role) ||
  (email !== undefined && email !== (target.email ?? ''))

/** Books the difference to the quota that the admin saw. Returns the new balance. */
async function adjustQuota(
  trx: Queries,
  { clock, options }: App,
  { call, target, wanted }: { call: AdminCall; target: StoredUser; wanted: UserUpdate },
): Promise<number | null> {
  if (wanted.quota === undefined || wanted.quota === wanted.quota_was) return null
  const nowSeconds = clock.nowSeconds()
  const moved = await setUserQuota(trx, {
    userId: target.id,
    target: wanted.quota,
    was: wanted.quota_was,
    actorId: call.actor.id,
    nowSeconds,
    detail: JSON.stringify({ by: call.actor.user.username, reason: 'edit' }),
  })
  if (moved === null || moved.after === moved.before) return null
  await insertLog(trx, {
    userId: target.id,
    username: target.username,
    type: LogType.manage,
    content: logText(logRows.quota_set, {
      before: quotaLogText(moved.before, options),
      after: quotaLogText(moved.after, options),
    }),
    nowSeconds,
    requestId: call.requestId,
  })
  return moved.after
}

/** Returns null if the limits are unchanged. */
async function changeLimits(
  trx: Queries,
  { id }: StoredUser,
  { limits }: UserUpdate,
): Promise<{ before: Limits; after: Limits } | null> {
  if (limits === undefined) return null
  const before = await findLimits(trx, { subject: 'user', id })
  const after = wholeLimits(limits)
  await saveLimits(trx, { subject: 'user', id }, after)
  return { before, after }
}

/**
 * Ends the sessions of a user whose role is lowered, whose password changes or who is enabled
 * again, except the caller's own session. A new password also revokes the access tokens. Sessions
 * of a disabled user stay, so that the next request can return the reason.
 */
async function endOutdatedSessions(
  trx: Queries,
  { actor }: AdminCall,
  { target, changes }: { target: StoredUser; changes: UserChanges },
): Promise<void> {
  const { password, status = target.status, role = target.role } = changes
  if (password !== undefined) {
    await passwordChanged(trx, target.id)
    await deleteAccessTokensOf(trx, target.id)
  }
  const isBack = status === UserStatus.enabled && target.status !== UserStatus.enabled
  if (password !== undefined || role < target.role || isBack) {
    await deleteSessionsOf(trx, target.id, actor.sessionHash)
  }
}

/** Runs an action of the wire's `manage` endpoint. Returns the resulting role and status. */
export async function manageUser(
  app: App,
  call: AdminCall,
  { username, action }: { username: string; action: ManageAction },
): Promise<{ role: number; status: number }> {
  const { id, ...state } = await app.database.write.transaction().execute(async (trx) => {
    const actor = await currentActor(trx, call)
    const named = await findUserByName(trx, username)
    const target = named && (await lockUser(trx, named.id))
    if (target === undefined) throw new AppError('user_not_found')
    refuse(manageRefusal(actor, target, action))
    if (action === 'delete') {
      await deleteAndRecord(trx, app, call, target)
      return { id: target.id, role: target.role, status: UserStatus.deleted }
    }
    const changes = managedState(action)
    await changeUser(trx, target.id, changes)
    await endOutdatedSessions(trx, call, { target, changes })
    await record(trx, app, call, { action: `user.${action}`, target, after: changes })
    return { id: target.id, role: target.role, status: target.status, ...changes }
  })
  await app.database.announce(`user:${id}`)
  return state
}

/**
 * Deletes a user of a lower role; root cannot delete root. Throws `not_found`,
 * `cannot_change_peer`.
 */
export async function deleteUserByAdmin(app: App, call: AdminCall, id: number): Promise<void> {
  await app.database.write.transaction().execute(async (trx) => {
    const actor = await currentActor(trx, call)
    const target = await lockUser(trx, id)
    if (target === undefined) throw new AppError('not_found')
    if (actor.role <= target.role) throw new AppError('cannot_change_peer')
    await deleteAndRecord(trx, app, call, target)
  })
  await app.database.announce(`user:${id}`)
}

/**
 * Locks a user of a lower role. Users change their own sessions and external accounts in the
 * settings, which keep one way to sign in. Throws `not_found`, `cannot_change_peer`.
 */
async function lockOther(trx: Queries, call: AdminCall, id: number): Promise<StoredUser> {
  const actor = await currentActor(trx, call)
  const target = await lockUser(trx, id)
  if (target === undefined) throw new AppError('not_found')
  if (target.id === actor.id || !mayChange(actor, target)) throw new AppError('cannot_change_peer')
  return target
}

/** Ends all sessions of a user of a lower role. Throws `not_found`, `cannot_change_peer`. */
export async function endSessionsByAdmin(app: App, call: AdminCall, id: number): Promise<void> {
  const nowSeconds = app.clock.nowSeconds()
  await app.database.write.transaction().execute(async (trx) => {
    const target = await lockOther(trx, call, id)
    const ended = await sessionsOf(trx, target.id, { nowSeconds, idleSeconds: 0 })
    await deleteSessionsOf(trx, target.id)
    await recordAudit(trx, call, {
      nowSeconds,
      action: 'user.end_sessions',
      target: { id: target.id, name: target.username },
      before: { sessions: ended.length },
      after: { sessions: 0 },
    })
  })
}

/**
 * Unlinks an external account of a user of a lower role and ends the user's sessions, which may
 * have been started with it. The user may be left without a way to sign in until an administrator
 * sets a password. Throws `not_found`, `cannot_change_peer`.
 */
export async function unlinkByAdmin(
  app: App,
  call: AdminCall,
  { id, provider }: { id: number; provider: ExternalProvider },
): Promise<void> {
  const user = await app.database.write.transaction().execute(async (trx) => {
    const target = await lockOther(trx, call, id)
    const identities = await identitiesOf(trx, target)
    const identity = identities.find((one) => one.provider === provider)
    if (identity === undefined) throw new AppError('not_found')
    await removeIdentity(trx, provider, target.id)
    await deleteSessionsOf(trx, target.id)
    await recordAudit(trx, call, {
      nowSeconds: app.clock.nowSeconds(),
      action: 'user.unlink',
      target: { id: target.id, name: target.username },
      before: { provider, account: identity.label },
      after: null,
    })
    return target
  })
  await app.database.announce(`user:${id}`)
  noticeCredential(app, user, 'identity_unlinked', 'administrator')
}

/**
 * Adds points to a user's balance. For an unknown user nothing is booked, the wire requires
 * success, and the audit row records it.
 */
export async function topUpUser(
  { database, clock, options }: App,
  call: AdminCall,
  { userId, quota, remark }: { userId: number; quota: number; remark: string },
): Promise<void> {
  const nowSeconds = clock.nowSeconds()
  await database.write.transaction().execute(async (trx) => {
    const user = await lockUser(trx, userId)
    // Any administrator may top up all other users; payment scripts rely on it.
    if (user !== undefined && isRoot(user.role) && !mayChange(call.actor, user)) {
      throw new AppError('cannot_change_peer')
    }
    await recordAudit(trx, call, {
      nowSeconds,
      action: 'user.top_up',
      target: { id: userId, name: user?.username ?? '' },
      before: null,
      after: { quota, remark, credited: user !== undefined },
    })
    if (user === undefined) return
    const reason = remark === '' ? 'top-up' : remark
    await creditUser(trx, {
      userId,
      amount: quota,
      kind: 'grant',
      nowSeconds,
      actorId: call.actor.id,
      detail: JSON.stringify({ by: call.actor.user.username, reason }),
    })
    await insertLog(trx, {
      userId,
      username: user.username,
      type: LogType.topUp,
      content:
        remark === ''
          ? logText(logRows.topped_up, { amount: quotaLogText(quota, options) })
          : remark,
      quota,
      nowSeconds,
      requestId: call.requestId,
    })
  })
  await database.announce(`user:${userId}`)
}

/** Returns the actor's current row, after locking out other administrative changes. */
async function currentActor(trx: Queries, { actor }: AdminCall): Promise<StoredUser> {
  await lockAdministration(trx)
  const current = await findUser(trx, actor.id)
  if (current === undefined || current.status !== UserStatus.enabled) {
    throw new AppError('user_disabled')
  }
  return current
}

async function deleteAndRecord(
  trx: Queries,
  app: App,
  call: AdminCall,
  target: StoredUser,
): Promise<void> {
  await markUserDeleted(trx, target.id)
  const { username, display_name, role, status, email, group, quota } = target
  await recordAudit(trx, call, {
    nowSeconds: app.clock.nowSeconds(),
    action: 'user.delete',
    target: { id: target.id, name: username },
    before: { username, display_name, role, status, email, group, quota },
    after: null,
  })
}

function record(
  trx: Queries,
  { clock }: App,
  call: AdminCall,
  { action, target, after }: { action: AuditAction; target: StoredUser; after: object },
): Promise<void> {
  return recordAudit(trx, call, {
    nowSeconds: clock.nowSeconds(),
    action,
    target: { id: target.id, name: target.username },
    before: Object.fromEntries(Object.entries(target).filter(([name]) => name in after)),
    after,
  })
}
