import { dashboardApi } from '../../contract/dashboard-api.ts'
import { DASHBOARD_DAYS_MAX, USAGE_FILE_DAYS_MAX } from '../../contract/dashboard.ts'
import { isAdmin } from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { SECONDS_PER_DAY } from '../clock.ts'
import { serve, type Route } from '../http/handler.ts'
import type { FileSender } from '../log/export/send-file.ts'
import { zoneClock } from '../time-zone.ts'
import { adjoiningRange, bucketStarts, hourRange } from './dashboard.ts'
import { ownDays, presentNames } from './dashboard-store.ts'
import { beginUsageFile } from './export/usage-export.ts'
import { failedCallPage } from './failure-store.ts'
import { overviewOf } from './overview.ts'

const WEEK_DAYS = 7
const MINUTE_SECONDS = 60
const MS = 1000

export const dashboardRoutes = (app: App, sendFile: FileSender): Route[] => [
  ...overviewRoutes(app),
  exportRoute(app, sendFile),
]

const overviewRoutes = ({ database, clock }: App): Route[] => [
  serve(dashboardApi.week, async ({ actor }) => {
    const from = clock.nowSeconds() - (WEEK_DAYS - 1) * SECONDS_PER_DAY
    const days = await ownDays(database.heavy, actor.id, from)
    return {
      data: days.map(({ day, model_name, ...figures }) => ({
        Day: new Date(day * MS).toISOString().slice(0, 10),
        ModelName: model_name,
        RequestCount: figures.requests,
        Quota: figures.quota,
        PromptTokens: figures.prompt_tokens,
        CompletionTokens: figures.completion_tokens,
      })),
    }
  }),
  serve(dashboardApi.overview, async ({ actor, query }) => {
    const range = hourRange(query.start_timestamp, query.end_timestamp)
    if (range === null) throw new AppError('dashboard_range_invalid', { days: DASHBOARD_DAYS_MAX })
    const offsetMs = query.offset_minutes * MINUTE_SECONDS * MS
    const zone = zoneClock(query.tz) ?? ((ms) => ms + offsetMs)
    const isOfAll = isAdmin(actor.role)
    const data = await overviewOf(database.heavy, {
      range,
      starts: bucketStarts(range, { unit: query.unit, clock: zone }),
      // Ordinary users cannot see channels and other users.
      by: isOfAll || query.by === 'token' ? query.by : 'model',
      userId: isOfAll ? null : actor.id,
    })
    return { data }
  }),
  serve(dashboardApi.failures, async ({ actor, query }) => {
    const { p, start_timestamp: from, end_timestamp: until, user_id, channel, ...wanted } = query
    const isOfAll = isAdmin(actor.role)
    const userId = isOfAll ? user_id || null : actor.id
    const ofOthers = isOfAll ? { channel } : { channel: 0, username: '' }
    const filter = { ...wanted, from, until, userId, ...ofOthers }
    const calls = await failedCallPage(database.heavy, filter, p)
    const usernames = await presentNames(database.heavy, [
      ...new Set(calls.map((one) => one.user_id)),
    ])
    return {
      data: calls.map(({ channel_id, ...one }) => ({
        ...one,
        username: usernames.get(one.user_id) ?? '',
        channel: isOfAll ? channel_id : 0,
      })),
    }
  }),
]

const exportRoute = (app: App, sendFile: FileSender): Route =>
  serve(dashboardApi.export, (call) =>
    sendFile(call, async () => {
      const range = adjoiningRange(call.query.start_timestamp, call.query.end_timestamp)
      if (range === null) {
        throw new AppError('dashboard_range_invalid', { days: USAGE_FILE_DAYS_MAX })
      }
      const file = await beginUsageFile(app, range)
      await recordAudit(app.database.write, call, {
        nowSeconds: app.clock.nowSeconds(),
        action: 'usage.export',
        target: { id: 0, name: '' },
        before: null,
        after: call.query,
      })
      return file
    }),
  )
