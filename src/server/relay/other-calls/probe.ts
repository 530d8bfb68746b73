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
import { plainRequest } from '../canonical/chat-request.ts'
import { USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import type { UpstreamDialect } from '../dialect/dialect.ts'
import { gathererOf, upstreamDialects } from '../conversion/dialects.ts'
import { providerCallOf, type Provider } from '../dialect/provider.ts'
import { providerOf } from '../vendors/registry.ts'
import { finished, headOf, readyToSend, type Sent } from '../dialect/finish.ts'
import { parseJson, recordOr } from '../json/json-value.ts'
import type { RelayParts } from '../call/call.ts'
import { amazonsNameIn, type UpstreamRefusal } from '../dialect/error-body.ts'
import { hiddenRefusal, ownWords, upstreamError } from '../errors/upstream-error.ts'
import type { ChannelWithSecrets } from '../../channel/secrets.ts'
import { routableOf } from '../routing/channel-map.ts'
import { sentModel } from '../routing/choose-channel.ts'
import { streamAsJson } from '../gathering/stream-as-json.ts'
import {
  callUpstream,
  type UpstreamFailure,
  type UpstreamRequest,
} from '../transport/upstream-call.ts'
import { serverSentEvents } from '../transport/wire.ts'
import { traitsOf } from '../vendors/registry.ts'
import { saysSomething } from '../whole-answer.ts'

type Judged =
  | { ok: true; text: string }
  | {
      ok: false
      code: ErrorCode
      params: ErrorParams
      /** How the upstream named its refusal, where it answered with one. */
      verdict?: { status: number; type: string; code: string }
    }

export type ProbeResult = Judged & { elapsedMs: number }

/** One real chat call through a channel, charged to nobody. */
export type Probe = (
  channel: ChannelRow,
  model: string,
  signal: AbortSignal,
) => Promise<ProbeResult>

const TIMEOUT_MS = 60_000
const COMPLETION_TOKENS = 16
const ANSWER_BYTES_MAX = 1024 * 1024
/** Characters of the model's answer that are shown. */
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
    const dialect = upstreamDialects[provider.dialect]
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
    const answer = await wholeOf(await ask(parts, sealed, signal), provider)
    const elapsedMs = Math.round(app.clock.monotonicMs() - startedMs)
    return { ...judged(answer, dialect, channel), elapsedMs }
  }
}

/** Nobody could be asked. */
function unasked(type: number, provider: Provider | null): ProbeResult {
  const { label, retired } = channelType(type)
  const unknown = retired ? 'channel_retired' : 'channel_test_unsupported'
  const code = provider === null ? unknown : 'channel_incomplete'
  return { ok: false, code, params: { type: label.zh }, elapsedMs: 0 }
}

/** The answer in one piece, though it was streamed: the channel's clients get it so too. */
async function wholeOf(
  heard: UpstreamRefusal | AppError,
  { dialect, wire = serverSentEvents }: Provider,
): Promise<UpstreamRefusal | AppError> {
  if (heard instanceof AppError || !saysSomething(heard.status)) return heard
  const gatherer = gathererOf('chat', dialect)
  const reading = { gatherer, upstream: upstreamDialects[dialect], wire }
  const whole = await streamAsJson(reading, { ...heard, headers: {}, room: null })
  if (typeof whole !== 'string') return { ...heard, body: whole.answer.body }
  return new AppError(whole === 'cut' ? 'upstream_cut' : 'upstream_answer_invalid')
}

/** What the answer says of the channel, or what kept it from coming. */
function judged(
  answer: UpstreamRefusal | AppError,
  dialect: UpstreamDialect,
  from: ChannelWithSecrets,
): Judged {
  if (answer instanceof AppError) return failed((language) => answer.text(language))
  const reading = saysSomething(answer.status) ? dialect.look(answer.body, USAGE_TOKENS_MAX) : null
  if (reading?.kind === 'ok') {
    const text = dialect
      .textsOf(recordOr(parseJson(answer.body.toString('utf8'))))
      .map((part) => part.text)
      .join('')
    return { ok: true, text: text.slice(0, SHOWN_MAX) }
  }
  const refusal = reading?.kind === 'error' ? hiddenRefusal(reading.error, dialect.name) : answer
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

/** A model that reasons before it answers needs room for it. */
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

/** Why there is no answer; of a connection that was never made by the system's word for it. */
function unanswered(failure: UpstreamFailure, error: Error): AppError {
  if (failure !== 'unreachable') return new AppError(FAILURES[failure])
  // A proxy's status is in the library's sentence and nowhere else.
  const status = /^Proxy response \((\d{3})\)/.exec(error.message)?.[1]
  if (status !== undefined) return new AppError('proxy_refused', { status })
  const reason = 'code' in error ? String(error.code) : ''
  return reason === '' || BROKEN.has(reason)
    ? new AppError('upstream_unreachable')
    : new AppError('upstream_unreachable_by', { reason })
}

/** Of a connection that ended without a word. */
const BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

const FAILURES = {
  unsealed: 'upstream_timeout',
  garbled: 'upstream_answer_invalid',
  timeout: 'upstream_timeout',
  cut: 'upstream_cut',
  unsent: 'channel_test_ended',
  aborted: 'channel_test_ended',
} as const satisfies Record<Exclude<UpstreamFailure, 'unreachable'>, ErrorCode>
