import type { ChatEvent } from '../../canonical/chat-answer.ts'
import { USAGE_TOKENS_MAX } from '../../canonical/token-usage.ts'
import { serverSentEvents } from '../../dialect/wire.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { OpenaiStreamReader } from '../../openai/read-answer.ts'
import { SseReader } from '../../openai/sse.ts'
import { OpenaiStream } from '../../openai/stream-outcome.ts'
import { StepFailed } from '../../transport/upstream-steps.ts'
import { gathered } from '../rewritten.ts'

/**
 * Models that Bailian answers for in a stream only. A client that wants the whole answer gets it:
 * the stream is asked for, and put together. Source: Alibaba Cloud Model Studio, "OpenAI compatible
 *
 * - Chat", "Deep thinking", "Omni".
 */
const STREAM_ONLY = /^(?:qwq|qvq)|omni/i

export const streamsOnly = (model: string): boolean => STREAM_ONLY.test(model)

/** What asks for the stream in a request that asks for none. */
export const streamEdits: readonly MemberEdit[] = [
  { set: 'stream', json: 'true' },
  { set: 'include_usage', inside: 'stream_options', json: 'true' },
]

export const gather = gathered(serverSentEvents, gatheredCompletion)

/** A stream as one completion. Throws where it breaks off: half an answer is none. */
export function gatheredCompletion(bytes: Buffer): JsonRecord {
  const events = new SseReader()
  const stream = new OpenaiStream(USAGE_TOKENS_MAX)
  const reader = new OpenaiStreamReader()
  const answer = new Gathered()
  for (const event of events.push(bytes)) {
    if (event.data === null) continue
    const chunk = stream.read(event)
    stream.see(chunk)
    if (chunk.error !== undefined) return { error: chunk.error }
    if (chunk.value !== null) answer.head ??= chunk.value
    answer.usage = chunk.usage ?? answer.usage
    for (const piece of chunk.value === null ? [] : reader.read(chunk.value)) answer.add(piece)
  }
  const outcome = stream.outcome('end')
  if (outcome !== 'clean' && outcome !== 'usage-missing') throw new StepFailed('cut')
  return answer.completion()
}

const FINISHES = {
  stop: 'stop',
  length: 'length',
  toolCalls: 'tool_calls',
  filtered: 'content_filter',
} as const

class Gathered {
  head: JsonRecord | null = null
  usage: unknown = undefined
  private content = ''
  private thought = ''
  private finish: keyof typeof FINISHES = 'stop'
  private readonly calls: { id: string; name: string; text: string }[] = []

  add(event: ChatEvent): void {
    switch (event.kind) {
      case 'text':
        this.content += event.text
        break
      case 'thinking':
        this.thought += event.text
        break
      case 'toolCall':
        this.calls[event.call] = { id: event.id, name: event.name, text: '' }
        break
      case 'toolArguments': {
        const call = this.calls[event.call]
        if (call !== undefined) call.text += event.text
        break
      }
      case 'finish':
        this.finish = event.finish.reason
        break
      default:
    }
  }

  completion(): JsonRecord {
    const { id, created, model } = this.head ?? {}
    const message = {
      role: 'assistant',
      content: this.content,
      ...(this.thought === '' ? {} : { reasoning_content: this.thought }),
      ...(this.calls.length === 0 ? {} : { tool_calls: this.toolCalls() }),
    }
    const choice = { index: 0, message, finish_reason: FINISHES[this.finish] }
    const head = { id, object: 'chat.completion', created, model, choices: [choice] }
    return this.usage === undefined ? head : { ...head, usage: this.usage }
  }

  private toolCalls(): JsonRecord[] {
    return this.calls.map(({ id, name, text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    }))
  }
}
