import { userApi } from '../../contract/user-api.ts'
import { DEFAULT_PASSWORD, UserStatus } from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { cookieScope } from '../http/console-origins.ts'
import { serve, type Route } from '../http/handler.ts'
import { SESSION_COOKIE } from '../http/sessions.ts'
import { knownBrowser, rememberBrowser } from '../sign-in/known-browser.ts'
import { startSession } from '../sign-in/start-session.ts'
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
      // As it was typed: that a name and an address are one account must not be found out here.
      const account = username.toLowerCase().slice(0, 128)
      const user = await findUserByLogin(database.read, username)
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
      if (user === undefined || !fits || user.status !== UserStatus.enabled) {
        // Not what was typed: some type their password in the place of the name.
        app.trace.warn(facts, 'a sign-in failed')
        throw new AppError('wrong_credentials')
      }
      await rateLimits.signIn.forget(guesser)
      const mustChangePassword = password === DEFAULT_PASSWORD
      const data = await startSession(app, call, { user, mustChangePassword })
      rememberBrowser(app, call, user)
      return { data }
    }),
    serve(userApi.logout, async ({ request, reply }) => {
      const cookie = request.cookies[SESSION_COOKIE]
      if (cookie !== undefined) await sessions.end(cookie)
      // With the attributes it was set with, or a console on another site keeps it.
      reply.clearCookie(SESSION_COOKIE, cookieScope(app, request))
    }),
  ]
}
