import { userApi } from '../../contract/user-api.ts'
import { DEFAULT_PASSWORD, isRoot, UserStatus } from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { isDirect } from '../http/host-check.ts'
import { clearCookie, readCookie } from '../http/own-cookie.ts'
import { SESSION_COOKIE } from '../http/sessions.ts'
import { knownBrowser, rememberBrowser } from '../sign-in/known-browser.ts'
import { signInOrAsk } from '../second-factor/second-step.ts'
import { hashingCaller } from './password.ts'
import { findUserByLogin } from './user-store.ts'

export const signInRoutes = (app: App): Route[] => {
  const { database, passwords, sessions, options, rateLimits } = app
  return [
    serve(userApi.login, async (call) => {
      const { body } = call
      if (!options.flag('PasswordLoginEnabled')) throw new AppError('password_login_closed')
      const { username, password } = body
      if (!username || !password) throw new AppError('invalid_parameter')
      const user = await findUserByLogin(database.read, username)
      // Name and address of an account are one counter, and no other account can reset it.
      const account = user ? `user ${user.id}` : `typed ${typedKey(username)}`
      const guesser = (user && knownBrowser(app, call.request, user)) ?? account
      const facts = { userId: user?.id ?? null, address: call.address, requestId: call.requestId }
      // Counted before the password is looked at, or many guesses at once would all be let in.
      if (!(await rateLimits.signIn.take(guesser))) {
        app.trace.warn(facts, 'a sign-in was not looked at: too many failed before')
        const waitSeconds = await rateLimits.signIn.waitSeconds(guesser)
        throw new AppError('too_many_attempts', {
          minutes: Math.max(1, Math.ceil(waitSeconds / 60)),
        })
      }
      const stored = user?.password ?? null
      const fits = await passwords
        .verify(password, stored, hashingCaller(call))
        .catch(async (error: unknown) => {
          // Nothing was compared, so it was no guess.
          await rateLimits.signIn.giveBack(guesser)
          throw error
        })
      const isDefault = password === DEFAULT_PASSWORD
      const isFromElsewhere = isDefault && !isDirect(call.request.raw)
      const mayEnter = fits && !(isFromElsewhere && isRoot(user?.role ?? 0))
      if (user === undefined || !mayEnter || user.status !== UserStatus.enabled) {
        // Not what was typed: some type their password in the place of the name.
        app.trace.warn(facts, 'a sign-in failed')
        // The same for every account, or it would tell strangers that root still has it.
        throw new AppError(isFromElsewhere ? 'default_password_remote' : 'wrong_credentials')
      }
      await rateLimits.signIn.forget(guesser)
      const data = await signInOrAsk(app, call, { user, mustChangePassword: isDefault })
      if (!('require_2fa' in data)) rememberBrowser(app, call, user)
      return { data }
    }),
    serve(userApi.logout, async (call) => {
      const cookie = readCookie(app, call.request, SESSION_COOKIE)
      if (cookie !== undefined) await sessions.end(cookie)
      clearCookie(app, call, SESSION_COOKIE)
      // Clears pages of the back button. Not "cookies" and "storage": they would delete data of
      // other programs under this domain, the mark of a known browser and the chosen language.
      call.reply.header('Clear-Site-Data', '"cache"')
    }),
  ]
}

/** Characters of a name that nobody has; the rest does not count. */
const TYPED_MAX = 128

/** One counter for the spellings that would find the same account, if there were one. */
const typedKey = (username: string): string => username.trim().toLowerCase().slice(0, TYPED_MAX)
