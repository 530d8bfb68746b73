import { channelType, trimBaseUrl } from '../../contract/channel-types.ts'
import type { ErrorCode, ErrorParams } from '../../contract/errors.ts'
import { parseConfigObject } from '../channel/channel-config.ts'
import { overridesOf } from '../channel/overrides.ts'
import type { ChannelRow } from '../db/schema.ts'
import { plainRequest } from './canonical/chat-request.ts'
import { USAGE_TOKENS_MAX } from './canonical/token-usage.ts'
import type { UpstreamDialect } from './dialect/dialect.ts'
import { upstreamDialects } from './dialect/dialects.ts'
import { providerOf, type ProviderCall } from './dialect/provider.ts'
import { finished, sealedBy } from './dialect/finish.ts'
import { parseJson, recordOr } from './json/json-value.ts'
import type { RelayParts } from './relay-call.ts'
import { amazonsNameIn, hiddenStatus, upstreamError, type UpstreamRefusal } from './relay-error.ts'
import { apiVersionOf, configOf } from './routing/channel-map.ts'
import { overridden } from './transport/override-request.ts'
import { callUpstream, type UpstreamRequest } from './transport/upstream-call.ts'

export type ProbeResult =
  | { ok: true; text: string; elapsedMs: number }
  | {
      ok: false
      code: ErrorCode
      params: ErrorParams
      elapsedMs: number
      /** How the upstream named its refusal, where it answered with one. */
      verdict?: { status: number; type: string; code: string }
    }

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
  return async (channel, model, signal) => {
    const startedMs = parts.app.clock.monotonicMs()
    const elapsedMs = (): number => Math.round(parts.app.clock.monotonicMs() - startedMs)
    const mapped = mappedModel(channel, model)
    const baseUrl = trimBaseUrl(channel.base_url ?? '')
    const { type, key } = channel
    const to: ProviderCall = {
      task: 'chat',
      model: mapped,
      isStream: false,
      clientQuery: new URLSearchParams(),
      clientHeaders: {},
      ownAddress: '',
      geminiVersion: parts.app.config.GEMINI_VERSION,
    }
    const from = {
      type,
      key,
      baseUrl,
      apiVersion: apiVersionOf(channel),
      config: configOf(channel),
      overrides: overridesOf(parseConfigObject(channel.config) ?? {}),
    }
    const provider = providerOf(type, mapped)
    const url = provider?.url(from, to) ?? null
    if (provider === null || url === null) {
      const { label, retired } = channelType(type)
      const params = { type: label.zh }
      const unknown = retired ? 'channel_retired' : 'channel_test_unsupported'
      const code = provider === null ? unknown : 'channel_incomplete'
      return { ok: false, code, params, elapsedMs: 0 }
    }
    const dialect = upstreamDialects[provider.dialect]
    const body = questionOf(dialect, mapped, parts.app.config.TEST_PROMPT)
    const request: UpstreamRequest = {
      url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'Gatehouse',
        ...provider.headers(from, to),
      },
      body: finished(provider, { channel: from, to }, body),
      firstByteTimeoutMs: TIMEOUT_MS,
      idleTimeoutMs: TIMEOUT_MS,
    }
    const answer = await ask(
      parts,
      sealedBy(provider, { channel: from, to }, overridden(request, from), parts.app.clock),
      signal,
    )
    const failed = (detail: string) => ({
      ok: false as const,
      code: 'channel_test_failed' as const,
      params: { detail },
      elapsedMs: elapsedMs(),
    })
    if (typeof answer === 'string') return failed(answer)
    const reading = answer.status === 200 ? dialect.look(answer.body, USAGE_TOKENS_MAX) : null
    if (reading?.kind !== 'ok') {
      const refusal = reading?.kind === 'error' ? hidden(reading.error, dialect) : answer
      const { status, message, type: word, code } = upstreamError(refusal, 'zh', from)
      return { ...failed(message), verdict: { status, type: word, code: String(code) } }
    }
    const text = dialect
      .textsOf(recordOr(parseJson(answer.body.toString('utf8'))))
      .map((part) => part.text)
      .join('')
    return { ok: true, text: text.slice(0, SHOWN_MAX), elapsedMs: elapsedMs() }
  }
}

/** An error in a good answer, as it would have come by itself. */
const hidden = (error: unknown, { name }: UpstreamDialect): UpstreamRefusal => ({
  status: hiddenStatus(error, name),
  body: Buffer.from(JSON.stringify({ error })),
})

function mappedModel(channel: ChannelRow, model: string): string {
  const mapping = parseJson(channel.model_mapping || '{}')
  const mapped: unknown =
    typeof mapping === 'object' && mapping !== null ? Reflect.get(mapping, model) : undefined
  return typeof mapped === 'string' && mapped !== '' ? mapped : model
}

/** Models that think before they answer take their limit under another name and need room for it. */
const THINKING = /^(?:o\d|gpt-[5-9]|gemini-(?:2\.5|[3-9]))/

function questionOf(dialect: UpstreamDialect, model: string, prompt: string): Buffer {
  const limit = THINKING.test(model) ? COMPLETION_TOKENS * 32 : COMPLETION_TOKENS
  const text = { kind: 'text', text: prompt, cache: null } as const
  const question = plainRequest([{ role: 'user', parts: [text] }])
  const asked = dialect.writeRequest(
    { ...question, maxCompletionTokens: limit },
    { model, isStream: false, asksForUsage: false },
  )
  return Buffer.from(JSON.stringify(asked))
}

function ask(
  { egress }: RelayParts,
  request: UpstreamRequest,
  signal: AbortSignal,
): Promise<UpstreamRefusal | string> {
  const { promise, resolve } = Promise.withResolvers<UpstreamRefusal | string>()
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
    onFailure: (failure) => resolve(FAILURES[failure]),
  })
  signal.addEventListener('abort', () => upstream.abort(), { once: true })
  return promise
}

const FAILURES = {
  unreachable: '无法连接上游 / the upstream cannot be reached',
  timeout: '上游没有及时回应 / the upstream did not answer in time',
  cut: '上游中断了回应 / the upstream broke off its answer',
  unsent: '测试被中止 / the test was ended',
  aborted: '测试被中止，或上游的回应过大 / the test was ended, or the answer is too large',
} as const
