import { ExportResultCode, type ExportResult } from '@opentelemetry/core'
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics'
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace'
import type { Config } from '../config.ts'
import type { TelemetryLosses } from './telemetry.ts'

/** Creates the exporter of spans for the configured protocol. */
export async function spanExporter(config: Config, url: string): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    config.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  return new OTLPTraceExporter({ url, headers: config.OTEL_EXPORTER_OTLP_HEADERS })
}

/** Creates the exporter of metrics for the configured protocol. */
export async function metricExporter(config: Config, url: string): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } =
    config.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/json'
      ? await import('@opentelemetry/exporter-metrics-otlp-http')
      : await import('@opentelemetry/exporter-metrics-otlp-proto')
  return new OTLPMetricExporter({ url, headers: config.OTEL_EXPORTER_OTLP_HEADERS })
}

type Told = (result: ExportResult) => void
interface ExporterOf<Items> {
  export(items: Items, told: Told): void
}

/** Calls `failed` after each failed export, with its items. */
export function watched<Items, Exporter extends ExporterOf<Items>>(
  exporter: Exporter & ExporterOf<Items>,
  failed: (error: Error | undefined, items: Items) => void,
): Exporter {
  const send = exporter.export.bind(exporter)
  exporter.export = (items: Items, told: Told) =>
    send(items, (result) => {
      if (result.code === ExportResultCode.FAILED) failed(result.error, items)
      told(result)
    })
  return exporter
}

/** Spans in memory that wait for the collector; about 2 MB. */
const QUEUE_MAX = 2048
/** Spans per request: serializing them takes about a millisecond of the event loop. */
const BATCH_MAX = 256
const BATCH_DELAY_MS = 1000

/**
 * Queues ended spans and exports them in batches. A full queue drops spans and counts them, which
 * the library's own processor does not report.
 */
export function boundedProcessor(exporter: SpanExporter, losses: TelemetryLosses): SpanProcessor {
  let waiting = 0
  const send = exporter.export.bind(exporter)
  exporter.export = (spans: ReadableSpan[], told) => {
    waiting -= spans.length
    send(spans, told)
  }
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: QUEUE_MAX,
    maxExportBatchSize: BATCH_MAX,
    scheduledDelayMillis: BATCH_DELAY_MS,
  })
  return {
    onStart: () => {},
    onEnd(span) {
      if (waiting >= QUEUE_MAX) {
        losses.queueFull += 1
        return
      }
      waiting += 1
      processor.onEnd(span)
    },
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  }
}
