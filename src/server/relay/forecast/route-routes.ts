import { routeApi } from '../../../contract/route-api.ts'
import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { announceChannels, announceGoodNews } from '../../channel/notice/channel-news.ts'
import { findChannel } from '../../channel/channel-store.ts'
import { changeKeys } from '../../channel/key/change-keys.ts'
import { serve, type Route } from '../../http/handler.ts'
import { readTrace } from '../../log/trace/traces.ts'
import type { Routing } from './routing.ts'

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
    const { database, clock } = app
    const change = { ...call.body, nowSeconds: clock.nowSeconds() }
    const channel = await database.write
      .transaction()
      .execute((trx) => changeKeys(trx, call, change))
    const { id, key_id: keyId, action } = call.body
    await announceChannels(database, [id])
    if (action === 'resume_all') await announceGoodNews(database, { ids: [id] })
    if (action === 'resume') await announceGoodNews(database, { ids: [id], keyId })
    return { data: await routing.keyHealth(channel) }
  }),
]
