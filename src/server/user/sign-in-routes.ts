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
import { withRenewedHash } from './renew-hash.ts'
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
      // Name and email address of an account share one counter, and no other account can reset it.
      const account = user ? `user ${user.id}` : `typed ${typedKey(username)}`
      const guesser = (user && knownBrowser(app, call.request, user)) ?? account
      const facts = { userId: user?.id ?? null, address: call.address, requestId: call.requestId }
      // Counted before the password is checked; otherwise parallel guesses would all pass.
      if (!(await rateLimits.signIn.take(guesser))) {
        app.trace.warn(facts, 'a sign-in was rejected: too many failed before')
        const waitSeconds = await rateLimits.signIn.waitSeconds(guesser)
        throw new AppError('too_many_attempts', {
          minutes: Math.max(1, Math.ceil(waitSeconds / 60)),
        }).about(user)
      }
      const stored = user?.password ?? null
      const caller = hashingCaller(call)
      const fits = await passwords
        .verify(password, stored, caller)
        .catch(async (error: unknown) => {
          // No comparison took place, so it does not count as a guess.
          await rateLimits.signIn.giveBack(guesser)
          throw error
        })
      const isDefault = password === DEFAULT_PASSWORD
      const isFromElsewhere = isDefault && !isDirect(call.request.raw)
      const mayEnter = fits && !(isFromElsewhere && isRoot(user?.role ?? 0))
      if (user === undefined || !mayEnter || user.status !== UserStatus.enabled) {
        // Does not log the typed name, because some users type their password there.
        app.trace.warn(facts, 'a sign-in failed')
        // The same for every account; otherwise it would reveal that root still has the default
        // password.
        throw new AppError(isFromElsewhere ? 'default_password_remote' : 'wrong_credentials').about(
          user,
        )
      }
      await rateLimits.signIn.forget(guesser)
      const current = await withRenewedHash(app, user, { password, caller })
      const data = await signInOrAsk(app, call, { user: current, mustChangePassword: isDefault })
      if (!('require_2fa' in data)) rememberBrowser(app, call, current)
      return { data }
    }),
    serve(userApi.logout, async (call) => {
      const cookie = readCookie(app, call.request, SESSION_COOKIE)
      if (cookie !== undefined) await sessions.end(cookie)
      clearCookie(app, call, SESSION_COOKIE)
      // Clears pages from the back-forward cache. Not "cookies" and "storage", which would delete
      // data of other programs under this domain, the known-browser cookie and the chosen language.
      call.reply.header('Clear-Site-Data', '"cache"')
    }),
  ]
}

/** Number of characters of an unknown name that count; the rest is ignored. */
const TYPED_MAX = 128

/** Counter key shared by all spellings that would match the same account. */
const typedKey = (username: string): string => username.trim().toLowerCase().slice(0, TYPED_MAX)
