import { costOf } from '../ledger/price.ts'
import type { AttemptOutcome } from './attempt.ts'
import { arrayOr, isRecord, parseJson, recordOr, type JsonRecord } from './json/json-value.ts'
import {
  settlementOf,
  writeHead,
  type Charge,
  type RelayCall,
  type RelayParts,
} from './relay-call.ts'
import { costHeaders, STREAM_HEADERS } from './send-answer.ts'
import { costComment, endOfStream } from './stream-end.ts'
import { measureAnswer, type Answer, type Prompt } from './whole-answer.ts'

/**
 * Some upstreams ignore `stream: true` and answer with one JSON text. A client that asked for a
 * stream gets one: the whole answer as its first event, then the end.
 */
export async function relayJsonAsStream(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  plan: { answer: Answer; prompt: Prompt; wantsUsage: boolean; wantsCost: boolean },
): Promise<AttemptOutcome> {
  const measured = await measureAnswer(parts, call, charge, plan)
  if ('kind' in measured) return measured
  const { body, used, source } = measured
  const settled = await parts.app.ledger.settle(settlementOf(parts, call, charge, { used, source }))
  const charged = settled?.charged ?? costOf(charge.price, used)
  parts.metrics.relayed({
    outcome: 'answered',
    channelId: charge.channel.id,
    elapsedMs: parts.app.clock.monotonicMs() - call.startedMs,
    quota: charged,
  })
  if (call.isGone) return { kind: 'abandoned' }
  writeHead(call, 200, [
    ...STREAM_HEADERS,
    ...costHeaders(parts, call, charge, { quota: charged, remaining: settled?.userQuota ?? null }),
  ])
  const events = eventsOf(recordOr(parseJson(body.toString('utf8'))), plan.wantsUsage)
  const data = events.map((event) => `data: ${event}\n\n`).join('')
  const { language, requestId } = call
  const end = endOfStream('clean', { brokenOff: null, language, requestId })
  call.response.end(data + (plan.wantsCost ? costComment(charged) : '') + end)
  return { kind: 'answered' }
}

/**
 * A whole answer as the chunks it would have come in; chat messages become deltas, texts stay
 * texts.
 */
function eventsOf(answer: JsonRecord, wantsUsage: boolean): string[] {
  const { usage, choices, object, ...rest } = answer
  const isChat = object === 'chat.completion'
  const head = { ...rest, object: isChat ? 'chat.completion.chunk' : object }
  const first = {
    ...head,
    choices: arrayOr(choices).map((choice) => (isRecord(choice) ? chunkChoice(choice) : choice)),
  }
  const events = [JSON.stringify(first)]
  if (wantsUsage && usage !== undefined) {
    events.push(JSON.stringify({ ...head, choices: [], usage }))
  }
  return events
}

function chunkChoice({ message, ...choice }: JsonRecord): JsonRecord {
  if (!isRecord(message)) return choice
  const calls = message['tool_calls']
  const delta = Array.isArray(calls)
    ? {
        ...message,
        // In a stream each call carries its place.
        tool_calls: calls.map((call, index) => (isRecord(call) ? { index, ...call } : call)),
      }
    : message
  return { ...choice, delta }
}
