import {
  routeApi,
  type ChannelKey,
  type RouteForecast,
  type RouteQuestion,
} from '../../../contract/route-api.ts'
import type { Language } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { recordAudit } from '../../audit/audit-store.ts'
import {
  findChannel,
  lockChannel,
  updateChannel,
  type StoredChannel,
} from '../../channel/channel-store.ts'
import { heldKeys } from '../../channel/key/channel-key.ts'
import { resumeKey } from '../../channel/key/channel-key-store.ts'
import { serve, type Route } from '../../http/handler.ts'
import { readTrace } from '../../log/trace/traces.ts'

/** What the relay tells of its choices. */
export interface Routing {
  forecast(question: RouteQuestion, language: Language): Promise<RouteForecast>
  keyHealth(channel: StoredChannel): Promise<ChannelKey[]>
}

export const routeRoutes = (app: App, routing: Routing): Route[] => [
  serve(routeApi.forecast, async ({ body, language }) => ({
    data: await routing.forecast(body, language),
  })),
  serve(routeApi.trace, async ({ params }) => {
    const trace = await readTrace(app, params.request_id)
    if (trace === null) throw new AppError('not_found')
    return { data: trace }
  }),
  serve(routeApi.keys, async ({ params }) => {
    const channel = await findChannel(app.database.read, params.id)
    if (channel === null) throw new AppError('not_found')
    return { data: await routing.keyHealth(channel) }
  }),
  serve(routeApi.changeKey, async (call) => {
    const { id, key_id: keyId, action } = call.body
    const { database, clock } = app
    const channel = await database.write.transaction().execute(async (trx) => {
      const stored = await lockChannel(trx, id)
      const keys = stored === null ? [] : heldKeys(stored)
      if (stored === null || keys.every((one) => one.id !== keyId)) throw new AppError('not_found')
      if (action === 'resume') {
        await resumeKey(trx, { channelId: id, keyId })
        return stored
      }
      const left = keys.filter((one) => one.id !== keyId).map((one) => one.key)
      if (left.length === 0) throw new AppError('channel_key_last')
      const changed = await updateChannel(trx, stored, { key: left.join('\n') })
      await recordAudit(trx, call, {
        nowSeconds: clock.nowSeconds(),
        action: 'channel.update',
        target: { id, name: stored.name ?? '' },
        before: stored,
        after: changed,
      })
      return changed
    })
    await database.announce('channels')
    return { data: await routing.keyHealth(channel) }
  }),
]
