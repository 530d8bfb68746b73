import { redemptionApi } from '../../contract/redemption-api.ts'
import { REDEMPTION_QUOTA_UNSAID, RedemptionStatus } from '../../contract/redemption.ts'
import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit, type AuditedAct, type AuditAuthor } from '../audit/audit-store.ts'
import type { Queries } from '../db/database.ts'
import { serve, type Route } from '../http/handler.ts'
import { newHexSecret } from '../secrets.ts'
import { redeem } from './redeem.ts'
import { redemptionFieldRefusal, transitionRefusal } from './redemption.ts'
import {
  deleteRedemption,
  findRedemption,
  insertRedemptions,
  lockRedemption,
  redemptionPage,
  searchRedemptions,
  updateRedemption,
  withUsers,
  type StoredRedemption,
} from './redemption-store.ts'

export const redemptionRoutes = (app: App): Route[] => [
  ...lookUpRoutes(app),
  ...changeRoutes(app),
  serve(redemptionApi.redeem, async (call) => {
    const key = call.body.key?.trim() ?? ''
    if (key === '') throw new AppError('code_empty')
    return { data: await redeem(app, call, key) }
  }),
]

function lookUpRoutes({ database }: App): Route[] {
  return [
    serve(redemptionApi.list, async ({ query, reply }) => {
      const { rows, total } = await redemptionPage(database.heavy, query.p)
      reply.header('X-Total-Count', total)
      return { data: await withUsers(database.read, rows) }
    }),
    serve(redemptionApi.search, async ({ query, reply }) => {
      const rows = await searchRedemptions(database.heavy, query.keyword.trim())
      reply.header('X-Total-Count', rows.length)
      return { data: await withUsers(database.read, rows) }
    }),
    serve(redemptionApi.find, async ({ params }) => {
      const redemption = await findRedemption(database.read, params.id)
      if (redemption === null) throw new AppError('not_found')
      const [data] = await withUsers(database.read, [redemption])
      return { data: data ?? redemption }
    }),
  ]
}

function changeRoutes(app: App): Route[] {
  const { database, clock } = app
  return [
    serve(redemptionApi.create, async (call) => {
      const { name = '', count = 0, quota = 0 } = call.body
      refuse(redemptionFieldRefusal({ name, count, quota }))
      const keys = Array.from({ length: count }, newHexSecret)
      const common = { name, quota: quota || REDEMPTION_QUOTA_UNSAID }
      const nowSeconds = clock.nowSeconds()
      await database.write.transaction().execute(async (trx) => {
        const author = { user_id: call.actor.id, created_time: nowSeconds }
        const ids = await insertRedemptions(trx, keys, { ...common, ...author })
        await recordAudit(trx, call, {
          nowSeconds,
          action: 'redemption.create',
          target: { id: ids[0] ?? 0, name },
          before: null,
          after: { ...common, count, ids },
        })
      })
      return { data: keys }
    }),
    serve(redemptionApi.setStatus, async (call) => {
      const { id, status } = call.body
      return {
        data: await change(app, call, id, (stored) => {
          refuse(transitionRefusal(stored.status, status))
          return { status }
        }),
      }
    }),
    serve(redemptionApi.update, async (call) => {
      const { id, name = '', quota = 0 } = call.body
      return {
        data: await change(app, call, id, (stored) => {
          // One API only checks new codes; sending back what it accepted is not a change.
          const changed = {
            ...(name === (stored.name ?? '') ? {} : { name }),
            ...(quota === stored.quota ? {} : { quota }),
          }
          refuse(redemptionFieldRefusal(changed))
          // The quota of a used code is history.
          const isHistory = stored.status === RedemptionStatus.used && quota !== stored.quota
          if (isHistory) throw new AppError('redemption_used')
          return { name, quota }
        }),
      }
    }),
    serve(redemptionApi.remove, async (call) => {
      await database.write.transaction().execute(async (trx) => {
        const stored = await lockRedemption(trx, call.params.id)
        if (stored === null) throw new AppError('not_found')
        await deleteRedemption(trx, stored.id)
        await record(trx, app, call, { action: 'redemption.delete', before: stored, after: null })
      })
    }),
  ]
}

/**
 * Applies a change that `decide` computes from the code's current row. Returns the row. Throws
 * `not_found`.
 */
async function change(
  app: App,
  call: AuditAuthor,
  id: number,
  decide: (stored: StoredRedemption) => Partial<StoredRedemption>,
): Promise<StoredRedemption> {
  return app.database.write.transaction().execute(async (trx) => {
    const before = await lockRedemption(trx, id)
    if (before === null) throw new AppError('not_found')
    const changes = decide(before)
    await updateRedemption(trx, id, changes)
    const after = { ...before, ...changes }
    await record(trx, app, call, { action: 'redemption.update', before, after })
    const [answered] = await withUsers(trx, [after])
    return answered ?? after
  })
}

const record = (
  trx: Queries,
  { clock }: App,
  call: AuditAuthor,
  { before, ...act }: Pick<AuditedAct, 'action' | 'after'> & { before: StoredRedemption },
): Promise<void> =>
  recordAudit(trx, call, {
    ...act,
    nowSeconds: clock.nowSeconds(),
    target: { id: before.id, name: before.name ?? '' },
    before,
  })
