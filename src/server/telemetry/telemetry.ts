import type { Registry } from 'prom-client'
import type { App } from '../app.ts'
import type { Config } from '../config.ts'

/**
 * Traces and metrics of relayed calls for an OpenTelemetry collector. `startTelemetry` returns null
 * unless an endpoint is set; the OpenTelemetry libraries are loaded only then.
 * docs/decisions/0031-opentelemetry.md
 */
export interface Telemetry {
  /** Begins the span of a metered call. */
  begin(head: CallHead): CallSpan
  /** Counts of spans and exports that were lost, for `/metrics`. */
  readonly losses: TelemetryLosses
  /** Sends what is queued; waits at most a few seconds. */
  close(): Promise<void>
}

/** Figures since the start. */
export interface TelemetryLosses {
  /** Spans that were not queued because the queue was full. */
  queueFull: number
  /** Spans that the collector did not accept. */
  notSent: number
  /** Exports of spans or metrics that failed. */
  failedExports: number
}

export interface CallHead {
  requestId: string
  method: string
  /** Without the query, which may contain a key. */
  path: string
  /** Headers of the W3C Trace Context. */
  traceparent: string | undefined
  tracestate: string | undefined
}

/** The span of one call and of its attempts, which follow each other. */
export interface CallSpan {
  /** Usage that the call was settled with; null if it was not settled. */
  usage: SpanUsage | null
  beginAttempt(attempt: SpanAttempt): void
  endAttempt(result: SpanResult): void
  /** Headers that make the upstream's spans children of the current attempt. */
  attemptHeaders(): Readonly<Record<string, string>>
  end(ended: EndedCall): void
}

export interface SpanUsage {
  /** The model that the channel was asked for. */
  model: string
  promptTokens: number
  cachedTokens: number
  completionTokens: number
  reasoningTokens: number
}

export interface SpanAttempt {
  channelId: number
  channelName: string
  channelType: number
  /** The model name that is sent upstream. */
  model: string
  isTrial: boolean
}

export interface SpanResult {
  /** Cause of the failure; null if the attempt served the call. */
  cause: string | null
  /** HTTP status that the upstream refused with; null if it did not. */
  status: number | null
}

export interface EndedCall {
  outcome: string
  channelId: number
  /** Points charged. */
  quota: number
  elapsedMs: number
  /** HTTP status that the client received; null if it left before. */
  status: number | null
  /** GenAI operation: `chat`, `embeddings` and others; null if the call was refused before. */
  operation: string | null
  model: string | null
  isStream: boolean
  userId: number | null
  tokenId: number | null
}

/** Endpoints of the two signals; null for one that is off. */
export interface Endpoints {
  traces: string | null
  metrics: string | null
}

function endpointsOf(config: Config): Endpoints {
  if (config.OTEL_SDK_DISABLED) return { traces: null, metrics: null }
  const base = config.OTEL_EXPORTER_OTLP_ENDPOINT
  const under = (path: string): string | null => (base === undefined ? null : `${base}${path}`)
  return {
    traces:
      config.OTEL_TRACES_EXPORTER === 'none'
        ? null
        : (config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? under('/v1/traces')),
    metrics:
      config.OTEL_METRICS_EXPORTER === 'none'
        ? null
        : (config.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT ?? under('/v1/metrics')),
  }
}

/** Starts the export, or returns null if no endpoint is set. */
export async function startTelemetry(app: App, registry: Registry): Promise<Telemetry | null> {
  const endpoints = endpointsOf(app.config)
  if (endpoints.traces === null && endpoints.metrics === null) return null
  const { createTelemetry } = await import('./open-telemetry.ts')
  return createTelemetry(app, registry, endpoints)
}
