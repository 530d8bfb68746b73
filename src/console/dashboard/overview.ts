import type { Overview } from '../../contract/dashboard-api.ts'
import type { DashboardDimension, DashboardUnit } from '../../contract/dashboard.ts'
import { mark } from '../app/i18n.ts'
import { dayStart } from '../app/time.ts'

/** Requests of the dashboard, and how it evaluates the responses. */

const HOUR = 3600
const DAY = 86_400

export const ranges = [
  { name: '24h', label: mark('24 小时'), unit: 'hour', days: 1 },
  { name: '7d', label: mark('7 天'), unit: 'day', days: 7 },
  { name: '30d', label: mark('30 天'), unit: 'day', days: 30 },
] as const satisfies readonly { name: string; label: string; unit: DashboardUnit; days: number }[]
export type RangeName = (typeof ranges)[number]['name']

export const metrics = [
  { name: 'quota', label: mark('额度') },
  { name: 'requests', label: mark('请求次数') },
  { name: 'prompt_tokens', label: mark('提示 tokens') },
  { name: 'completion_tokens', label: mark('补全 tokens') },
] as const
export type Metric = (typeof metrics)[number]['name']

export const dimensions: readonly { name: DashboardDimension; label: string }[] = [
  { name: 'model', label: mark('模型') },
  { name: 'token', label: mark('令牌') },
  { name: 'channel', label: mark('渠道') },
  { name: 'user', label: mark('用户') },
]

/**
 * A range up to the end of the current hour, so that it ends at the same time of day as the range
 * that it is compared with.
 */
export function rangeQuery(name: RangeName, nowSeconds: number) {
  const { unit, days } = ranges.find((range) => range.name === name) ?? ranges[1]
  const end = nowSeconds - (nowSeconds % HOUR) + HOUR
  return {
    start_timestamp: unit === 'hour' ? end - DAY : dayStart(nowSeconds, days - 1),
    end_timestamp: end,
    unit,
  }
}

type Figures = Record<Metric, number>

/** A name in the chart, with its value in each bucket. */
export interface Series {
  /** Null for all names that are not shown separately. */
  name: string | null
  /** Number of names in the series. */
  count: number
  total: number
  values: number[]
}

/** The names with their own series, largest first, and the rest as one. */
export function seriesOf({ buckets, names, totals }: Overview, metric: Metric): Series[] {
  const named = names
    .filter(({ series }) => series.length > 0)
    .map((one): Series => ({
      name: one.name,
      count: 1,
      total: one[metric],
      values: one.series.map((figures) => figures[metric]),
    }))
    .filter(({ total }) => total > 0)
    .toSorted((one, other) => other.total - one.total)
  const shown = (index: number) => named.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)
  const rest = buckets.map((bucket, index) => Math.max(0, bucket[metric] - shown(index)))
  const restTotal = rest.reduce((sum, value) => sum + value, 0)
  if (restTotal === 0) return named
  const others = names.length - named.length
  return [...named, { name: null, count: others, total: restTotal, values: rest }].filter(
    () => totals.requests > 0,
  )
}

/** Growth of a figure in percent; null if the previous value is 0. */
export function growth(now: number, before: number): number | null {
  return before === 0 ? null : Math.round(((now - before) / before) * 100)
}

/** Share of failed calls in percent, with one decimal; null without calls. */
export function failureShare({
  requests,
  failures,
}: {
  requests: number
  failures: number
}): string | null {
  const calls = requests + failures
  return calls === 0 ? null : ((failures / calls) * 100).toFixed(1)
}

/** One day of one model, as in a One API server's week. */
interface DayOfModel {
  Day: string
  ModelName: string
  RequestCount: number
  Quota: number
  PromptTokens: number
  CompletionTokens: number
}

const noFigures = (): Figures => ({
  quota: 0,
  requests: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
})

function add(into: Figures, figures: Figures): void {
  for (const { name } of metrics) into[name] += figures[name]
}

/** Converts a week to an overview, so that both kinds of server are displayed alike. */
export function overviewOfWeek(rows: readonly DayOfModel[], nowSeconds: number): Overview {
  const today = nowSeconds - (nowSeconds % DAY)
  const starts = Array.from({ length: 7 }, (_, index) => today - (6 - index) * DAY)
  const buckets = starts.map((start) => ({ start, ...noFigures(), failures: 0 }))
  const totals = { ...noFigures(), failures: 0 }
  const names = new Map<string, Figures & { name: string; series: Figures[] }>()
  for (const row of rows) {
    const index = starts.indexOf(Date.parse(`${row.Day}T00:00:00Z`) / 1000)
    const figures = {
      quota: row.Quota,
      requests: row.RequestCount,
      prompt_tokens: row.PromptTokens,
      completion_tokens: row.CompletionTokens,
    }
    const bucket = buckets[index]
    if (bucket === undefined) continue
    const known = names.get(row.ModelName) ?? {
      name: row.ModelName,
      ...noFigures(),
      series: starts.map(noFigures),
    }
    names.set(row.ModelName, known)
    const ofDay = known.series[index]
    for (const sums of [bucket, totals, known, ...(ofDay === undefined ? [] : [ofDay])]) {
      add(sums, figures)
    }
  }
  const ranked = [...names.values()].toSorted((one, other) => other.quota - one.quota)
  return {
    buckets,
    totals,
    previous: { ...noFigures(), failures: 0 },
    names: ranked.map((named, index) => (index < 6 ? named : { ...named, series: [] })),
  }
}
