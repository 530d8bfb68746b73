import { userApi } from '../../contract/user-api.ts'
import { groupNames, isRoot } from '../../contract/user.ts'
import { deleteAccessTokensOf, hasWireToken } from '../access-token/access-token-store.ts'
import { noticeCredential } from '../account/credential-notice.ts'
import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Actor, type Route } from '../http/handler.ts'
import { mustSetUpFactor } from '../second-factor/required-factor.ts'
import { groupRefusal } from '../token/token-group.ts'
import { changeUser } from './change-user.ts'
import { hashingCaller } from './password.ts'
import { checkPresentPassword } from './present-password.ts'
import { deleteSessionsOf, passwordChanged } from './session-store.ts'
import { changedFields, fieldRefusal, unreadEmailRefusal, usernameRefusal } from './user.ts'
import { lockUnchanged, modelsOfGroups, type UserChanges } from './user-store.ts'
import { commonPasswordRefusal } from './common-passwords.ts'

/** Routes for a user's own account. */
export const accountRoutes = (app: App): Route[] => {
  const { database, options, proxyWatch } = app
  return [
    serve(userApi.self, async ({ actor }) => ({
      data: {
        ...actor.user,
        access_token_set: await hasWireToken(database.read, actor.user),
        ...(actor.mustChangePassword ? { must_change_password: true } : {}),
        ...((await mustSetUpFactor(app, actor)) ? { must_set_up_second_factor: true } : {}),
        ...(isRoot(actor.role) ? { ignored_proxy: proxyWatch.found() ?? undefined } : {}),
      },
    })),
    serve(userApi.updateSelf, async (call) => {
      const { actor, body } = call
      const { email, ...fields } = changedFields(actor.user, body)
      refuse(
        fieldRefusal(fields) ??
          commonPasswordRefusal(options, fields.password, fields.username ?? actor.user.username) ??
          unreadEmailRefusal(email) ??
          usernameRefusal(fields.username ?? ''),
      )
      const changes = await profileChanges(app, call, body)
      await database.write.transaction().execute(async (trx) => {
        if (!(await lockUnchanged(trx, actor.user))) throw new AppError('not_signed_in')
        await changeUser(trx, actor.id, changes)
        if (changes.password === undefined) return
        await passwordChanged(trx, actor.id)
        await deleteSessionsOf(trx, actor.id, actor.sessionHash)
        await deleteAccessTokensOf(trx, actor.id)
      })
      await database.announce(`user:${actor.id}`)
      const { username = actor.user.username } = changes
      if (username !== actor.user.username) noticeCredential(app, actor.user, 'username', call)
      if (changes.password !== undefined) noticeCredential(app, actor.user, 'password', call)
    }),
    serve(userApi.availableModels, async ({ actor, query: { group } }) => {
      refuse(groupRefusal(options, actor.user, group))
      const groups = group === '' ? groupNames(actor.user.group) : [group]
      return { data: await modelsOfGroups(database.heavy, groups) }
    }),
  ]
}

/** Returns the changes that a user may make to their own account; empty members change nothing. */
async function profileChanges(
  app: App,
  call: { actor: Actor; address: string },
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
    await checkPresentPassword(app, call, body.old_password)
    changes.password = await app.passwords.hash(body.password, hashingCaller(call))
  }
  return changes
}
