import '@mantine/charts/styles.layer.css'
import { BarChart } from '@mantine/charts'
import type { ChartTexts } from './usage-panel.tsx'
import type { Series } from './overview.ts'
import styles from './dashboard.module.css'

interface UsageChartProps {
  series: readonly Series[]
  texts: ChartTexts
}

const HEIGHT = 240
/** Width for the longest value of the axis, in pixels. */
const AXIS_WIDTH = 76

/**
 * Stacked bars. Series are keyed by number, because names may contain dots and chart keys may not.
 */
export function UsageChart({ series, texts }: UsageChartProps) {
  const data = texts.labels.map((label, bucket) => ({
    label,
    ...Object.fromEntries(series.map(({ values }, index) => [`s${index}`, values[bucket] ?? 0])),
  }))
  return (
    <BarChart
      className={styles['chart'] ?? ''}
      h={HEIGHT}
      data={data}
      dataKey="label"
      type="stacked"
      series={series.map((one, index) => ({
        name: `s${index}`,
        label: texts.seriesName(one),
        color: series.length === 1 ? 'var(--series-0)' : seriesColor(one, index),
      }))}
      valueFormatter={texts.valueText}
      gridAxis="x"
      tickLine="none"
      gridProps={{ strokeDasharray: '0' }}
      xAxisProps={{ minTickGap: 16 }}
      yAxisProps={{ width: AXIS_WIDTH, tickCount: 4, tickFormatter: texts.axisText }}
      tooltipAnimationDuration={0}
      maxBarWidth={96}
      barProps={{ isAnimationActive: false }}
      // The table has the same values accessibly; the chart is a single element.
      barChartProps={{ accessibilityLayer: false }}
    />
  )
}

/** The same colours as the classes of the legend. */
const seriesColor = ({ name }: Pick<Series, 'name'>, index: number): string =>
  name === null ? 'var(--series-rest)' : `var(--series-${index})`
