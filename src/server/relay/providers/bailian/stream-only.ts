import type { ChatEvent } from '../../canonical/chat-answer.ts'
import { USAGE_TOKENS_MAX } from '../../canonical/token-usage.ts'
import { serverSentEvents } from '../../transport/wire.ts'
import { memberValue, scanAnswer } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import {
  arrayOr,
  isRecord,
  present,
  recordOr,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import { choiceIndex } from '../../openai/openai-chunk.ts'
import { OpenaiStreamReader } from '../../openai/read-answer.ts'
import { SseReader } from '../../transport/sse.ts'
import { OpenaiStream } from '../../openai/stream-outcome.ts'
import { StepFailed, type Walk } from '../../transport/upstream-steps.ts'
import { gathered } from '../../transport/json-steps.ts'

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

const gather = gathered(serverSentEvents, gatheredCompletion)

/** A request that asks for a stream, put together; any other as it is. */
export const gatherStream: Walk = (steps, request) => {
  const body = request.body === null ? null : scanAnswer(request.body)
  const asksForStream = body !== null && memberValue(body, 'stream') === true
  return asksForStream ? gather(steps, request) : steps.fetch(request)
}

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
    if (chunk.value === null) continue
    answer.head ??= chunk.value
    answer.usage = chunk.usage ?? answer.usage
    for (const piece of reader.read(chunk.value)) answer.add(piece)
    answer.addBeside(chunk.value)
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
  private readonly choices = new Map<number, GatheredChoice>()

  add(event: ChatEvent): void {
    if ('choice' in event) this.choice(event.choice).add(event)
  }

  /** Members of a chunk that canonical events cannot carry: sound, log probabilities. */
  addBeside(chunk: JsonRecord): void {
    for (const choice of arrayOr(chunk.choices).map(recordOr)) {
      this.choice(choiceIndex(choice)).addBeside(choice)
    }
  }

  completion(): JsonRecord {
    const { id, created, model } = this.head ?? {}
    const choices = [...this.choices]
      .toSorted(([one], [other]) => one - other)
      .map(([index, choice]) => ({ index, ...choice.completion() }))
    const head = { id, object: 'chat.completion', created, model, choices }
    return this.usage === undefined ? head : { ...head, usage: this.usage }
  }

  private choice(index: number): GatheredChoice {
    const choice = this.choices.get(index) ?? new GatheredChoice()
    this.choices.set(index, choice)
    return choice
  }
}

class GatheredChoice {
  private content = ''
  private thought = ''
  private finish: keyof typeof FINISHES = 'stop'
  private readonly calls: { id: string; name: string; text: string }[] = []
  private sound: JsonRecord | null = null
  private readonly probabilities: unknown[] = []

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

  addBeside({ delta, logprobs }: JsonRecord): void {
    this.probabilities.push(...arrayOr(recordOr(logprobs).content))
    const { audio } = recordOr(delta)
    if (!isRecord(audio)) return
    const { data, transcript } = this.sound ?? {}
    this.sound = {
      ...this.sound,
      ...audio,
      data: textOr(data) + textOr(audio.data),
      transcript: textOr(transcript) + textOr(audio.transcript),
    }
  }

  completion(): JsonRecord {
    const message = {
      role: 'assistant',
      content: this.content,
      ...(this.thought === '' ? {} : { reasoning_content: this.thought }),
      ...(this.calls.length === 0 ? {} : { tool_calls: this.toolCalls() }),
      ...present({ audio: this.sound }),
    }
    const logprobs = this.probabilities.length === 0 ? null : { content: this.probabilities }
    return { message, ...present({ logprobs }), finish_reason: FINISHES[this.finish] }
  }

  private toolCalls(): JsonRecord[] {
    return this.calls.map(({ id, name, text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    }))
  }
}
