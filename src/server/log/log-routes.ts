import type { z } from 'zod'
import { logApi, PriceFactors, type Log } from '../../contract/log-api.ts'
import { LOG_SEARCH_ROWS_MAX } from '../../contract/log.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit, type AuditAuthor } from '../audit/audit-store.ts'
import { serve, type Route } from '../http/handler.ts'
import type { LogCleanup } from './cleanup/cleanup-run.ts'
import { exportRoutes } from './export/export-routes.ts'
import type { FileSender } from './export/send-file.ts'
import { createLogPages } from './log-paging.ts'
import { searchLogs } from './log-search-store.ts'
import type { LogSums } from './log-statistics.ts'
import { logSums } from './log-statistics-store.ts'
import {
  filterOfAll,
  findBooking,
  type LogFilterValues,
  type LogRows,
  type StoredLog,
} from './log-store.ts'
import { readTrace } from './trace/traces.ts'

export const logRoutes = (
  app: App,
  { cleanup, sendFile }: { cleanup: LogCleanup; sendFile: FileSender },
): Route[] => [
  ...listRoutes(app),
  ...detailRoutes(app),
  ...cleanupRoutes(cleanup),
  ...exportRoutes(app, sendFile),
]

type AnsweredLog = z.input<typeof Log>

function listRoutes(app: App): Route[] {
  const { database, logs, clock } = app
  const pages = createLogPages(app)
  const sums = (filter: LogFilterValues) => logSums(database.heavy, logs.sums, filter)

  async function answered({ rows, searchedFrom }: LogRows) {
    const data = await answeredRows(app, rows)
    return searchedFrom === undefined ? { data } : { data, searched_from: searchedFrom }
  }

  /** A list filtered by content reveals it, so a search is audited like reading. */
  async function noteSearch(author: AuditAuthor, filter: object): Promise<void> {
    await recordAudit(database.write, author, {
      nowSeconds: clock.nowSeconds(),
      action: 'log.search_body',
      target: { id: 0, name: '' },
      before: null,
      after: filter,
    })
  }

  return [
    serve(logApi.list, async (call) => {
      const { p, before, ...query } = call.query
      if (query.request !== '' || query.response !== '') await noteSearch(call, query)
      const filter = filterOfAll(query)
      const caller = `all ${call.actor.id}`
      return answered(await pages.read({ caller, filter, page: p, before }))
    }),
    serve(logApi.listSelf, async ({ actor, query: { p, before, ...query } }) => {
      const filter = { ...query, userId: actor.id }
      return answered(await pages.read({ caller: `own ${actor.id}`, filter, page: p, before }))
    }),
    serve(logApi.search, async ({ query }) => {
      const wanted = { keyword: query.keyword.trim(), userId: null, countMax: LOG_SEARCH_ROWS_MAX }
      return { data: await answeredRows(app, await searchLogs(app, wanted)) }
    }),
    serve(logApi.searchSelf, async ({ actor, query }) => {
      const keyword = query.keyword.trim()
      const wanted = { keyword, userId: actor.id, countMax: LOG_SEARCH_ROWS_MAX }
      return { data: await answeredRows(app, await searchLogs(app, wanted)) }
    }),
    serve(logApi.stat, async ({ query }) => ({
      data: answeredSums(await sums(filterOfAll(query))),
    })),
    serve(logApi.statSelf, async ({ actor, query }) => ({
      data: answeredSums(await sums({ ...query, userId: actor.id })),
    })),
  ]
}

function detailRoutes(app: App): Route[] {
  const { database, logs, clock } = app

  async function detail(row: StoredLog) {
    const [booked, bodies] = await Promise.all([
      findBooking(database.read, row.request_id ?? ''),
      logs.bodyTexts(row.request_id ? [row.request_id] : []),
    ])
    const texts = bodies.get(row.request_id ?? '')
    return {
      ...answeredLog(row, texts !== undefined),
      ...(texts ?? NO_TEXTS),
      price: booked === null ? null : priceOf(booked),
      token_id: booked?.token_id ?? 0,
    }
  }

  /** Audits an admin who reads the captured texts of another user. */
  async function noteReading(author: AuditAuthor, row: StoredLog): Promise<void> {
    await recordAudit(database.write, author, {
      nowSeconds: clock.nowSeconds(),
      action: 'log.read_body',
      target: { id: row.user_id ?? 0, name: row.username ?? '' },
      before: null,
      after: { log_id: row.id, request_id: row.request_id },
    })
  }

  return [
    serve(logApi.find, async (call) => {
      const row = await logs.find(call.params.id, null)
      if (row === undefined) throw new AppError('not_found')
      const [told, route] = await Promise.all([detail(row), readTrace(app, row.request_id ?? '')])
      const data = { ...told, route }
      if (data.has_body && row.user_id !== call.actor.id) await noteReading(call, row)
      return { data }
    }),
    serve(logApi.findSelf, async ({ actor, params }) => {
      const row = await logs.find(params.id, actor.id)
      if (row === undefined) throw new AppError('not_found')
      return { data: await detail(row) }
    }),
  ]
}

function cleanupRoutes(cleanup: LogCleanup): Route[] {
  return [
    serve(logApi.remove, async (call) => {
      const target = call.query.target_timestamp
      if (target === 0) throw new AppError('log_target_missing')
      const { deleted, isRunning } = await cleanup.start(target, call)
      return isRunning ? { data: deleted, running: true } : { data: deleted }
    }),
    serve(logApi.cleanup, async () => {
      const run = await cleanup.state()
      return {
        data: {
          running: run?.isRunning ?? false,
          target_timestamp: run?.target ?? 0,
          deleted: run?.deleted ?? 0,
        },
      }
    }),
  ]
}

const NO_TEXTS = { request: '', response: '' }

async function answeredRows(
  { logs }: Pick<App, 'logs'>,
  rows: readonly StoredLog[],
): Promise<AnsweredLog[]> {
  const ids = rows.map(({ request_id }) => request_id)
  const captured = await logs.requestsWithBody(ids)
  return rows.map((row) => answeredLog(row, captured.has(row.request_id ?? '')))
}

const answeredLog = ({ channel_id, ...row }: StoredLog, hasBody: boolean): AnsweredLog => ({
  ...row,
  channel: channel_id,
  ...NO_TEXTS,
  has_body: hasBody,
})

const answeredSums = ({ quota, promptTokens, completionTokens }: LogSums) => ({
  quota,
  prompt_token: promptTokens,
  completion_token: completionTokens,
  token: promptTokens + completionTokens,
})

/** Parses the booked factors; null for rows without them, such as adopted ones. */
function priceOf({ detail, debt }: { detail: string; debt: number }): PriceFactors | null {
  let factors: unknown
  try {
    factors = JSON.parse(detail)
  } catch {
    return null
  }
  const parsed = PriceFactors.safeParse({ ...Object(factors), debt })
  return parsed.success ? parsed.data : null
}
