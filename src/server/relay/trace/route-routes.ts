import {
  routeApi,
  type ChannelKey,
  type RouteForecast,
  type RouteQuestion,
} from '../../../contract/route-api.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import type { Language } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { recordAudit } from '../../audit/audit-store.ts'
import { channelUpdate, keyResumption } from '../../channel/channel-acts.ts'
import {
  findChannel,
  lockChannel,
  updateChannel,
  type StoredChannel,
} from '../../channel/channel-store.ts'
import { tryAtOnce } from '../../channel/channel-pause-store.ts'
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
      const key = keys.find((one) => one.id === keyId)
      if (stored === null || key === undefined) throw new AppError('not_found')
      const nowSeconds = clock.nowSeconds()
      if (action === 'resume') {
        const wasPaused = await resumeKey(trx, { channelId: id, keyId })
        if (wasPaused) await recordAudit(trx, call, keyResumption(stored, key, nowSeconds))
        if (wasPaused && stored.status === ChannelStatus.autoDisabled) await tryAtOnce(trx, id)
        return stored
      }
      const left = keys.filter((one) => one.id !== keyId).map((one) => one.key)
      if (left.length === 0) throw new AppError('channel_key_last')
      const changed = await updateChannel(trx, stored, { key: left.join('\n') })
      await recordAudit(trx, call, channelUpdate(stored, changed, nowSeconds))
      return changed
    })
    await database.announce('channels')
    return { data: await routing.keyHealth(channel) }
  }),
]
