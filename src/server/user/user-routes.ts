import { oauthApi } from '../../contract/oauth-api.ts'
import { userApi } from '../../contract/user-api.ts'
import { MANAGE_ACTIONS, type ManageAction } from '../../contract/user.ts'
import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { serve, type Actor, type Route } from '../http/handler.ts'
import { standingOf } from '../limit/standing.ts'
import { hasAnyFactor } from '../second-factor/required-factor.ts'
import { identitiesOf } from '../sign-in/identity-store.ts'
import {
  deleteUserByAdmin,
  manageUser,
  topUpUser,
  unlinkByAdmin,
  updateUserByAdmin,
} from './administration.ts'
import { createUser } from './create-user.ts'
import { hashingCaller } from './password.ts'
import {
  changedFields,
  fieldRefusal,
  unreadEmailRefusal,
  groupRefusal,
  outranks,
  quotaRefusal,
} from './user.ts'
import { findUser, searchUsers, userPage, type StoredUser } from './user-store.ts'
import { commonPasswordRefusal } from './common-passwords.ts'

/** Routes for the administration of users. */
export const userRoutes = (app: App): Route[] => [...lookUpRoutes(app), ...changeRoutes(app)]

function lookUpRoutes(app: App): Route[] {
  const { database } = app
  return [
    serve(userApi.list, async ({ query, reply }) => {
      const { rows, total } = await userPage(database.heavy, { page: query.p, order: query.order })
      reply.header('X-Total-Count', total)
      return { data: rows }
    }),
    serve(userApi.search, async ({ query, reply }) => {
      const rows = await searchUsers(database.heavy, query.keyword.trim())
      reply.header('X-Total-Count', rows.length)
      return { data: rows }
    }),
    serve(userApi.find, async ({ actor, params }) => ({
      data: {
        ...(await visibleUser(app, actor, params.id)),
        limits: await standingOf(app, { subject: 'user', id: params.id }),
        second_factor: await hasAnyFactor(database.read, params.id),
      },
    })),
    serve(oauthApi.identitiesOf, async ({ actor, params }) => {
      const identities = await identitiesOf(database.read, await visibleUser(app, actor, params.id))
      return {
        data: identities.map(({ provider, label, linkedAt }) => ({
          provider,
          label,
          linked_at: linkedAt,
        })),
      }
    }),
  ]
}

function changeRoutes(app: App): Route[] {
  return [
    serve(userApi.create, async (call) => {
      const { actor, body, requestId } = call
      const { email, ...fields } = body
      const { username = '', password = '', role = 0 } = fields
      if (username.trim() === '' || password === '') throw new AppError('invalid_parameter')
      refuse(
        fieldRefusal(fields) ??
          commonPasswordRefusal(app.options, password, username) ??
          unreadEmailRefusal(email),
      )
      if (role >= actor.role) throw new AppError('cannot_create_peer')
      const display_name = body.display_name || username
      await createUser(app, {
        username,
        passwordHash: await app.passwords.hash(password, hashingCaller(call)),
        display_name,
        requestId,
        also: (trx, id) =>
          recordAudit(trx, call, {
            nowSeconds: app.clock.nowSeconds(),
            action: 'user.create',
            target: { id, name: username },
            before: null,
            after: { username, display_name },
          }),
      })
    }),
    serve(userApi.update, async (call) => {
      const { body } = call
      if (body.id === 0) throw new AppError('invalid_parameter')
      if (body.username && body.username.trim() === '') throw new AppError('invalid_parameter')
      const stored = await findUser(app.database.read, body.id)
      const fields = stored === undefined ? body : changedFields(stored, body)
      refuse(
        fieldRefusal(fields) ??
          commonPasswordRefusal(app.options, body.password, body.username || stored?.username) ??
          groupRefusal(body.group ?? ''),
      )
      // An adopted balance may be negative; sending it back unchanged is not a change. One API's
      // consoles send the whole object and do not state the quota they saw.
      const wasSeen = body.quota_was ?? stored?.quota
      if (body.quota === wasSeen) return updateUserByAdmin(app, call, { ...body, quota: undefined })
      refuse(quotaRefusal(body.quota ?? 0))
      await updateUserByAdmin(app, call, body)
    }),
    serve(userApi.manage, async (call) => {
      const { username = '', action = '' } = call.body
      if (username === '' || !isManageAction(action)) throw new AppError('invalid_parameter')
      return { data: await manageUser(app, call, { username, action }) }
    }),
    serve(userApi.remove, async (call) => {
      await deleteUserByAdmin(app, call, call.params.id)
    }),
    serve(oauthApi.unlinkOf, async (call) => {
      const { id } = call.params
      await unlinkByAdmin(app, call, { id, provider: call.query.provider })
    }),
    serve(userApi.topUp, async (call) => {
      const { user_id: userId = 0, quota, remark = '' } = call.body
      // Success without a user id would lose the payment.
      if (userId < 1 || quota === undefined) throw new AppError('invalid_parameter')
      refuse(quotaRefusal(quota))
      await topUpUser(app, call, { userId, quota, remark })
    }),
  ]
}

async function visibleUser(app: App, actor: Actor, id: number): Promise<StoredUser> {
  const user = await findUser(app.database.read, id)
  if (user === undefined) throw new AppError('not_found')
  if (!outranks(actor, user)) throw new AppError('cannot_see_peer')
  return user
}

const isManageAction = (action: string): action is ManageAction =>
  MANAGE_ACTIONS.some((known) => known === action)
