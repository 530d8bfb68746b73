import { ValueType, type Attributes, type HrTime } from '@opentelemetry/api'
import { millisToHrTime } from '@opentelemetry/core'
import { emptyResource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Clock } from '../clock.ts'

/**
 * Passes the counters and gauges of `/metrics` to the exporter, under the same names. Histograms
 * are left out: `gen_ai.client.operation.duration` contains the durations of calls.
 */
export function prometheusProducer(registry: Registry, { nowMs }: Clock): MetricProducer {
  const startTime = millisToHrTime(nowMs())
  return {
    async collect() {
      const endTime = millisToHrTime(nowMs())
      const metrics: MetricData[] = []
      for (const metric of registry.getMetricsAsArray()) {
        const { name, help } = metric
        if (!name.startsWith('gatehouse_') && !name.startsWith('process_')) continue
        const found = registry.getSingleMetric(name)
        if (!(found instanceof Counter || found instanceof Gauge)) continue
        const { values } = await found.get()
        const data = {
          descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
          aggregationTemporality: AggregationTemporality.CUMULATIVE,
          dataPoints: values.map((value) => dataPoint(value, { startTime, endTime })),
        }
        metrics.push(
          found instanceof Counter
            ? { ...data, dataPointType: DataPointType.SUM, isMonotonic: true }
            : { ...data, dataPointType: DataPointType.GAUGE },
        )
      }
      const scopeMetrics = [{ scope: { name: 'gatehouse/prometheus' }, metrics }]
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] }
    },
  }
}

const dataPoint = (
  { labels, value }: { labels: Partial<Record<string, string | number>>; value: number },
  times: { startTime: HrTime; endTime: HrTime },
): DataPoint<number> => {
  const attributes: Attributes = labels
  return { ...times, attributes, value }
}
