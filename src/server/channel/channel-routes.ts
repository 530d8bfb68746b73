import { channelApi } from '../../contract/channel-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { answeredChannel, channelChanges, newChannels, type Checked } from './channel.ts'
import {
  channelPage,
  deleteChannel,
  deleteDisabledChannels,
  findChannel,
  insertChannels,
  lockChannel,
  searchChannels,
  updateChannel,
} from './channel-store.ts'
import { createChannelTests, type ProbeChannel } from './channel-test.ts'
import { knownModels } from './model-catalogue.ts'

/** How channels are called, and when to stop testing them. */
export interface ChannelTools {
  probe: ProbeChannel
  stopping?: AbortSignal
}

export const channelRoutes = (app: App, tools: ChannelTools): Route[] => [
  ...readingRoutes(app),
  ...changingRoutes(app),
  ...testRoutes(app, tools),
]

function readingRoutes({ database }: App): Route[] {
  return [
    serve(channelApi.list, async ({ query, reply }) => {
      const { rows, total } = await channelPage(database.read, query.p)
      reply.header('X-Total-Count', total)
      return { data: rows.map(answeredChannel) }
    }),
    serve(channelApi.search, async ({ query, reply }) => {
      const rows = await searchChannels(database.read, query.keyword.trim())
      reply.header('X-Total-Count', rows.length)
      return { data: rows.map(answeredChannel) }
    }),
    serve(channelApi.find, async ({ params }) => {
      const channel = await findChannel(database.read, params.id)
      if (channel === null) throw new AppError('not_found')
      return { data: answeredChannel(channel) }
    }),
    serve(channelApi.models, () => ({
      data: {
        success: true,
        message: '',
        object: 'list',
        data: knownModels().map((model) => ({
          ...model,
          permission: model.permission?.map((permission) => ({ ...permission })) ?? null,
        })),
      },
    })),
  ]
}

/** The relay reads its map again after each of these. */
function changingRoutes({ database, clock }: App): Route[] {
  return [
    serve(channelApi.create, async ({ body }) => {
      const channels = granted(newChannels(body))
      await database.write
        .transaction()
        .execute((trx) => insertChannels(trx, channels, clock.nowSeconds()))
      await database.announce('channels')
    }),
    serve(channelApi.update, async ({ body }) => {
      const channel = await database.write.transaction().execute(async (trx) => {
        const stored = await lockChannel(trx, body.id)
        if (stored === null) throw new AppError('not_found')
        return updateChannel(trx, stored, granted(channelChanges(stored, body)))
      })
      await database.announce('channels')
      return { data: answeredChannel(channel) }
    }),
    serve(channelApi.removeDisabled, async () => {
      const count = await database.write.transaction().execute(deleteDisabledChannels)
      await database.announce('channels')
      return { data: count }
    }),
    serve(channelApi.remove, async ({ params }) => {
      // Deleting what is gone succeeds, as its clients know it.
      await database.write.transaction().execute((trx) => deleteChannel(trx, params.id))
      await database.announce('channels')
    }),
  ]
}

function testRoutes(app: App, { probe, stopping }: ChannelTools): Route[] {
  const tests = createChannelTests(app, probe, stopping)
  return [
    serve(channelApi.test, async ({ params, query, requestId }) => {
      const { outcome, model } = await tests.testOne(params.id, query.model, requestId)
      const timing = { time: Math.round(outcome.elapsedMs) / 1000, model, modelName: model }
      if (!outcome.ok) throw new AppError(outcome.code, outcome.params).with(timing)
      return timing
    }),
    serve(channelApi.testAll, async ({ query, requestId }) => {
      await tests.startAll(query.scope, requestId)
    }),
    serve(channelApi.testStatus, () => ({ data: tests.state() })),
  ]
}

function granted<T>(checked: Checked<T>): T {
  if (!checked.ok) throw new AppError(checked.refusal.code, checked.refusal.params)
  return checked.value
}
