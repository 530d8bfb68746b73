import { channelApi } from '../../contract/channel-api.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import { AppError, granted, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit, recordAudits, type AuditedAct } from '../audit/audit-store.ts'
import type { Queries } from '../db/database.ts'
import type { Egress } from '../egress/egress.ts'
import { serve, type Route } from '../http/handler.ts'
import { createChannelBalances } from './upstream/channel-balances.ts'
import { channelRefusal, keyRefusal } from './channel-input.ts'
import { batchRoutes } from './batch/batch-routes.ts'
import { channelDeletion, channelUpdate } from './channel-audit.ts'
import { announceChannels, announceGoodNews, isEnabledNow } from './notice/channel-news.ts'
import { answeredChannel, channelChanges, newChannels } from './channel.ts'
import {
  channelIdsIn,
  channelKinds,
  channelPage,
  countByStatus,
  deleteChannels,
  deleteDisabledChannels,
  findChannel,
  insertChannels,
  lockChannel,
  searchChannels,
  updateChannel,
  type StoredChannel,
} from './channel-store.ts'
import { createChannelTests, type ProbeChannel } from './channel-test.ts'
import { testRegularly } from './run/channel-test-timer.ts'
import { createAskUpstream, type AskedChannel } from './upstream/channel-upstream.ts'
import { pausedKeyCounts, withOneKey } from './key/channel-key-store.ts'
import { knownModels } from './model-catalogue.ts'
import { readUpstreamModels } from './upstream/upstream-models.ts'

/** Tools to call channels, and the signal to stop testing them. */
export interface ChannelTools {
  probe: ProbeChannel
  /** Egress of relayed calls. */
  egress: Egress
  stopping?: AbortSignal
}

export const channelRoutes = (app: App, tools: ChannelTools): Route[] => [
  ...readingRoutes(app),
  ...changingRoutes(app),
  ...testRoutes(app, tools),
  ...balanceRoutes(app, tools),
  ...upstreamModelRoutes(app, tools),
]

type PausedCounts = ReadonlyMap<number, number>

const withPauses = (channel: StoredChannel, paused: PausedCounts) => ({
  ...answeredChannel(channel),
  keys_paused: paused.get(channel.id) ?? 0,
})

async function answeredChannels(db: Queries, channels: readonly StoredChannel[]) {
  const ids = channels.map(({ id }) => id)
  const paused = await pausedKeyCounts(db, ids)
  return channels.map((channel) => withPauses(channel, paused))
}

const answered = async (db: Queries, channel: StoredChannel) =>
  withPauses(channel, await pausedKeyCounts(db, [channel.id]))

function readingRoutes({ database }: App): Route[] {
  return [
    serve(channelApi.list, async ({ query, reply }) => {
      const { rows, total } = await channelPage(database.lists, { ...query, page: query.p })
      reply.header('X-Total-Count', total)
      return { data: await answeredChannels(database.read, rows) }
    }),
    serve(channelApi.search, async ({ query, reply }) => {
      const rows = await searchChannels(database.lists, {
        ...query,
        keyword: query.keyword.trim(),
      })
      reply.header('X-Total-Count', rows.length)
      return { data: await answeredChannels(database.read, rows) }
    }),
    serve(channelApi.summary, async () => {
      const [counts, kinds] = await Promise.all([
        countByStatus(database.lists),
        channelKinds(database.lists),
      ])
      return {
        data: {
          total: [...counts.values()].reduce((sum, count) => sum + count, 0),
          enabled: counts.get(ChannelStatus.enabled) ?? 0,
          disabled: counts.get(ChannelStatus.disabled) ?? 0,
          auto_disabled: counts.get(ChannelStatus.autoDisabled) ?? 0,
          ...kinds,
        },
      }
    }),
    serve(channelApi.find, async ({ params }) => {
      const channel = await findChannel(database.read, params.id)
      if (channel === null) throw new AppError('not_found')
      return { data: await answered(database.read, channel) }
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

/**
 * Channels per transaction: their abilities are thousands of rows, and settlements wait for each
 * transaction.
 */
const DELETED_AT_ONCE = 20

/** The relay reloads changed channels after each of these. */
function changingRoutes({ database, clock }: App): Route[] {
  return [
    serve(channelApi.create, async (call) => {
      const { channels, duplicates } = granted(newChannels(call.body))
      const nowSeconds = clock.nowSeconds()
      const created = await database.write.transaction().execute(async (trx) => {
        const ids = await insertChannels(trx, channels, nowSeconds)
        const acts = channels.map((after, index): AuditedAct => {
          const target = { id: ids[index] ?? 0, name: after.name }
          return { nowSeconds, action: 'channel.create', target, before: null, after }
        })
        await recordAudits(trx, call, acts)
        return ids
      })
      await announceChannels(database, created)
      return { data: duplicates === 0 ? undefined : { created: channels.length, duplicates } }
    }),
    serve(channelApi.update, async (call) => {
      const { body } = call
      const { stored, changed } = await database.write.transaction().execute(async (trx) => {
        const before = await lockChannel(trx, body.id)
        if (before === null) throw new AppError('not_found')
        const after = await updateChannel(trx, before, granted(channelChanges(before, body)))
        await recordAudit(trx, call, channelUpdate(before, after, clock.nowSeconds()))
        return { stored: before, changed: after }
      })
      await announceChannels(database, [changed.id])
      if (isEnabledNow(stored, changed)) await announceGoodNews(database, { ids: [changed.id] })
      return { data: await answered(database.write, changed) }
    }),
    serve(channelApi.removeDisabled, async (call) => {
      const nowSeconds = clock.nowSeconds()
      const ids = await channelIdsIn(database.read, 'disabled')
      let count = 0
      for (let start = 0; start < ids.length; start += DELETED_AT_ONCE) {
        const some = ids.slice(start, start + DELETED_AT_ONCE)
        const gone = await database.write.transaction().execute(async (trx) => {
          const deleted = await deleteDisabledChannels(trx, some)
          await recordAudits(
            trx,
            call,
            deleted.map((channel) => channelDeletion(channel, nowSeconds)),
          )
          return deleted.map(({ id }) => id)
        })
        await announceChannels(database, gone)
        count += gone.length
      }
      return { data: count }
    }),
    serve(channelApi.remove, async (call) => {
      if (call.params.id === 0) throw new AppError('invalid_parameter')
      const nowSeconds = clock.nowSeconds()
      await database.write.transaction().execute(async (trx) => {
        const channel = await lockChannel(trx, call.params.id)
        await deleteChannels(trx, [call.params.id])
        // Deleting an unknown channel succeeds, as clients expect.
        if (channel !== null) await recordAudit(trx, call, channelDeletion(channel, nowSeconds))
      })
      await announceChannels(database, [call.params.id])
    }),
  ]
}

function testRoutes(app: App, { probe, stopping }: ChannelTools): Route[] {
  const tests = createChannelTests(app, probe, stopping)
  // Created here, because there is one per process, which tracks its own run.
  testRegularly(app, tests, stopping)
  return [
    ...batchRoutes(app, tests),
    serve(channelApi.test, async ({ params, query, requestId }) => {
      const { outcome, model } = await tests.testOne(params.id, query.model, requestId)
      const timing = { time: Math.round(outcome.elapsedMs) / 1000, model, modelName: model }
      if (!outcome.ok) throw new AppError(outcome.code, outcome.params).with(timing)
      return { message: outcome.text, ...timing }
    }),
    serve(channelApi.testAll, async ({ query, requestId }) => {
      await tests.startAll(query.scope, requestId)
    }),
    serve(channelApi.testStatus, async ({ language }) => ({ data: await tests.state(language) })),
  ]
}

function balanceRoutes(app: App, { egress, stopping }: ChannelTools): Route[] {
  const balances = createChannelBalances(app, { egress, stopping })
  return [
    serve(channelApi.updateBalances, ({ requestId }) => balances.startAll(requestId)),
    serve(channelApi.balanceStatus, async ({ language }) => ({
      data: await balances.state(language),
    })),
    serve(channelApi.updateBalance, async ({ params, requestId }) => ({
      balance: await balances.updateOne(params.id, requestId),
    })),
  ]
}

/** Maximum size of a model list in bytes. */
const MODELS_BYTES_MAX = 8 * 2 ** 20

function upstreamModelRoutes(app: App, { egress }: ChannelTools): Route[] {
  const modelsOf = (channel: AskedChannel) =>
    readUpstreamModels(channel, createAskUpstream(egress, channel, MODELS_BYTES_MAX), app.config)
  return [
    serve(channelApi.upstreamModels, async ({ params }) => {
      const channel = await findChannel(app.database.read, params.id)
      if (channel === null) throw new AppError('not_found')
      const asking = await withOneKey(app.database.read, channel)
      return { data: await modelsOf(asking.channel) }
    }),
    serve(channelApi.newUpstreamModels, async ({ body }) => {
      refuse(channelRefusal(body))
      const { type = 0, base_url = '', key = '', config = '' } = body
      // If there are several keys, the first is used.
      const [first = ''] = key.trim().split('\n')
      refuse(keyRefusal(first.trim()))
      return { data: await modelsOf({ type, base_url, key: first.trim(), config }) }
    }),
  ]
}
