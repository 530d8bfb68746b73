import { channelType, trimBaseUrl, upstreamUrl } from '../../contract/channel-types.ts'
import type { ErrorCode, ErrorParams } from '../../contract/errors.ts'
import type { ChannelRow } from '../db/schema.ts'
import { answerTexts } from './openai/openai-chunk.ts'
import { readAnswer } from './openai/openai-answer.ts'
import { parseJson } from './json/json-value.ts'
import type { RelayParts } from './relay-call.ts'
import { secretsOf, upstreamError } from './relay-error.ts'
import { callUpstream } from './transport/upstream-call.ts'
import { USAGE_TOKENS_MAX } from './whole-answer.ts'

export type ProbeResult =
  | { ok: true; text: string; elapsedMs: number }
  | { ok: false; code: ErrorCode; params: ErrorParams; elapsedMs: number }

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
    const base = trimBaseUrl(channel.base_url ?? '')
    const url = upstreamUrl(channel.type, base, '/v1/chat/completions', mapped)
    if (url === null) {
      const type = channelType(channel.type).label.zh
      return { ok: false, code: 'channel_test_unsupported', params: { type }, elapsedMs: 0 }
    }
    const body = questionOf(mapped, parts.app.config.TEST_PROMPT)
    const answer = await ask(parts, channel, { url, body, signal })
    const failed = (detail: string): ProbeResult => ({
      ok: false,
      code: 'channel_test_failed',
      params: { detail },
      elapsedMs: elapsedMs(),
    })
    if (typeof answer === 'string') return failed(answer)
    const { status } = answer
    const reading = status === 200 ? readAnswer(answer.body, USAGE_TOKENS_MAX) : null
    if (reading?.kind !== 'ok') {
      const { message } = upstreamError(
        answer,
        'zh',
        secretsOf({ key: channel.key, baseUrl: base }),
      )
      return failed(message)
    }
    const text = answerTexts(parseJson(answer.body.toString('utf8')))
      .map((part) => part.text)
      .join('')
    return { ok: true, text: text.slice(0, SHOWN_MAX), elapsedMs: elapsedMs() }
  }
}

function mappedModel(channel: ChannelRow, model: string): string {
  const mapping = parseJson(channel.model_mapping || '{}')
  const mapped: unknown =
    typeof mapping === 'object' && mapping !== null ? Reflect.get(mapping, model) : undefined
  return typeof mapped === 'string' && mapped !== '' ? mapped : model
}

/** Models that think before they answer take their limit under another name and need room for it. */
const THINKING = /^(o\d|gpt-[5-9])/

function questionOf(model: string, prompt: string): Buffer {
  const limit = THINKING.test(model)
    ? { max_completion_tokens: COMPLETION_TOKENS * 32 }
    : { max_tokens: COMPLETION_TOKENS }
  return Buffer.from(
    JSON.stringify({ model, messages: [{ role: 'user', content: prompt }], ...limit }),
  )
}

function ask(
  { egress }: RelayParts,
  channel: ChannelRow,
  { url, body, signal }: { url: string; body: Buffer; signal: AbortSignal },
): Promise<{ status: number; body: Buffer } | string> {
  const { promise, resolve } = Promise.withResolvers<{ status: number; body: Buffer } | string>()
  const chunks: Buffer[] = []
  let length = 0
  let status = 0
  const upstream = callUpstream(
    egress,
    {
      url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'accept-encoding': 'identity',
        authorization: `Bearer ${channel.key}`,
        'user-agent': 'Gatehouse',
      },
      body,
      firstByteTimeoutMs: TIMEOUT_MS,
      idleTimeoutMs: TIMEOUT_MS,
    },
    {
      onHead(answered) {
        status = answered
      },
      onData(chunk) {
        length += chunk.length
        if (length > ANSWER_BYTES_MAX) upstream.abort()
        else chunks.push(chunk)
      },
      onEnd: () => resolve({ status, body: Buffer.concat(chunks) }),
      onFailure: (failure) => resolve(FAILURES[failure]),
    },
  )
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
