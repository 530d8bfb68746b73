import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace as traceApi,
  type Attributes,
  type Context,
  type Histogram,
  type Span,
  type Tracer,
} from '@opentelemetry/api'
import { parseTraceParent, TraceState } from '@opentelemetry/core'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { setTimeout as passed } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import type { App } from '../app.ts'
import { boundedProcessor, metricExporter, spanExporter, watched } from './exporters.ts'
import { prometheusProducer } from './prometheus-producer.ts'
import { providerName } from './provider-name.ts'
import { samplerOf } from './sampler.ts'
import type {
  CallHead,
  CallSpan,
  EndedCall,
  Endpoints,
  SpanAttempt,
  SpanResult,
  SpanUsage,
  Telemetry,
  TelemetryLosses,
} from './telemetry.ts'

/** Time between two warnings about failed exports; `/metrics` counts all of them. */
const WARNING_MS = 60_000
/** Time for the last export when the server stops. */
const CLOSE_LIMIT_MS = 3000
/** Names of spans, metrics and attributes follow this version of the semantic conventions. */
const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.41.0'
/** Boundaries in seconds and tokens that the semantic conventions recommend. */
const SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]
const TOKENS = [
  1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
]

export async function createTelemetry(
  app: App,
  registry: Registry,
  endpoints: Endpoints,
): Promise<Telemetry> {
  const losses: TelemetryLosses = { queueFull: 0, notSent: 0, failedExports: 0 }
  const resource = resourceFromAttributes({
    'service.version': app.version.slice(1),
    'service.instance.id': app.node,
    ...app.config.OTEL_RESOURCE_ATTRIBUTES,
    'service.name':
      app.config.OTEL_SERVICE_NAME ??
      app.config.OTEL_RESOURCE_ATTRIBUTES['service.name'] ??
      'gatehouse',
  })
  const failed = failedExport(app, losses)
  const tracing =
    endpoints.traces === null
      ? null
      : new TracerProvider({
          resource,
          sampler: samplerOf(app.config),
          spanProcessors: [
            boundedProcessor(
              watched(await spanExporter(app.config, endpoints.traces), (error, spans) => {
                losses.notSent += spans.length
                failed('traces', error)
              }),
              losses,
            ),
          ],
        })
  const metering =
    endpoints.metrics === null
      ? null
      : new MeterProvider({
          resource,
          readers: [
            new PeriodicExportingMetricReader({
              exporter: watched(await metricExporter(app.config, endpoints.metrics), (error) =>
                failed('metrics', error),
              ),
              metricProducers: [prometheusProducer(registry, app.clock)],
            }),
          ],
        })
  const scope = ['gatehouse', app.version.slice(1), { schemaUrl: SCHEMA_URL }] as const
  const tracer = tracing?.getTracer(...scope) ?? null
  const meter = metering?.getMeter(...scope)
  const histograms =
    meter === undefined
      ? null
      : {
          duration: meter.createHistogram('gen_ai.client.operation.duration', {
            unit: 's',
            description: 'GenAI operation duration.',
            advice: { explicitBucketBoundaries: SECONDS },
          }),
          tokens: meter.createHistogram('gen_ai.client.token.usage', {
            unit: '{token}',
            description: 'Number of input and output tokens used.',
            advice: { explicitBucketBoundaries: TOKENS },
          }),
        }
  app.trace.info(
    { traces: endpoints.traces !== null, metrics: endpoints.metrics !== null },
    'exporting to OpenTelemetry',
  )
  return {
    begin: (head) => new TracedCall(tracer, histograms, head),
    losses,
    async close() {
      const closing = Promise.allSettled([tracing?.shutdown(), metering?.shutdown()])
      await Promise.race([closing, passed(CLOSE_LIMIT_MS, undefined, { ref: false })])
    },
  }
}

/** Counts failed exports and logs at most one a minute. */
function failedExport({ trace, clock }: App, losses: TelemetryLosses) {
  let warnedMs = -Infinity
  return (signal: string, error: Error | undefined): void => {
    losses.failedExports += 1
    const nowMs = clock.monotonicMs()
    if (nowMs - warnedMs < WARNING_MS) return
    warnedMs = nowMs
    trace.warn(
      { signal, reason: error?.message, failedExports: losses.failedExports },
      'the OpenTelemetry collector does not accept data; check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS',
    )
  }
}

interface Histograms {
  duration: Histogram
  tokens: Histogram
}

class TracedCall implements CallSpan {
  usage: SpanUsage | null = null
  private readonly tracer: Tracer | null
  private readonly histograms: Histograms | null
  private readonly span: Span | null
  private readonly context: Context
  private attempt: Span | null = null
  /** Provider of the last channel that was asked. */
  private provider: string | null = null

  constructor(tracer: Tracer | null, histograms: Histograms | null, head: CallHead) {
    this.tracer = tracer
    this.histograms = histograms
    const parent = parentOf(head)
    this.span =
      tracer?.startSpan(
        `${head.method} ${head.path}`,
        {
          kind: SpanKind.SERVER,
          attributes: {
            'http.request.method': head.method,
            'url.path': head.path,
            'gatehouse.request_id': head.requestId,
          },
        },
        parent,
      ) ?? null
    this.context = this.span === null ? parent : traceApi.setSpan(parent, this.span)
  }

  beginAttempt({ channelId, channelName, channelType, model, isTrial }: SpanAttempt): void {
    this.provider = providerName(channelType)
    if (this.tracer === null) return
    // Without `gen_ai.operation.name`: backends would count call and attempt as two operations.
    const attributes: Attributes = {
      'gen_ai.provider.name': this.provider,
      'gatehouse.channel_id': channelId,
      'gatehouse.channel_name': channelName,
      'gatehouse.model': model,
      ...(isTrial ? { 'gatehouse.trial': true } : {}),
    }
    this.attempt = this.tracer.startSpan(
      `attempt ${model}`,
      { kind: SpanKind.CLIENT, attributes },
      this.context,
    )
  }

  endAttempt({ cause, status }: SpanResult): void {
    const { attempt } = this
    if (attempt === null) return
    this.attempt = null
    if (status !== null) attempt.setAttribute('http.response.status_code', status)
    if (cause !== null) {
      attempt.setAttributes({
        'error.type': status === null ? cause : String(status),
        'gatehouse.cause': cause,
      })
      attempt.setStatus({ code: SpanStatusCode.ERROR })
    }
    attempt.end()
  }

  attemptHeaders(): Readonly<Record<string, string>> {
    const sent = this.attempt?.spanContext()
    if (sent === undefined) return {}
    const flags = sent.traceFlags.toString(16).padStart(2, '0')
    return {
      traceparent: `00-${sent.traceId}-${sent.spanId}-${flags}`,
      ...(sent.traceState === undefined ? {} : { tracestate: sent.traceState.serialize() }),
    }
  }

  end(ended: EndedCall): void {
    // A call that threw in the middle of an attempt.
    this.endAttempt({ cause: ended.outcome, status: null })
    this.record(ended)
    const { span } = this
    if (span === null) return
    if (span.isRecording()) {
      const { operation, model } = ended
      if (operation !== null) {
        span.updateName(model === null ? operation : `${operation} ${model}`)
      }
      span.setAttributes(attributesOf(ended, { provider: this.provider, usage: this.usage }))
      if (isServerError(ended)) span.setStatus({ code: SpanStatusCode.ERROR })
    }
    span.end()
  }

  /** A refused call names any model that its client likes, so it is not measured by model. */
  private record({ operation, model, outcome, channelId, elapsedMs }: EndedCall): void {
    if (this.histograms === null || channelId === 0 || operation === null) return
    const common: Attributes = {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': this.provider ?? UNKNOWN,
      ...(model === null ? {} : { 'gen_ai.request.model': model }),
    }
    const { usage, histograms } = this
    if (usage !== null) common['gen_ai.response.model'] = usage.model
    histograms.duration.record(elapsedMs / 1000, {
      ...common,
      ...(isWell(outcome) ? {} : { 'error.type': outcome }),
    })
    if (usage === null) return
    histograms.tokens.record(usage.promptTokens, { ...common, 'gen_ai.token.type': 'input' })
    histograms.tokens.record(usage.completionTokens, { ...common, 'gen_ai.token.type': 'output' })
  }
}

const UNKNOWN = '_OTHER'
const WELL: ReadonlySet<string> = new Set(['answered', 'usage-missing'])
const isWell = (outcome: string): boolean => WELL.has(outcome)

const HTTP_SERVER_ERROR = 500

/** Refusals that are the client's fault are no errors of this server. */
function isServerError({ outcome, status, channelId }: EndedCall): boolean {
  if (isWell(outcome) || outcome === 'abandoned') return false
  return channelId !== 0 || (status ?? 0) >= HTTP_SERVER_ERROR
}

function attributesOf(
  { outcome, channelId, quota, status, operation, model, isStream, userId, tokenId }: EndedCall,
  { provider, usage }: { provider: string | null; usage: SpanUsage | null },
): Attributes {
  const attributes: Attributes = { 'gatehouse.outcome': outcome, 'gatehouse.quota': quota }
  if (operation !== null) attributes['gen_ai.operation.name'] = operation
  if (model !== null) attributes['gen_ai.request.model'] = model
  if (isStream) attributes['gen_ai.request.stream'] = true
  if (provider !== null) attributes['gen_ai.provider.name'] = provider
  if (status !== null) attributes['http.response.status_code'] = status
  if (channelId !== 0) attributes['gatehouse.channel_id'] = channelId
  if (userId !== null) attributes['gatehouse.user_id'] = userId
  if (tokenId !== null) attributes['gatehouse.token_id'] = tokenId
  if (!isWell(outcome)) attributes['error.type'] = outcome
  if (usage === null) return attributes
  attributes['gen_ai.response.model'] = usage.model
  attributes['gen_ai.usage.input_tokens'] = usage.promptTokens
  attributes['gen_ai.usage.output_tokens'] = usage.completionTokens
  if (usage.cachedTokens > 0) {
    attributes['gen_ai.usage.cache_read.input_tokens'] = usage.cachedTokens
  }
  if (usage.reasoningTokens > 0) {
    attributes['gen_ai.usage.reasoning.output_tokens'] = usage.reasoningTokens
  }
  return attributes
}

/** Returns the context of the client's span, or the root if the client sent none or a broken one. */
function parentOf({ traceparent, tracestate }: CallHead): Context {
  const parent = traceparent === undefined ? null : parseTraceParent(traceparent)
  if (parent === null) return ROOT_CONTEXT
  return traceApi.setSpanContext(ROOT_CONTEXT, {
    ...parent,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: new TraceState(tracestate) }),
  })
}
