import { userApi } from '../../contract/user-api.ts'
import { LogType } from '../../contract/log.ts'
import { groupNames, MANAGE_ACTIONS, UserStatus, type ManageAction } from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Actor, type Route } from '../http/handler.ts'
import { SESSION_COOKIE, SESSION_LIFE_SECONDS } from '../http/sessions.ts'
import { redeemCode, setUserQuota } from '../ledger/balances.ts'
import { insertLog } from '../log/log-store.ts'
import { quotaLogText } from '../log/log-text.ts'
import { newHexSecret, sha256 } from '../secrets.ts'
import { createUser } from './create-user.ts'
import { deleteSessionsOf, passwordChanged, replaceAccessToken } from './session-store.ts'
import {
  DEFAULT_PASSWORD,
  fieldRefusal,
  isRole,
  managedState,
  manageRefusal,
  outranks,
  quotaRefusal,
  type Refusal,
} from './user.ts'
import {
  findUser,
  findUserByLogin,
  findUserByName,
  modelsOfGroups,
  searchUsers,
  softDeleteUser,
  updateUser,
  userPage,
  type StoredUser,
  type UserChanges,
} from './user-store.ts'

export const userRoutes = (app: App): Route[] => [
  ...ownAccountRoutes(app),
  ...administrationRoutes(app),
]

function ownAccountRoutes(app: App): Route[] {
  const { database, clock, passwords, sessions, options, rateLimits } = app
  return [
    serve(userApi.login, async ({ body, reply }) => {
      if (!options.flag('PasswordLoginEnabled')) throw new AppError('password_login_closed')
      const { username, password } = body
      if (!username || !password) throw new AppError('invalid_parameter')
      const account = username.toLowerCase().slice(0, 128)
      const waitSeconds = await rateLimits.signIn.waitSeconds(account)
      if (waitSeconds > 0) {
        throw new AppError('too_many_attempts', { minutes: Math.ceil(waitSeconds / 60) })
      }
      const user = await findUserByLogin(database.read, username)
      const fits = await passwords.verify(password, user?.password ?? null)
      if (user === undefined || !fits || user.status !== UserStatus.enabled) {
        await rateLimits.signIn.take(account)
        throw new AppError('wrong_credentials')
      }
      await rateLimits.signIn.forget(account)
      const mustChangePassword = password === DEFAULT_PASSWORD
      const cookie = await sessions.start(user.id, mustChangePassword)
      reply.setCookie(SESSION_COOKIE, cookie, {
        path: app.config.BASE_PATH,
        maxAge: SESSION_LIFE_SECONDS,
        httpOnly: true,
        sameSite: 'lax',
        secure: app.isSecure(reply.request.raw),
      })
      const { id, display_name, role, status } = user
      return {
        data: {
          id,
          username: user.username,
          display_name,
          role,
          status,
          ...(mustChangePassword ? { must_change_password: true } : {}),
        },
      }
    }),
    serve(userApi.logout, async ({ request, reply }) => {
      const cookie = request.cookies[SESSION_COOKIE]
      if (cookie !== undefined) await sessions.end(cookie)
      reply.clearCookie(SESSION_COOKIE, { path: app.config.BASE_PATH })
    }),
    serve(userApi.self, async ({ actor, request }) => {
      const cookie = request.cookies[SESSION_COOKIE]
      const session = cookie === undefined ? null : await sessions.find(cookie)
      return {
        data: {
          ...actor.user,
          ...(session?.mustChangePassword === true ? { must_change_password: true } : {}),
        },
      }
    }),
    serve(userApi.updateSelf, async ({ actor, body }) => {
      refuse(fieldRefusal(body))
      const changes = await profileChanges(app, actor.user, body)
      await writeUser(app, actor.id, changes)
      if (changes.password !== undefined) {
        await passwordChanged(database.write, actor.id)
        await deleteSessionsOf(database.write, actor.id, actor.sessionHash)
      }
    }),
    serve(userApi.accessToken, async ({ actor }) => {
      const token = newHexSecret()
      await database.write.transaction().execute((trx) =>
        replaceAccessToken(trx, {
          userId: actor.id,
          tokenHash: sha256(token),
          nowSeconds: clock.nowSeconds(),
        }),
      )
      return { data: token }
    }),
    serve(userApi.availableModels, async ({ actor }) => ({
      data: await modelsOfGroups(database.read, groupNames(actor.user.group)),
    })),
    serve(userApi.redeem, async ({ actor, body, requestId }) => {
      const key = body.key?.trim() ?? ''
      if (key === '') throw new AppError('code_empty')
      const nowSeconds = clock.nowSeconds()
      const quota = await database.write.transaction().execute(async (trx) => {
        const result = await redeemCode(trx, { key, userId: actor.id, nowSeconds })
        if (!result.ok)
          throw new AppError(result.reason === 'unknown' ? 'code_unknown' : 'code_used')
        await insertLog(trx, {
          userId: actor.id,
          username: actor.user.username,
          type: LogType.topUp,
          content: `通过兑换码充值 ${quotaLogText(result.quota, options)}`,
          nowSeconds,
          requestId,
        })
        return result.quota
      })
      await database.announce(`user:${actor.id}`)
      return { data: quota }
    }),
  ]
}

function administrationRoutes(app: App): Route[] {
  const { database, clock, options } = app
  return [
    serve(userApi.list, async ({ query, reply }) => {
      const { rows, total } = await userPage(database.read, { page: query.p, order: query.order })
      reply.header('X-Total-Count', total)
      return { data: rows }
    }),
    serve(userApi.search, async ({ query, reply }) => {
      const rows = await searchUsers(database.read, query.keyword.trim())
      reply.header('X-Total-Count', rows.length)
      return { data: rows }
    }),
    serve(userApi.find, async ({ actor, params }) => ({
      data: await visibleUser(app, actor, params.id),
    })),
    serve(userApi.create, async ({ actor, body, requestId }) => {
      const { username = '', password = '', display_name, role = 0 } = body
      if (username === '' || password === '') throw new AppError('invalid_parameter')
      refuse(fieldRefusal(body))
      if (role >= actor.role) throw new AppError('cannot_create_peer')
      await createUser(app, {
        username,
        password,
        display_name: display_name || username,
        requestId,
      })
    }),
    serve(userApi.update, async ({ actor, body, requestId }) => {
      if (body.id === 0) throw new AppError('invalid_parameter')
      refuse(fieldRefusal(body))
      const target = await findUser(database.read, body.id)
      if (target === undefined) throw new AppError('not_found')
      if (!outranks(actor, target)) throw new AppError('cannot_change_peer')
      if (body.role && body.role !== target.role) {
        if (!isRole(body.role)) throw new AppError('role_unknown', { role: body.role })
        if (!outranks(actor, { id: target.id, role: body.role })) {
          throw new AppError('cannot_raise_to_peer')
        }
      }
      if (!isSettableStatus(body.status, target)) throw new AppError('invalid_parameter')
      refuse(quotaRefusal(body.quota ?? 0))
      await updateByAdmin(app, { actor, target, body, requestId })
    }),
    serve(userApi.manage, async ({ actor, body }) => {
      const { username = '', action = '' } = body
      if (username === '' || !isManageAction(action)) throw new AppError('invalid_parameter')
      const target = await findUserByName(database.read, username)
      if (target === undefined) throw new AppError('user_not_found')
      refuse(manageRefusal(actor, target, action))
      if (action === 'delete') {
        await removeUser(app, target)
        return { data: { role: target.role, status: UserStatus.deleted } }
      }
      const state = managedState(action)
      await updateUser(database.write, target.id, state)
      if (action === 'disable' || action === 'demote') {
        await deleteSessionsOf(database.write, target.id)
      }
      await database.announce(`user:${target.id}`)
      return { data: { role: target.role, status: target.status, ...state } }
    }),
    serve(userApi.remove, async ({ actor, params }) => {
      const target = await findUser(database.read, params.id)
      if (target === undefined) throw new AppError('not_found')
      // Not even root deletes root: the rank must be below.
      if (actor.role <= target.role) throw new AppError('cannot_change_peer')
      await removeUser(app, target)
    }),
  ]

  async function updateByAdmin(
    { passwords }: App,
    { actor, target, body, requestId }: AdminUpdate,
  ): Promise<void> {
    const changes: UserChanges = {}
    if (body.username) changes.username = body.username
    if (body.display_name !== undefined) changes.display_name = body.display_name
    if (body.email !== undefined) changes.email = body.email
    if (body.group !== undefined) changes.group = groupNames(body.group).join(',')
    if (body.role) changes.role = body.role
    if (body.status !== undefined && body.status !== 0) changes.status = body.status
    if (body.password) changes.password = await passwords.hash(body.password)
    const { quota, quota_was } = body
    await database.write.transaction().execute(async (trx) => {
      nameOutcome(await updateUser(trx, target.id, changes), changes)
      if (quota !== undefined) {
        const nowSeconds = clock.nowSeconds()
        const moved = await setUserQuota(trx, {
          userId: target.id,
          target: quota,
          was: quota_was,
          actorId: actor.id,
          nowSeconds,
          detail: JSON.stringify({ by: actor.user.username, reason: 'edit' }),
        })
        if (moved !== null && moved.after !== moved.before) {
          await insertLog(trx, {
            userId: target.id,
            username: target.username,
            type: LogType.manage,
            content:
              `管理员将用户额度从 ${quotaLogText(moved.before, options)}` +
              `修改为 ${quotaLogText(moved.after, options)}`,
            nowSeconds,
            requestId,
          })
        }
      }
    })
    const weakened =
      changes.password !== undefined ||
      (changes.status !== undefined && changes.status !== UserStatus.enabled) ||
      (changes.role !== undefined && changes.role < target.role)
    if (weakened) await deleteSessionsOf(database.write, target.id, actor.sessionHash)
    await database.announce(`user:${target.id}`)
  }
}

interface AdminUpdate {
  actor: Actor
  target: StoredUser
  body: {
    username?: string | undefined
    display_name?: string | undefined
    password?: string | undefined
    role?: number | undefined
    status?: number | undefined
    email?: string | undefined
    group?: string | undefined
    quota?: number | undefined
    quota_was?: number | undefined
  }
  requestId: string
}

/** 0 and nothing mean unchanged; a status that is echoed back changes nothing either. */
const isSettableStatus = (status: number | undefined, target: StoredUser): boolean =>
  !status ||
  status === UserStatus.enabled ||
  status === UserStatus.disabled ||
  status === target.status

function refuse(refusal: Refusal | null): void {
  if (refusal !== null) throw new AppError(refusal.code, refusal.params)
}

const isManageAction = (action: string): action is ManageAction =>
  MANAGE_ACTIONS.some((known) => known === action)

async function visibleUser(app: App, actor: Actor, id: number): Promise<StoredUser> {
  const user = await findUser(app.database.read, id)
  if (user === undefined) throw new AppError('not_found')
  if (!outranks(actor, user)) throw new AppError('cannot_see_peer')
  return user
}

/** What a user may change about itself; empty members leave things as they are. */
async function profileChanges(
  { passwords }: App,
  user: StoredUser,
  body: {
    username?: string | undefined
    display_name?: string | undefined
    password?: string | undefined
    old_password?: string | undefined
  },
): Promise<UserChanges> {
  const changes: UserChanges = {}
  if (body.username) changes.username = body.username
  if (body.display_name) changes.display_name = body.display_name
  if (body.password) {
    if (body.password === DEFAULT_PASSWORD) throw new AppError('password_is_default')
    const { old_password } = body
    if (old_password !== undefined && !(await passwords.verify(old_password, user.password))) {
      throw new AppError('old_password_wrong')
    }
    changes.password = await passwords.hash(body.password)
  }
  return changes
}

async function writeUser(app: App, id: number, changes: UserChanges): Promise<void> {
  nameOutcome(await updateUser(app.database.write, id, changes), changes)
  await app.database.announce(`user:${id}`)
}

function nameOutcome(outcome: 'updated' | 'missing' | 'name_taken', changes: UserChanges): void {
  if (outcome === 'name_taken')
    throw new AppError('username_taken', { name: changes.username ?? '' })
  if (outcome === 'missing') throw new AppError('not_found')
}

async function removeUser({ database }: App, target: StoredUser): Promise<void> {
  await database.write.transaction().execute(async (trx) => {
    await softDeleteUser(trx, target.id, `deleted_${newHexSecret()}`)
    await deleteSessionsOf(trx, target.id)
  })
  await database.announce(`user:${target.id}`)
}
