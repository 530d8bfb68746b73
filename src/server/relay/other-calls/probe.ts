import { channelType } from '../../../contract/channel-types.ts'
import {
  errorText,
  type ErrorCode,
  type ErrorParams,
  type Language,
} from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import { capabilitiesOf } from '../../model/model-table.ts'
import type { ChannelRow } from '../../db/schema.ts'
import { plainRequest } from '../protocols/canonical/chat-request.ts'
import { textsOf } from '../protocols/canonical/chat-answer.ts'
import type { AnswerReading, UpstreamDialect } from '../protocols/dialect/dialect.ts'
import { dialectOf } from '../conversion/dialects.ts'
import {
  providerCallOf,
  type Provider,
  finished,
  headOf,
  readyToSend,
  type Sent,
} from '../protocols/dialect/provider.ts'
import { providerOf } from '../vendors/registry.ts'
import type { RelayParts } from '../call/call.ts'
import { amazonsNameIn, type UpstreamRefusal } from '../protocols/dialect/error-body.ts'
import { hiddenStatus } from '../errors/upstream-error.ts'
import { ownWords, upstreamError } from '../errors/upstream-error.ts'
import type { ChannelWithSecrets } from '../../channel/secrets.ts'
import { routableOf } from '../routing/channel-map.ts'
import { sentModel } from '../routing/choose-channel.ts'
import { streamAsJson } from '../call/respond/stream-as-json.ts'
import {
  callUpstream,
  type UpstreamFailure,
  type UpstreamRequest,
} from '../transport/upstream-call.ts'
import { serverSentEvents, type Wire } from '../transport/wire.ts'
import { traitsOf } from '../vendors/registry.ts'
import { isAnswerStatus } from '../call/respond/respond.ts'

type Judged =
  | { ok: true; text: string }
  | {
      ok: false
      code: ErrorCode
      params: ErrorParams
      /** Status, type and code of the upstream's refusal, if it responded with one. */
      verdict?: { status: number; type: string; code: string }
    }

export type ProbeResult = Judged & { elapsedMs: number }

/** Sends one real chat call through a channel; no user is charged. */
export type Probe = (
  channel: ChannelRow,
  model: string,
  signal: AbortSignal,
) => Promise<ProbeResult>

const TIMEOUT_MS = 60_000
const COMPLETION_TOKENS = 16
const ANSWER_BYTES_MAX = 1024 * 1024
/** Maximum characters of the model's response that are shown. */
const SHOWN_MAX = 200

export function createProbe(parts: RelayParts): Probe {
  const { app } = parts
  return async (row, model, signal) => {
    const startedMs = app.clock.monotonicMs()
    const channel = routableOf(row)
    const mapped = sentModel(channel, model)
    const { type } = channel
    const to = providerCallOf(app, { task: 'chat', model: mapped, isStream: false, type }, null)
    const provider = providerOf(type, to.model, to.task, to.capabilities)
    const url = provider?.url(channel, to) ?? null
    if (provider === null || url === null) return unasked(channel.type, provider)
    const sent = { channel, to }
    const dialect = dialectOf(provider)
    const json = 'application/json'
    const request: UpstreamRequest = {
      url,
      method: 'POST',
      headers: headOf(provider, sent, { contentType: json, accept: json }),
      body: finished(provider, sent, questionOf(dialect, sent, app.config.TEST_PROMPT)),
      firstByteTimeoutMs: TIMEOUT_MS,
      idleTimeoutMs: TIMEOUT_MS,
    }
    const sealed = readyToSend(provider, sent, request, app.clock)
    const answer = await ask(parts, sealed, signal)
    const judgement = await judgedAnswer(answer, { provider, dialect, channel })
    const elapsedMs = Math.round(app.clock.monotonicMs() - startedMs)
    return { ...judgement, elapsedMs }
  }
}

/** Returns the result if no request could be sent. */
function unasked(type: number, provider: Provider | null): ProbeResult {
  const { label, retired } = channelType(type)
  const unknown = retired ? 'channel_retired' : 'channel_test_unsupported'
  const code = provider === null ? unknown : 'channel_incomplete'
  return { ok: false, code, params: { type: label }, elapsedMs: 0 }
}

interface Probed {
  provider: Provider
  dialect: UpstreamDialect
  channel: ChannelWithSecrets
}

/**
 * Returns the result for a response, or the error that prevented one. A streamed response is
 * assembled as it is for the channel's clients.
 */
async function judgedAnswer(heard: UpstreamRefusal | AppError, probed: Probed): Promise<Judged> {
  if (heard instanceof AppError) return failed((language) => heard.text(language))
  if (!isAnswerStatus(heard.status)) return judged(heard, null, probed)
  const { dialect, provider } = probed
  const plan = { gathers: 'events' as const, upstream: dialect, wire: wireOf(provider) }
  const whole = await streamAsJson(plan, { ...heard, headers: {}, room: null })
  if (typeof whole !== 'string') {
    return judged(heard, whole.plan.upstream.readAnswer(whole.answer.body, 'chat'), probed)
  }
  const error = new AppError(whole === 'cut' ? 'upstream_cut' : 'upstream_answer_invalid')
  return failed((language) => error.text(language))
}

const wireOf = ({ wire = serverSentEvents }: Provider): Wire => wire

function judged(
  answer: UpstreamRefusal,
  reading: AnswerReading | null,
  { dialect, channel: from }: Probed,
): Judged {
  if (reading?.kind === 'ok' && reading.failure === undefined) {
    const text = textsOf(reading.events()).map((part) => part.text)
    return { ok: true, text: text.join('').slice(0, SHOWN_MAX) }
  }
  const error =
    reading?.kind === 'ok' ? reading.failure : reading?.kind === 'error' && reading.error
  const refusal = reading === null || reading.kind === 'malformed' ? answer : hidden(error, dialect)
  const { status, type, code } = upstreamError(refusal, 'zh', from)
  const say = (language: Language): string =>
    reading?.kind === 'malformed'
      ? errorText('upstream_answer_invalid', language)
      : ownWords(refusal, from) || upstreamError(refusal, language, from).message
  return { ...failed(say), verdict: { status, type, code: String(code) } }
}

const failed = (say: (language: Language) => string) => ({
  ok: false as const,
  code: 'channel_test_failed' as const,
  params: { detailZh: say('zh'), detailEn: say('en') },
})

/** Converts an error inside a success response to a separate error response. */
const hidden = (error: unknown, dialect: UpstreamDialect): UpstreamRefusal => ({
  status: hiddenStatus(error, dialect),
  body: Buffer.from(JSON.stringify({ error })),
})

/** Returns the test request. A model that reasons before it responds needs tokens for it. */
function questionOf(dialect: UpstreamDialect, { channel, to }: Sent, prompt: string): Buffer {
  const { type } = channel
  const reasons = capabilitiesOf(to).reasoning === true
  const limit = reasons ? COMPLETION_TOKENS * 32 : COMPLETION_TOKENS
  const text = { kind: 'text', text: prompt, cache: null } as const
  const question = plainRequest([{ role: 'user', parts: [text] }])
  const asked = dialect.writeRequest(
    { ...question, maxCompletionTokens: limit },
    {
      model: to.model,
      isStream: false,
      asksForUsage: false,
      type,
      traits: traitsOf(type),
      capabilities: to.capabilities,
    },
  )
  return Buffer.from(JSON.stringify(asked))
}

function ask(
  { egress }: RelayParts,
  request: UpstreamRequest,
  signal: AbortSignal,
): Promise<UpstreamRefusal | AppError> {
  const { promise, resolve } = Promise.withResolvers<UpstreamRefusal | AppError>()
  const chunks: Buffer[] = []
  let length = 0
  let status = 0
  let amazonsName: string | undefined
  const upstream = callUpstream(egress, request, {
    onHead(answered, headers) {
      status = answered
      amazonsName = amazonsNameIn(headers)
    },
    onData(chunk) {
      length += chunk.length
      if (length > ANSWER_BYTES_MAX) upstream.abort()
      else chunks.push(chunk)
    },
    onEnd: () => resolve({ status, body: Buffer.concat(chunks), amazonsName }),
    onFailure: (failure, error) => resolve(unanswered(failure, error)),
  })
  signal.addEventListener('abort', () => upstream.abort(), { once: true })
  return promise
}

/**
 * Returns the error for a missing response; a failed connection includes the system's error code.
 */
function unanswered(failure: UpstreamFailure, error: Error): AppError {
  if (failure !== 'unreachable') return new AppError(FAILURES[failure])
  // A proxy's status is only available in the library's message.
  const status = /^Proxy response \((\d{3})\)/.exec(error.message)?.[1]
  if (status !== undefined) return new AppError('proxy_refused', { status })
  const reason = 'code' in error ? String(error.code) : ''
  return reason === '' || BROKEN.has(reason)
    ? new AppError('upstream_unreachable')
    : new AppError('upstream_unreachable_by', { reason })
}

/** Error codes of a connection that closed without a response. */
const BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

const FAILURES = {
  unsealed: 'upstream_timeout',
  garbled: 'upstream_answer_invalid',
  timeout: 'upstream_timeout',
  cut: 'upstream_cut',
  unsent: 'channel_test_ended',
  aborted: 'channel_test_ended',
} as const satisfies Record<Exclude<UpstreamFailure, 'unreachable'>, ErrorCode>
