import { AppError } from '../app-error.ts'
import { costOf, type UsedTokens } from '../ledger/price.ts'
import type { AttemptOutcome } from './attempt.ts'
import { mayRetryStatus, saysModelMissing } from './attempt.ts'
import { inflate } from './inflate.ts'
import { parseJson } from './json-value.ts'
import { readAnswer } from './openai-answer.ts'
import { answerTexts } from './openai-chunk.ts'
import { sendAnswer } from './send-answer.ts'
import {
  settlementOf,
  type Charge,
  type RelayCall,
  type RelayParts,
  type UsageSource,
} from './relay-call.ts'
import { ownError, upstreamError } from './relay-error.ts'
import { callUpstream, type UpstreamFailure, type UpstreamRequest } from './upstream-call.ts'

/** A call whose answer comes in one piece. */

/** Bytes of an answer that are taken; embeddings of a large batch are tens of megabytes. */
export const ANSWER_BYTES_MAX = 128 * 1024 * 1024
/** What a model can plausibly have read or written: ten times the largest context on offer. */
export const USAGE_TOKENS_MAX = 20_000_000

export interface Prompt {
  /** Counts the prompt exactly; only asked when the upstream does not say. */
  count(): number | Promise<number>
}

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** Sends the request, waits for the whole answer, settles, and only then answers the client. */
export async function relayWhole(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  { request, prompt }: { request: UpstreamRequest; prompt: Prompt },
): Promise<AttemptOutcome> {
  const sentMs = parts.app.clock.monotonicMs()
  const answer = await fetchWhole(parts, call, request)
  call.upstreamMs += parts.app.clock.monotonicMs() - sentMs
  if (typeof answer === 'string') return failed(parts, call, charge, { failure: answer, prompt })
  if (answer.status < 200 || answer.status >= 300) {
    return refused(call, charge, answer)
  }
  const measured = await measureAnswer(parts, call, charge, { answer, prompt })
  if ('kind' in measured) return measured
  await settleAndSend(parts, call, charge, { answer, ...measured })
  return { kind: 'answered' }
}

export interface MeasuredAnswer {
  body: Buffer
  used: UsedTokens
  source: UsageSource
}

/** What a whole answer with a good status holds and what it used, or why it is none. */
export async function measureAnswer(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  { answer, prompt }: { answer: Answer; prompt: Prompt },
): Promise<MeasuredAnswer | AttemptOutcome> {
  const body = await decoded(answer)
  const reading = body === null ? { kind: 'malformed' as const } : readAnswer(body, USAGE_TOKENS_MAX)
  if (body === null || reading.kind === 'malformed') {
    const error = ownError(new AppError('upstream_answer_invalid'), call.language)
    return { kind: 'failed', error, mayRetry: true, cause: 'answer' }
  }
  if (reading.kind === 'error') {
    // HTTP 200 with an error inside is a failure like any other; its status is the gateway's.
    return refused(call, charge, { ...answer, status: 502, body })
  }
  const { usage } = reading.usage
  return usage === null
    ? { body, used: await countAnswer(parts, charge, body, prompt), source: 'counted' }
    : { body, used: usage, source: 'upstream' }
}

/** The answer, or why there is none. A client that goes away gives up the upstream while it is silent. */
function fetchWhole(
  { egress, abortLater }: RelayParts,
  call: RelayCall,
  request: UpstreamRequest,
): Promise<Answer | UpstreamFailure> {
  const { promise, resolve } = Promise.withResolvers<Answer | UpstreamFailure>()
  const chunks: Buffer[] = []
  let length = 0
  let head: Omit<Answer, 'body'> | null = null
  const upstream = callUpstream(egress, request, {
    onHead(status, headers) {
      head = { status, headers }
      // The answer has been made and will be paid for: take it, whoever is still there.
      call.onGone = () => {}
    },
    onData(chunk) {
      chunks.push(chunk)
      length += chunk.length
      if (length > ANSWER_BYTES_MAX) upstream.abort()
    },
    onEnd() {
      const [first] = chunks
      const body = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
      resolve(head === null ? 'cut' : { ...head, body })
    },
    onFailure(failure) {
      resolve(length > ANSWER_BYTES_MAX ? 'cut' : failure)
    },
  })
  call.onGone = () => abortLater(() => upstream.abort())
  if (call.isGone) call.onGone()
  return promise
}

/** No answer. What a client that left in the meantime has caused is its own: the prompt is charged. */
async function failed(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  { failure, prompt }: { failure: UpstreamFailure; prompt: Prompt },
): Promise<AttemptOutcome> {
  if (call.isGone) {
    const used = { promptTokens: await prompt.count(), cachedTokens: 0, completionTokens: 0 }
    await parts.app.ledger.settle(settlementOf(parts, call, charge, { used, source: 'counted' }))
    return { kind: 'abandoned' }
  }
  const code =
    failure === 'timeout'
      ? 'upstream_timeout'
      : failure === 'cut'
        ? 'upstream_cut'
        : 'upstream_unreachable'
  const error = ownError(new AppError(code), call.language)
  // A broken connection or silence before the answer was complete: nothing has reached the client.
  return { kind: 'failed', error, mayRetry: true, cause: failure === 'timeout' ? 'timeout' : 'network' }
}

export function refused(call: RelayCall, { channel }: Charge, answer: Answer): AttemptOutcome {
  const retryAfter = answer.headers['retry-after']
  const error = upstreamError(
    {
      status: answer.status,
      body: answer.body,
      ...(typeof retryAfter === 'string' ? { retryAfter } : {}),
    },
    call.language,
    [channel.key, channel.baseUrl],
  )
  // A redirect is no answer to a client of ours, who could not follow it.
  const status = error.status >= 400 ? error.status : 502
  return {
    kind: 'failed',
    error: { ...error, status },
    mayRetry: mayRetryStatus(status, saysModelMissing(error)),
    cause: 'status',
  }
}

/** The body without its compression; null when it cannot be read or is larger than what is taken. */
async function decoded({ headers, body }: Answer): Promise<Buffer | null> {
  const encoding = headers['content-encoding']
  if (encoding === undefined) return body
  const inflated = await inflate(body, String(encoding), ANSWER_BYTES_MAX)
  return typeof inflated === 'string' ? null : inflated
}

async function countAnswer(
  { counter }: RelayParts,
  { modelName }: Charge,
  body: Buffer,
  prompt: Prompt,
): Promise<UsedTokens> {
  const completion = counter.countCompletion(modelName)
  for (const text of answerTexts(parseJson(body.toString('utf8')))) completion.add(text)
  return {
    promptTokens: await prompt.count(),
    cachedTokens: 0,
    completionTokens: await completion.total(),
  }
}

async function settleAndSend(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  { answer, body, used, source }: { answer: Answer; body: Buffer; used: UsedTokens; source: UsageSource },
): Promise<void> {
  const settled = await parts.app.ledger.settle(
    settlementOf(parts, call, charge, { used, source }),
  )
  const charged = settled?.charged ?? costOf(charge.price, used)
  parts.metrics.relayed({
    outcome: 'answered',
    channelId: charge.channel.id,
    elapsedMs: parts.app.clock.monotonicMs() - call.startedMs,
    quota: charged,
  })
  sendAnswer(parts, call, charge, {
    contentType: answer.headers['content-type'],
    body,
    charged,
    remaining: settled?.userQuota ?? null,
  })
}
