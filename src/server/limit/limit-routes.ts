import { limitApi } from '../../contract/limit-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { serve, type Actor, type Route } from '../http/handler.ts'
import { findTokenById, type StoredToken } from '../token/token-store.ts'
import { mayChange } from '../user/user.ts'
import { findUser } from '../user/user-store.ts'
import { wholeLimits } from './limit.ts'
import { findLimits, saveLimits } from './limit-store.ts'
import { standingOf } from './standing.ts'

/** Routes for limits; forms of own tokens and of users contain them too. */
export function limitRoutes(app: App): Route[] {
  const { database, clock } = app
  return [
    serve(limitApi.self, async ({ actor }) => ({
      data: await standingOf(app, { subject: 'user', id: actor.id }),
    })),
    serve(limitApi.token, async ({ actor, params }) => {
      const token = await tokenBelow(app, actor, params.id)
      return { data: await standingOf(app, { subject: 'token', id: token.id }) }
    }),
    serve(limitApi.setToken, async (call) => {
      const token = await tokenBelow(app, call.actor, call.params.id)
      const whose = { subject: 'token', id: token.id } as const
      await database.write.transaction().execute(async (trx) => {
        const before = await findLimits(trx, whose)
        const after = wholeLimits(call.body)
        await saveLimits(trx, whose, after)
        await recordAudit(trx, call, {
          nowSeconds: clock.nowSeconds(),
          action: 'token.limit',
          target: { id: token.id, name: token.name ?? '' },
          before,
          after,
        })
      })
      return { data: await standingOf(app, whose) }
    }),
  ]
}

/** Returns the token of a user whom the admin may change. */
async function tokenBelow({ database }: App, actor: Actor, id: number): Promise<StoredToken> {
  const token = await findTokenById(database.read, id)
  const owner = token === null ? undefined : await findUser(database.read, token.user_id)
  if (token === null || owner === undefined) throw new AppError('not_found')
  if (owner.id !== actor.id && !mayChange(actor, owner)) throw new AppError('cannot_change_peer')
  return token
}
