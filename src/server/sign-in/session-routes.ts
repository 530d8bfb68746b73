import { sessionApi } from '../../contract/session-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { serve, type Route } from '../http/handler.ts'
import { requireSession } from '../user/present-password.ts'
import { deleteSessionNamed, deleteSessionsOf, sessionsOf } from '../user/session-store.ts'
import { mayChange } from '../user/user.ts'
import { lockUser } from '../user/user-store.ts'

/** Number of hash characters that identify a session, unique within an account. */
const NAME_LENGTH = 16
const NAME = /^[0-9a-f]{16}$/

/** Routes for sessions: list one's own, end one, end the others, end those of another user. */
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
    serve(sessionApi.endOf, async (call) => {
      const { actor, params } = call
      const nowSeconds = clock.nowSeconds()
      await database.write.transaction().execute(async (trx) => {
        const target = await lockUser(trx, params.id)
        if (target === undefined) throw new AppError('not_found')
        if (target.id === actor.id || !mayChange(actor, target)) {
          throw new AppError('cannot_change_peer')
        }
        const ended = await sessionsOf(trx, target.id, { nowSeconds, idleSeconds: 0 })
        await deleteSessionsOf(trx, target.id)
        await recordAudit(trx, call, {
          nowSeconds,
          action: 'user.end_sessions',
          target: { id: target.id, name: target.username },
          before: { sessions: ended.length },
          after: { sessions: 0 },
        })
      })
    }),
  ]
}
