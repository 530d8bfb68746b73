import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import dayjs from 'dayjs'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Overview } from '../../contract/dashboard-api.ts'
import type { DashboardDimension, DashboardUnit } from '../../contract/dashboard.ts'
import { DEFAULT_QUOTA_PER_UNIT } from '../../contract/quota.ts'
import { loadMissingSheets, MISSING_FILE } from '../app/routing/missing-files.ts'
import { useQuotaText, useStatus } from '../app/status.ts'
import { Panel } from '../ui/page.tsx'
import { LoadError } from '../ui/states.tsx'
import { dimensions, type Metric, metrics, type Series, seriesOf } from './overview.ts'
import styles from './dashboard.module.css'

async function loadChart() {
  await loadMissingSheets()
  return (await import('./usage-chart.tsx')).UsageChart
}

/** How the chart and its table format their values. */
export interface ChartTexts {
  /** One per bucket. */
  labels: string[]
  seriesName: (series: Pick<Series, 'name' | 'count'>) => string
  valueText: (value: number) => string
  /** The same, shortened for the axis. */
  axisText: (value: number) => string
}

/** Formats names; a channel is shown by its number. */
export function useNameText(by: DashboardDimension): (name: string) => string {
  const { t } = useTranslation()
  return (name) => {
    if (by === 'channel') return t('渠道 {{id}}', { id: name })
    return name === '' ? t('（未命名）') : name
  }
}

/** Totals in points below which the parts need four or six decimals of a dollar. */
const SMALL_QUOTA = 5_000_000
const TINY_QUOTA = 50_000

/** Decimals that distinguish the parts of an amount; undefined for the default. */
export function quotaDecimals(total: number): number | undefined {
  if (total === 0 || total >= SMALL_QUOTA) return undefined
  return total < TINY_QUOTA ? 6 : 4
}

/** Maximum characters of an amount on the axis of the chart. */
const AXIS_LENGTH = 11

/** Added to a day's start, so that the label has the right date despite clock changes. */
const HALF_DAY = 43_200

function useChartTexts(
  overview: Overview,
  { unit, metric, by }: Pick<UsagePanelProps, 'unit' | 'metric' | 'by'>,
): ChartTexts {
  const { t, i18n } = useTranslation()
  const quotaText = useQuotaText()
  const nameText = useNameText(by)
  const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
  const decimals = quotaDecimals(overview.totals.quota)
  const { quota_per_unit: quotaPerUnit } = useStatus()
  const isLong = quotaText(overview.totals.quota, decimals).length > AXIS_LENGTH
  const axisQuota = (value: number) =>
    isLong
      ? `$${compact.format(value / (quotaPerUnit || DEFAULT_QUOTA_PER_UNIT))}`
      : quotaText(value, decimals)
  const label = (start: number) =>
    unit === 'hour'
      ? dayjs.unix(start).format('HH:mm')
      : dayjs.unix(start + HALF_DAY).format('MM-DD')
  return {
    labels: overview.buckets.map(({ start }) => label(start)),
    seriesName: ({ name, count }) =>
      name === null ? t('其他 {{names}} 个', { names: count }) : nameText(name),
    valueText: (value) =>
      metric === 'quota' ? quotaText(value, decimals) : value.toLocaleString(i18n.language),
    axisText: metric === 'quota' ? axisQuota : (value) => compact.format(value),
  }
}

interface UsagePanelProps {
  overview: Overview
  unit: DashboardUnit
  metric: Metric
  by: DashboardDimension
  /** Available dimensions. */
  offered: readonly DashboardDimension[]
  onMetric: (metric: Metric) => void
  onDimension: (by: DashboardDimension) => void
}

/** Consumption over time, stacked by name, as a chart or table. */
export function UsagePanel(props: UsagePanelProps) {
  const { overview, unit, metric, by } = props
  const { t } = useTranslation()
  const [isTable, setIsTable] = useState(false)
  const series = seriesOf(overview, metric)
  const texts = useChartTexts(overview, props)
  const title = unit === 'hour' ? t('每小时用量') : t('每日用量')
  return (
    <Panel>
      <div className={styles['panelHead']}>
        <h2>{title}</h2>
        <Choices {...props} />
        <button
          type="button"
          className={styles['switch']}
          aria-pressed={isTable}
          onClick={() => setIsTable(!isTable)}
        >
          {isTable ? t('显示图表') : t('显示表格')}
        </button>
      </div>
      {isTable ? (
        <BucketTable title={title} series={series} texts={texts} />
      ) : (
        <>
          <figure
            className={styles['chartBox']}
            aria-label={t('{{title}}，共 {{total}}。可切换为表格', {
              title,
              total: texts.valueText(overview.totals[metric]),
            })}
          >
            <Chart title={title} series={series} texts={texts} />
          </figure>
          <Legend series={series} texts={texts} by={by} />
        </>
      )}
    </Panel>
  )
}

function Choices({ metric, by, offered, onMetric, onDimension }: UsagePanelProps) {
  const { t } = useTranslation()
  return (
    <div className={styles['choices']}>
      <NativeSelect
        aria-label={t('指标')}
        value={metric}
        onChange={({ currentTarget }) => {
          const chosen = metrics.find(({ name }) => name === currentTarget.value)
          if (chosen !== undefined) onMetric(chosen.name)
        }}
        data={metrics.map(({ name, label }) => ({ value: name, label: t(label) }))}
      />
      {offered.length > 1 && (
        <NativeSelect
          aria-label={t('分类')}
          value={by}
          onChange={({ currentTarget }) => {
            const chosen = offered.find((name) => name === currentTarget.value)
            if (chosen !== undefined) onDimension(chosen)
          }}
          data={dimensions
            .filter(({ name }) => offered.includes(name))
            .map(({ name, label }) => ({
              value: name,
              label: t('按{{what}}', { what: t(label) }),
            }))}
        />
      )}
    </div>
  )
}

interface SeriesProps {
  series: readonly Series[]
  texts: ChartTexts
}

/**
 * The chart, whose code is loaded after its data. If loading fails, only a reload helps: browsers
 * cache the missing file.
 */
function Chart({ title, series, texts }: SeriesProps & { title: string }) {
  const { t } = useTranslation()
  const { data: UsageChart, isError } = useQuery({
    queryKey: ['usage-chart'],
    queryFn: loadChart,
    staleTime: Infinity,
  })
  if (isError) {
    return (
      <LoadError
        isAlert
        what={title}
        error={new Error(t(MISSING_FILE))}
        onRetry={() => location.reload()}
      />
    )
  }
  return UsageChart !== undefined && <UsageChart series={series} texts={texts} />
}

function Legend({ series, texts, by }: SeriesProps & { by: DashboardDimension }) {
  const { t } = useTranslation()
  // The server sends only totals for users and tokens: the chart has one bar, and the list below
  // the parts.
  const isWhole = series.length === 1 && series[0]?.name === null
  if (isWhole && (by === 'user' || by === 'token')) {
    return <p className={styles['note']}>{t('下表列出各项的用量')}</p>
  }
  return (
    <ul className={styles['legend']}>
      {series.map((one, index) => (
        <li key={one.name ?? ' '} data-series={one.name === null ? 'rest' : index}>
          <span>{texts.seriesName(one)}</span> <b>{texts.valueText(one.total)}</b>
        </li>
      ))}
    </ul>
  )
}

function BucketTable({ title, series, texts }: SeriesProps & { title: string }) {
  const { t } = useTranslation()
  return (
    // A wide table scrolls, by keyboard too when it has the focus.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- see above
    <section className={styles['tableBox']} aria-label={title} tabIndex={0}>
      <table className={styles['table']}>
        <thead>
          <tr>
            <th scope="col">{t('时间')}</th>
            {series.map((one) => (
              <th key={one.name ?? ' '} scope="col">
                {texts.seriesName(one)}
              </th>
            ))}
            <th scope="col">{t('合计')}</th>
          </tr>
        </thead>
        <tbody>
          {texts.labels.map((label, bucket) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {series.map((one) => (
                <td key={one.name ?? ' '}>{texts.valueText(one.values[bucket] ?? 0)}</td>
              ))}
              <td>
                {texts.valueText(
                  series.reduce((sum, { values }) => sum + (values[bucket] ?? 0), 0),
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
