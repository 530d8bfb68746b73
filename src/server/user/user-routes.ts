import { LogType } from '../../contract/log.ts'
import { userApi } from '../../contract/user-api.ts'
import { groupNames, MANAGE_ACTIONS, UserStatus, type ManageAction } from '../../contract/user.ts'
import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Actor, type Route } from '../http/handler.ts'
import { setUserQuota } from '../ledger/balances.ts'
import { insertLog } from '../log/log-store.ts'
import { quotaLogText } from '../log/log-text.ts'
import { changeUser, removeUser } from './change-user.ts'
import { createUser } from './create-user.ts'
import { deleteSessionsOf } from './session-store.ts'
import {
  fieldRefusal,
  isRole,
  managedState,
  manageRefusal,
  outranks,
  quotaRefusal,
} from './user.ts'
import {
  findUser,
  findUserByName,
  searchUsers,
  updateUser,
  userPage,
  type StoredUser,
  type UserChanges,
} from './user-store.ts'

/** What admins do about users. */
export const userRoutes = (app: App): Route[] => [...lookUpRoutes(app), ...changeRoutes(app)]

function lookUpRoutes(app: App): Route[] {
  const { database } = app
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
  ]
}

function changeRoutes(app: App): Route[] {
  const { database } = app
  return [
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
}

async function visibleUser(app: App, actor: Actor, id: number): Promise<StoredUser> {
  const user = await findUser(app.database.read, id)
  if (user === undefined) throw new AppError('not_found')
  if (!outranks(actor, user)) throw new AppError('cannot_see_peer')
  return user
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

const isManageAction = (action: string): action is ManageAction =>
  MANAGE_ACTIONS.some((known) => known === action)

async function updateByAdmin(
  { database, clock, options, passwords }: App,
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
    await changeUser(trx, target.id, changes)
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
