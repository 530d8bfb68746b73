import { sessionApi } from '../../contract/session-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { requireSession } from '../user/present-password.ts'
import { deleteSessionNamed, deleteSessionsOf, sessionsOf } from '../user/session-store.ts'
import { endSessionsByAdmin } from '../user/administration.ts'

/** Number of hash characters that identify a session, unique within an account. */
const NAME_LENGTH = 16
const NAME = /^[0-9a-f]{16}$/

/**
 * Routes for sessions: list the caller's sessions, end one or all others, end those of another
 * user.
 */
export function sessionRoutes(app: App): Route[] {
  const { database, clock, options } = app
  return [
    serve(sessionApi.list, async ({ actor }) => {
      const idleSeconds = options.number('SessionIdleMinutes') * 60
      const nowSeconds = clock.nowSeconds()
      const sessions = await sessionsOf(database.read, actor.id, { nowSeconds, idleSeconds })
      return {
        data: sessions.map(({ idHash, userAgent, address, createdAt, usedAt }) => ({
          id: idHash.slice(0, NAME_LENGTH),
          is_own: idHash === actor.sessionHash,
          user_agent: userAgent,
          address,
          created_at: createdAt,
          used_at: usedAt,
        })),
      }
    }),
    serve(sessionApi.endOthers, async ({ actor }) => {
      // A leaked access token must not sign its owner out.
      requireSession(actor)
      await deleteSessionsOf(database.write, actor.id, actor.sessionHash)
    }),
    serve(sessionApi.end, async ({ actor, params }) => {
      requireSession(actor)
      const isName = NAME.test(params.session)
      const ended = isName ? await deleteSessionNamed(database.write, actor.id, params.session) : 0
      if (ended === 0) throw new AppError('session_gone')
    }),
    serve(sessionApi.endOf, (call) => endSessionsByAdmin(app, call, call.params.id)),
  ]
}
