import { channelBatchApi, type CopyReport } from '../../../contract/channel-batch-api.ts'
import type { CopyField } from '../../../contract/channel-copy.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import { AppError, granted } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { recordAudits, type AuditedAct } from '../../audit/audit-store.ts'
import type { Queries } from '../../db/database.ts'
import { serve, type Route } from '../../http/handler.ts'
import { channelDeletion, channelUpdate } from '../channel-audit.ts'
import { announceChannels, announceGoodNews } from '../notice/channel-news.ts'
import {
  deleteChannels,
  findChannels,
  lockChannels,
  switchChannels,
  updateChannel,
  type StoredChannel,
} from '../channel-store.ts'
import type { ChannelTests } from '../channel-test.ts'
import { copiedValues, plannedCopies, type PlannedCopy } from './channel-copy.ts'

type BatchAction = 'enable' | 'disable' | 'delete'

/** Routes that change several channels in one transaction. */
export const batchRoutes = (app: App, tests: Pick<ChannelTests, 'startChosen'>): Route[] => [
  batchRoute(app),
  serve(channelBatchApi.test, ({ body, requestId }) => tests.startChosen(body.ids, requestId)),
  copyRoute(app),
]

function missingFrom(ids: readonly number[], found: readonly StoredChannel[]): number[] {
  const there = new Set(found.map(({ id }) => id))
  return [...new Set(ids)].filter((id) => !there.has(id))
}

function batchRoute({ database, clock }: App): Route {
  return serve(channelBatchApi.change, async (call) => {
    const { ids, action } = call.body
    const nowSeconds = clock.nowSeconds()
    const { acts, missing } = await database.write.transaction().execute(async (trx) => {
      const found = await lockChannels(trx, ids)
      const done = await acted(trx, { channels: found, action, nowSeconds })
      await recordAudits(trx, call, done)
      return { acts: done, missing: missingFrom(ids, found) }
    })
    const changed = acts.map(({ target }) => target.id)
    await announceChannels(database, changed)
    if (action === 'enable') await announceGoodNews(database, { ids: changed })
    return { data: { changed: acts.length, missing } }
  })
}

/** Runs the action. Returns its audit rows. */
async function acted(
  trx: Queries,
  asked: { channels: readonly StoredChannel[]; action: BatchAction; nowSeconds: number },
): Promise<AuditedAct[]> {
  const { channels, action, nowSeconds } = asked
  if (action === 'delete') {
    await deleteChannels(
      trx,
      channels.map(({ id }) => id),
    )
    return channels.map((channel) => channelDeletion(channel, nowSeconds))
  }
  const status = action === 'enable' ? ChannelStatus.enabled : ChannelStatus.disabled
  const switched = channels.filter((channel) => channel.status !== status)
  await switchChannels(trx, switched, status)
  return switched.map((channel) => channelUpdate(channel, { ...channel, status }, nowSeconds))
}

interface CopyQuestion {
  source_id: number
  ids: readonly number[]
  fields: readonly CopyField[]
}

/** Returns the changes of a copy for the current channels, and the report. */
function answeredCopy(
  { source_id, ids, fields }: CopyQuestion,
  found: readonly StoredChannel[],
): { copies: PlannedCopy[]; report: CopyReport } {
  const source = found.find(({ id }) => id === source_id)
  if (source === undefined) throw new AppError('not_found')
  const targets = found.filter(({ id }) => ids.includes(id))
  const planned = granted(plannedCopies(source, targets, fields))
  const copies = planned.filter(({ report }) => report.changes.length > 0)
  const report = {
    changed: copies.length,
    missing: missingFrom(ids, found),
    values: copiedValues(source, fields),
    targets: planned.map((copy) => copy.report),
  }
  return { copies, report }
}

function copyRoute({ database, clock }: App): Route {
  return serve(channelBatchApi.copy, async (call) => {
    const { dry_run: isDryRun = false, ...question } = call.body
    const named = [question.source_id, ...question.ids]
    if (isDryRun) {
      return { data: answeredCopy(question, await findChannels(database.read, named)).report }
    }
    const nowSeconds = clock.nowSeconds()
    const report = await database.write.transaction().execute(async (trx) => {
      const answer = answeredCopy(question, await lockChannels(trx, named))
      const acts: AuditedAct[] = []
      for (const { target, changes } of answer.copies) {
        acts.push(channelUpdate(target, await updateChannel(trx, target, changes), nowSeconds))
      }
      await recordAudits(trx, call, acts)
      return answer.report
    })
    const changed = report.targets.filter(({ changes }) => changes.length > 0).map(({ id }) => id)
    await announceChannels(database, changed)
    return { data: report }
  })
}
