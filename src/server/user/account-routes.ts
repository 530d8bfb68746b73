import { LogType } from '../../contract/log.ts'
import { userApi } from '../../contract/user-api.ts'
import { groupNames } from '../../contract/user.ts'
import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { SESSION_COOKIE } from '../http/sessions.ts'
import { redeemCode } from '../ledger/balances.ts'
import { insertLog } from '../log/log-store.ts'
import { quotaLogText } from '../log/log-text.ts'
import { newHexSecret, sha256 } from '../secrets.ts'
import { writeUser } from './change-user.ts'
import { deleteSessionsOf, passwordChanged, replaceAccessToken } from './session-store.ts'
import { DEFAULT_PASSWORD, fieldRefusal } from './user.ts'
import { modelsOfGroups, type StoredUser, type UserChanges } from './user-store.ts'

/** What users do about themselves. */
export const accountRoutes = (app: App): Route[] => {
  const { database, clock, sessions, options } = app
  return [
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
