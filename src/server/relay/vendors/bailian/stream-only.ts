import { USAGE_TOKENS_MAX } from '../../canonical/token-usage.ts'
import { Gathering } from '../../gathering/gathering.ts'
import { memberValue, scanAnswer } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { GatheredCompletion } from '../../gathering/gathered-completion.ts'
import { OpenaiStream } from '../../openai/stream-outcome.ts'
import { gathered as gatheredBy } from '../../transport/json-steps.ts'
import { SseReader } from '../../transport/sse.ts'
import { StepFailed, type Walk } from '../../transport/upstream-steps.ts'
import { serverSentEvents } from '../../transport/wire.ts'

/**
 * Models that Bailian answers for in a stream only. A client that wants the whole answer gets it:
 * the stream is asked for, and put together. Source: Alibaba Cloud Model Studio, "OpenAI compatible
 *
 * - Chat", "Deep thinking", "Omni".
 */

/** What asks for the stream in a request that asks for none. */
export const streamEdits: readonly MemberEdit[] = [
  { set: 'stream', json: 'true' },
  { set: 'include_usage', inside: 'stream_options', json: 'true' },
]

const gather = gatheredBy(serverSentEvents, gatheredCompletion)

/** A request that asks for a stream, put together; any other as it is. */
export const gatherStream: Walk = (steps, request) => {
  const body = request.body === null ? null : scanAnswer(request.body)
  const asksForStream = body !== null && memberValue(body, 'stream') === true
  return asksForStream ? gather(steps, request) : steps.fetch(request)
}

/** A stream as one completion. Throws where it breaks off: half an answer is none. */
export function gatheredCompletion(bytes: Buffer): JsonRecord {
  const stream = new OpenaiStream(USAGE_TOKENS_MAX)
  const gathering = new Gathering(new SseReader(), stream, new GatheredCompletion())
  gathering.push(bytes)
  const gathered = gathering.end()
  if (gathered.kind === 'whole') return gathered.answer
  if (gathered.kind === 'error') return { error: gathered.error }
  throw new StepFailed('cut')
}
