import { userApi } from '../../contract/user-api.ts'
import { UserStatus } from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { SESSION_COOKIE, SESSION_LIFE_SECONDS } from '../http/sessions.ts'
import { DEFAULT_PASSWORD } from './user.ts'
import { findUserByLogin } from './user-store.ts'

export const signInRoutes = (app: App): Route[] => {
  const { database, passwords, sessions, options, rateLimits } = app
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
  ]
}
