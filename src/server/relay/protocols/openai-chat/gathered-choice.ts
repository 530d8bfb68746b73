import { madeId } from '../canonical/tool-calls.ts'
import type { ChatEvent } from '../canonical/chat-answer.ts'
import type { Signature } from '../canonical/chat-request.ts'
import {
  arrayOr,
  isRecord,
  present,
  recordOr,
  textOr,
  type JsonRecord,
  append,
} from '../../json/json-value.ts'
import { isCustomCall, isFunctionCall } from './read-answer.ts'
import { isOfMinimax } from './thinking/reasoning.ts'
import { writeCall } from './write-answer.ts'

const CALLING: ReadonlySet<string> = new Set(['tool_calls', 'function_call'])

interface GatheredCall {
  id: string
  name: string
  signature: Signature | null
  text: string
}

/** Members of a delta that are read as events; all other members are joined by type. */
const HEARD: ReadonlySet<string> = new Set([
  'role',
  'content',
  'refusal',
  'reasoning',
  'reasoning_content',
  'tool_calls',
  'function_call',
])

/**
 * Joins one choice of a completion from its chunks: text, reasoning and tool calls from the
 * normalized events, all other members from the chunks themselves.
 */
export class GatheredChoice {
  private content = ''
  private refusal = ''
  private thought = ''
  private thoughtName = 'reasoning_content'
  private readonly calls: GatheredCall[] = []
  /** Calls of custom tools, by index. */
  private readonly customCalls = new Map<unknown, JsonRecord>()
  /** The choice uses `function_call`, the predecessor of `tool_calls`. */
  private callsFunction = false
  private readonly beside: JsonRecord = {}
  /** Text of a legacy completion; null for a chat, whose choices have deltas. */
  private text: string | null = null
  private hasDelta = false
  private members: JsonRecord = {}
  private readonly probabilities: JsonRecord = {}
  private readonly details: JsonRecord[] = []
  private finish = ''

  add({ index: _index, delta, message: _message, text, ...members }: JsonRecord): void {
    // Together sends the text of a delta a second time as `text`.
    this.hasDelta ||= isRecord(delta)
    if (typeof text === 'string') this.text = (this.text ?? '') + text
    const { finish_reason: finish, logprobs, ...others } = present(members)
    this.finish = textOr(finish) || this.finish
    this.members = { ...this.members, ...others }
    this.addProbabilities(recordOr(logprobs))
    this.addDelta(recordOr(delta))
  }

  hear(event: ChatEvent): void {
    switch (event.kind) {
      case 'text':
        this.content += event.text
        break
      case 'refusal':
        this.refusal += event.text
        break
      case 'thinking':
        this.thought += event.text
        break
      case 'toolCall':
        this.calls[event.call] = { ...event, text: '' }
        break
      case 'toolArguments': {
        const call = this.calls[event.call]
        if (call !== undefined) call.text += event.text
        break
      }
      default:
    }
  }

  /** `seed`: unique to the choice, to make ids for calls without one. */
  whole(seed: string): JsonRecord {
    for (const [index, call] of this.calls.entries()) call.id ||= madeId(`${seed} ${index}`)
    const { text, probabilities } = this
    const hasProbabilities = Object.keys(probabilities).length > 0
    return {
      ...(text === null || this.hasDelta ? { message: this.message() } : { text }),
      ...this.members,
      ...(hasProbabilities ? { logprobs: probabilities } : {}),
      finish_reason: this.finishReason(),
    }
  }

  private addProbabilities(logprobs: JsonRecord): void {
    for (const [name, value] of Object.entries(logprobs)) {
      if (Array.isArray(value)) append(this.probabilities, name, value)
      else this.probabilities[name] = value
    }
  }

  private addDelta(delta: JsonRecord): void {
    this.callsFunction ||= isFunctionCall(delta.function_call)
    for (const call of arrayOr(delta.tool_calls).map(recordOr).filter(isCustomCall)) {
      const { index, ...members } = call
      this.customCalls.set(index, joinedCustomCall(this.customCalls.get(index), members))
    }
    if (textOr(delta.reasoning) !== '' && textOr(delta.reasoning_content) === '') {
      this.thoughtName = 'reasoning'
    }
    for (const [name, value] of Object.entries(present(delta))) {
      if (HEARD.has(name)) continue
      if (name === 'audio' && isRecord(value)) {
        this.beside.audio = joinedSound(this.beside.audio, value)
      } else if (name === 'reasoning_details') this.addDetails(delta)
      else if (Array.isArray(value)) append(this.beside, name, value)
      else this.beside[name] = value
    }
  }

  /**
   * Joins the pieces of one thought into one detail; MiniMax may repeat the whole text with each
   * piece.
   */
  private addDetails(delta: JsonRecord): void {
    const { details } = this
    for (const detail of arrayOr(delta.reasoning_details).map(recordOr)) {
      const last = recordOr(details.at(-1))
      const goesOn =
        details.length > 0 &&
        last.type === detail.type &&
        last.index === detail.index &&
        CONTINUED.some((name) => typeof detail[name] === 'string') &&
        textOr(last.signature) === ''
      if (!goesOn) details.push(detail)
      else details[details.length - 1] = joinedDetail(last, detail, isOfMinimax(delta))
    }
  }

  private message(): JsonRecord {
    const { content, refusal, thought } = this
    const saysNothing = content === '' && (this.hasCalls() || refusal !== '')
    return {
      role: 'assistant',
      content: saysNothing ? null : content,
      ...(refusal === '' ? {} : { refusal }),
      ...(thought === '' ? {} : { [this.thoughtName]: thought }),
      ...(this.details.length === 0 ? {} : { reasoning_details: this.details }),
      ...this.beside,
      ...this.called(),
    }
  }

  private called(): JsonRecord {
    const [first] = this.calls
    if (!this.hasCalls()) return {}
    if (this.callsFunction && first !== undefined) {
      return { function_call: { name: first.name, arguments: first.text } }
    }
    const calls = this.calls.map((call) => writeCall(call, call.text))
    return { tool_calls: [...calls, ...this.customCalls.values()] }
  }

  private hasCalls(): boolean {
    return this.calls.length > 0 || this.customCalls.size > 0
  }

  /**
   * Makes the finish reason match the calls: some servers report calls that they did not send, or
   * an ordinary end after calls.
   */
  private finishReason(): string {
    const finish = this.finish === '' ? 'stop' : this.finish
    if (!this.hasCalls()) return CALLING.has(finish) ? 'stop' : finish
    if (finish !== 'stop') return finish
    return this.callsFunction ? 'function_call' : 'tool_calls'
  }
}

/** Members of a detail whose text arrives in pieces. */
const CONTINUED = ['text', 'summary'] as const

function joinedDetail(before: JsonRecord, piece: JsonRecord, mayRepeat: boolean): JsonRecord {
  const joined = { ...before, ...present(piece) }
  for (const name of CONTINUED) {
    const [said, next] = [textOr(before[name]), textOr(piece[name])]
    if (said === '') continue
    joined[name] = mayRepeat && next.startsWith(said) ? next : said + next
  }
  return joined
}

function joinedCustomCall(before: JsonRecord = {}, piece: JsonRecord): JsonRecord {
  const [begun, next] = [recordOr(before.custom), recordOr(piece.custom)]
  const input = textOr(begun.input) + textOr(next.input)
  return { ...before, ...present(piece), custom: { ...begun, ...present(next), input } }
}

/** Joins audio: its data and transcript arrive in pieces, all other members once. */
function joinedSound(before: unknown, piece: JsonRecord): JsonRecord {
  const { data, transcript } = recordOr(before)
  return {
    ...recordOr(before),
    ...piece,
    data: textOr(data) + textOr(piece.data),
    transcript: textOr(transcript) + textOr(piece.transcript),
  }
}
