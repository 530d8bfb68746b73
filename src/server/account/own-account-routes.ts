import { accountApi } from '../../contract/account-api.ts'
import { isRoot } from '../../contract/user.ts'
import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { testEmail } from '../mail/email-messages.ts'
import { mail, systemName } from '../mail/mailer.ts'
import { notifyRoot } from '../mail/notice.ts'
import { AFF_CODE_LENGTHS, newAffCode } from '../secrets.ts'
import { changeUser, markUserDeleted } from '../user/change-user.ts'
import { hashingCaller } from '../user/password.ts'
import { requireSession } from '../user/present-password.ts'
import { findUser, setInviteCode, type StoredUser } from '../user/user-store.ts'
import { noticeCredential } from './credential-notice.ts'
import { addressRefusal } from './email.ts'
import { proveMailbox, refuseTakenAddress } from './mailbox.ts'

/** Routes for a user's own account, in addition to `user/account-routes.ts`. */
export const ownAccountRoutes = (app: App): Route[] => {
  const { database } = app
  return [
    serve(accountApi.inviteCode, async ({ actor }) => ({
      data: await inviteCode(app, actor.user),
    })),
    serve(accountApi.removeSelf, async ({ actor }) => {
      if (isRoot(actor.role)) throw new AppError('cannot_delete_root')
      await database.write.transaction().execute((trx) => markUserDeleted(trx, actor.id))
      await database.announce(`user:${actor.id}`)
    }),
    serve(accountApi.bindEmail, async (call) => {
      const { actor, query } = call
      // A mail to this address can reset the password.
      requireSession(actor)
      const email = query.email.trim()
      const caller = hashingCaller(call)
      const right = await proveMailbox(app, { email, code: query.code, caller })
      await database.write.transaction().execute(async (trx) => {
        await right.use(trx)
        await refuseTakenAddress(trx, email, actor.id)
        await changeUser(trx, actor.id, { email })
      })
      await database.announce(`user:${actor.id}`)
      if (email !== actor.user.email) noticeCredential(app, actor.user, 'email', call)
    }),
    serve(accountApi.testMail, async ({ actor, body, language }) => {
      const message = testEmail(systemName(app), language)
      if (body.notice === true) return notifyRoot(app, message)
      const to = body.email?.trim() || (actor.user.email ?? '')
      if (to === '') throw new AppError('own_email_missing')
      refuse(addressRefusal(to, null))
      await mail(app, to, message)
    }),
  ]
}

/** Returns the user's invite code; creates it if missing. */
async function inviteCode({ database }: App, user: StoredUser): Promise<string> {
  if (user.aff_code) return user.aff_code
  for (const length of AFF_CODE_LENGTHS) {
    const outcome = await setInviteCode(database.write, user.id, newAffCode(length))
    if (outcome === 'taken') continue
    // If two requests run concurrently, both return the code that the first one stored.
    const code = (await findUser(database.write, user.id))?.aff_code
    if (code) return code
  }
  throw new AppError('internal')
}
