import { accountApi } from '../../contract/account-api.ts'
import type { Language } from '../../contract/errors.ts'
import { isAdmin, isRoot, UserStatus } from '../../contract/user.ts'
import { deleteAccessTokensOf } from '../access-token/access-token-store.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { resetEmail } from '../mail/email-messages.ts'
import { mail, systemName } from '../mail/mailer.ts'
import { randomText } from '../secrets.ts'
import { hashingCaller } from '../user/password.ts'
import { deleteSessionsOf } from '../user/session-store.ts'
import { findUser, findUsersByEmail, updateUser, type StoredUser } from '../user/user-store.ts'
import { consoleAddress } from './console-address.ts'
import { noticeCredential } from './credential-notice.ts'
import { addressKeyOf } from './email.ts'
import { passHumanCheck } from './human-check.ts'
import { checkMailCode, hashMailCode, keepMailCode, newLinkCode } from './mail-code.ts'
import { mayMailTo } from './mailbox.ts'

/** Length of a generated password. */
const NEW_PASSWORD_LENGTH = 16

/** Routes to reset a forgotten password. */
export const passwordResetRoutes = (app: App): Route[] => [
  serve(accountApi.requestReset, async (call) => {
    await passHumanCheck(app, call, call.query.turnstile)
    const email = call.query.email.trim()
    await mayMailTo(app, 'reset', email)
    // The lookup of the address happens after the response is sent, so that neither its text nor
    // its time reveals whether an account exists.
    const isAccepted = app.background.run('mail', 'a password reset', () =>
      mailResetLink(app, email, { language: call.language, caller: hashingCaller(call) }),
    )
    if (!isAccepted) throw new AppError('busy')
  }),
  serve(accountApi.reset, async (call) => {
    const { body } = call
    const email = body.email?.trim() ?? ''
    const code = body.token ?? ''
    if (email === '' || code === '') throw new AppError('invalid_parameter')
    const caller = hashingCaller(call)
    const given = { purpose: 'reset', email, code, caller } as const
    const right = await checkMailCode(app, given, 'reset_link_invalid')
    const password = randomText(NEW_PASSWORD_LENGTH)
    const passwordHash = await app.passwords.hash(password, caller)
    const owner = await app.database.write.transaction().execute(async (trx) => {
      await right.use(trx)
      const user = await findUser(trx, right.userId)
      // The user may have been promoted, banned or given another address since the code was sent.
      if (user === undefined || !mayReset(app, user) || !hasAddress(user, email)) {
        throw new AppError('reset_link_invalid')
      }
      await updateUser(trx, user.id, { password: passwordHash })
      // Ends all existing access.
      await deleteSessionsOf(trx, user.id)
      await deleteAccessTokensOf(trx, user.id)
      return user
    })
    await app.database.announce(`user:${right.userId}`)
    noticeCredential(app, owner, 'password_reset', call)
    return { data: password }
  }),
]

const hasAddress = (user: StoredUser, email: string): boolean =>
  addressKeyOf(user.email ?? '') === addressKeyOf(email)

/**
 * Administrators cannot reset their password by mail if they may change the settings: one of them
 * could configure a mail server of their own and read another administrator's mail. Root sets their
 * password instead.
 */
const mayReset = ({ config }: App, user: StoredUser): boolean =>
  user.status === UserStatus.enabled && (!isAdmin(user.role) || isRoot(config.OPTIONS_MIN_ROLE))

/**
 * An unknown address, or one that an adopted database contains twice, gets a code too, which is not
 * sent. The work is the same in all cases, and later guesses are compared with a stored code.
 */
async function mailResetLink(
  app: App,
  email: string,
  { language, caller }: { language: Language; caller: string },
): Promise<void> {
  const owners = (await findUsersByEmail(app.database.read, email)).filter((user) =>
    mayReset(app, user),
  )
  const [user] = owners.length === 1 ? owners : []
  // Uses the stored address: the typed one may only look the same.
  const address = user?.email || email
  const code = newLinkCode()
  const codeHash = await hashMailCode(app, code, caller)
  await keepMailCode(app, { purpose: 'reset', email: address, codeHash, userId: user?.id ?? 0 })
  if (user === undefined) return
  await mail(
    app,
    address,
    resetEmail(systemName(app), language, {
      url: consoleAddress(app, '/user/reset', { email: address, token: code }),
      username: user.username,
    }),
  )
}
