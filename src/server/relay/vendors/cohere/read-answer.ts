import {
  type ChatEvent,
  finishNamed,
  type FinishReason,
  textEvent,
} from '../../protocols/canonical/chat-answer.ts'
import { objectText } from '../../protocols/canonical/arguments-text.ts'
import { CallAssembly, type AssembledCall } from '../../protocols/canonical/tool-calls.ts'
import type { AnswerReading, EventReport, StreamReader } from '../../protocols/dialect/dialect.ts'
import { readWhole } from '../../protocols/dialect/read-whole.ts'
import { arrayOr, isRecord, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { readCohereUsage } from './usage.ts'

/**
 * Reads Cohere's responses, whole or streamed. Source: Cohere's API reference, v2, "Chat" and "Chat
 * with streaming". `tool_plan` is read as reasoning.
 */
export const readCohereAnswer = (bytes: Buffer): AnswerReading =>
  readWhole(bytes, new CohereStreamReader(), eventsOf)

/**
 * Splits a whole response into events; embeddings report usage in `meta`. Null if it is neither a
 * message nor embeddings.
 */
function eventsOf(answer: JsonRecord): JsonRecord[] | null {
  // `message` is an object in a successful response and a text in an error.
  if (typeof answer.message === 'string') return [{ ...answer, type: undefined }]
  const { id, message, finish_reason, usage = answer.meta } = answer
  if (!isRecord(message) && !isRecord(answer.embeddings)) return null
  const { tool_plan, content, tool_calls } = recordOr(message)
  const deltas = [
    ['tool-plan-delta', { tool_plan }] as const,
    ...arrayOr(content).map((part) => ['content-delta', { content: part }] as const),
    ...arrayOr(tool_calls).map((call) => ['tool-call-start', { tool_calls: call }] as const),
  ]
  return [
    { type: 'message-start', id },
    ...deltas.map(([type, said], index) => ({ type, index, delta: { message: said } })),
    { type: 'message-end', delta: { finish_reason, usage } },
  ]
}

function pieceOf(call: JsonRecord): { id: string; name: string; args: string } {
  const { name, arguments: given } = recordOr(call.function)
  const args = isRecord(given) ? objectText(given) : textOr(given)
  return { id: textOr(call.id), name: textOr(name), args }
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  TOOL_CALL: 'toolCalls',
  ERROR_TOXIC: 'filtered',
}

/** Finish reasons of failed responses. */
const FAILURES: ReadonlySet<unknown> = new Set(['ERROR', 'TIMEOUT'])

const failureOf = (reason: unknown): unknown =>
  FAILURES.has(reason)
    ? { type: reason, message: `the model stopped: ${String(reason)}` }
    : undefined

/** Reads a stream event by event. Pieces of a tool call refer to its index. */
export class CohereStreamReader implements StreamReader {
  private readonly calls = new CallAssembly()
  private readonly begun = new Map<unknown, AssembledCall>()

  read(event: JsonRecord): EventReport {
    const { type } = event
    // Errors in a stream have no type.
    if (type === undefined && typeof event.message === 'string') return { error: event }
    if (type === 'message-start') return { id: textOr(event.id) }
    if (type !== 'message-end') return { events: this.eventsOf(event) }
    const delta = recordOr(event.delta)
    const error = delta.error ?? failureOf(delta.finish_reason)
    if (error !== undefined) return { error }
    const finish = finishNamed(FINISHES, delta.finish_reason)
    const events = [...this.calls.open(0), { kind: 'finish' as const, choice: 0, finish }]
    const usage = readCohereUsage(delta.usage)
    return { events, kind: 'last', usage, isEnd: true }
  }

  end(): ChatEvent[] {
    return this.calls.endAll()
  }

  private eventsOf({ type, index, delta }: JsonRecord): ChatEvent[] {
    const message = recordOr(recordOr(delta).message)
    switch (type) {
      case 'content-start':
      case 'content-delta': {
        const { text, thinking } = recordOr(message.content)
        return this.behindCalls([...textEvent('thinking', thinking), ...textEvent('text', text)])
      }
      case 'tool-plan-delta':
        return this.behindCalls(textEvent('thinking', message.tool_plan))
      case 'tool-call-start': {
        const opened = this.calls.open(0)
        const call = this.calls.begin(0)
        this.begun.set(index, call)
        return [...opened, ...this.calls.add(call, pieceOf(recordOr(message.tool_calls)))]
      }
      case 'tool-call-delta': {
        const call = this.begun.get(index)
        const { args } = pieceOf(recordOr(message.tool_calls))
        return call === undefined ? [] : this.calls.add(call, { args })
      }
      case 'tool-call-end': {
        const call = this.begun.get(index)
        return call === undefined ? [] : this.calls.end(call)
      }
      default:
        return []
    }
  }

  private behindCalls(said: ChatEvent[]): ChatEvent[] {
    return said.length === 0 ? [] : [...this.calls.open(0), ...said]
  }
}
