import type { CallSpan, EndedCall, Telemetry } from '../../telemetry/telemetry.ts'
import { isWell, type AttemptOutcome } from '../errors/attempt-outcome.ts'
import { shown } from '../protocols/dialect/relay-error.ts'
import type { Task } from '../protocols/dialect/provider.ts'
import type { Call, CallEnd } from './call.ts'
import type { Attempt } from './plan.ts'

/** Reports a call and its attempts to the OpenTelemetry collector. Never called without one. */

export function beginSpan(telemetry: Telemetry, call: Call): void {
  const { requestId, path, request } = call
  const { traceparent, tracestate } = request.headers
  call.span = telemetry.begin({
    requestId,
    path,
    method: request.method ?? '',
    traceparent: textOf(traceparent),
    tracestate: textOf(tracestate),
  })
}

const textOf = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join() : header

export function beginAttemptSpan(
  span: CallSpan,
  { channel, modelName, isTrial }: Pick<Attempt, 'channel' | 'modelName' | 'isTrial'>,
): void {
  span.beginAttempt({
    channelId: channel.id,
    channelName: channel.name,
    channelType: channel.type,
    model: shown(modelName),
    isTrial,
  })
}

export function endAttemptSpan(span: CallSpan, outcome: AttemptOutcome): void {
  span.endAttempt({
    cause: causeOf(outcome),
    status: outcome.kind === 'failed' && outcome.cause === 'status' ? outcome.error.status : null,
  })
}

function causeOf(outcome: AttemptOutcome): string | null {
  if (outcome.kind === 'failed') return outcome.cause
  if (outcome.kind === 'abandoned') return 'abandoned'
  return isWell(outcome) ? null : (outcome.broken ?? null)
}

/** Adds the trace context of the attempt to its request. */
export function sendTraceContext(call: Call, span: CallSpan): void {
  const { attempt } = call
  const { request } = attempt
  const headers = { ...request.headers, ...span.attemptHeaders() }
  call.attempt = { ...attempt, request: { ...request, headers } }
}

export function endSpan(call: Call, span: CallSpan, end: CallEnd & { elapsedMs: number }): void {
  const { response, knownInput: input, knownCaller: caller } = call
  const ended: EndedCall = {
    ...end,
    status: response.headersSent ? response.statusCode : null,
    operation: input === null ? null : OPERATIONS[input.surface.task],
    model: input === null ? null : shown(input.model),
    isStream: call.isStreamed,
    userId: caller?.user.id ?? null,
    tokenId: caller?.token.id ?? null,
  }
  span.end(ended)
}

/** `gen_ai.operation.name`; names of our own where the conventions lack one. */
const OPERATIONS: Readonly<Record<Task, string>> = {
  chat: 'chat',
  responses: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
  embedContent: 'embeddings',
  batchEmbedContents: 'embeddings',
  images: 'image_generation',
  imageEdits: 'image_edit',
  speech: 'text_to_speech',
  transcriptions: 'transcription',
  translations: 'translation',
  rerank: 'rerank',
  moderations: 'moderation',
  compact: 'compact',
  countTokens: 'count_tokens',
}
