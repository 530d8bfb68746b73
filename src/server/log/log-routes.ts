import type { z } from 'zod'
import { logApi, PriceFactors, type Log } from '../../contract/log-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { createLogPages } from './log-paging.ts'
import { logSums, type LogSums } from './log-statistics-store.ts'
import { findLog, findPriceDetail, type StoredLog } from './log-store.ts'

export const logRoutes = (app: App): Route[] => {
  const { database } = app
  const pages = createLogPages(app)

  async function detail(id: number, userId: number | null) {
    const row = await findLog(database.read, id, userId)
    if (row === undefined) throw new AppError('not_found')
    const booked = await findPriceDetail(database.read, row.request_id ?? '')
    return { ...answeredLog(row), price: booked === null ? null : priceOf(booked) }
  }

  return [
    serve(logApi.list, async ({ actor, query: { p, before, ...filter } }) => {
      const rows = await pages.read({ caller: `all ${actor.id}`, filter, page: p, before })
      return { data: rows.map(answeredLog) }
    }),
    serve(logApi.listSelf, async ({ actor, query: { p, before, ...query } }) => {
      const filter = { ...query, userId: actor.id }
      const rows = await pages.read({ caller: `own ${actor.id}`, filter, page: p, before })
      return { data: rows.map(answeredLog) }
    }),
    serve(logApi.stat, async ({ query }) => ({
      data: answeredSums(await logSums(database.heavy, query)),
    })),
    serve(logApi.statSelf, async ({ actor, query }) => ({
      data: answeredSums(await logSums(database.heavy, { ...query, userId: actor.id })),
    })),
    serve(logApi.find, async ({ params }) => ({ data: await detail(params.id, null) })),
    serve(logApi.findSelf, async ({ actor, params }) => ({
      data: await detail(params.id, actor.id),
    })),
  ]
}

function answeredLog({ channel_id, ...row }: StoredLog): z.input<typeof Log> {
  return { ...row, channel: channel_id, request: '', response: '', has_body: false }
}

const answeredSums = ({ quota, promptTokens, completionTokens }: LogSums) => ({
  quota,
  prompt_token: promptTokens,
  completion_token: completionTokens,
  token: promptTokens + completionTokens,
})

/** The factors as they were booked. Rows without them (adopted ones) have none to show. */
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
