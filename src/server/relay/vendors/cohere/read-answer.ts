import {
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  finishNamed,
  type FinishReason,
  textEvent,
} from '../../canonical/chat-answer.ts'
import { objectText } from '../../canonical/arguments-text.ts'
import { CallAssembly, type AssembledCall } from '../../canonical/call-assembly.ts'
import { USAGE_TOKENS_MAX } from '../../canonical/token-usage.ts'
import type { StreamReader } from '../../dialect/dialect.ts'
import { arrayOr, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { readCohereUsage } from './usage.ts'

/**
 * Cohere's answers, whole or streamed. Source: Cohere's API reference, v2, "Chat" and "Chat with
 * streaming". What it plans to do with its tools counts as thought.
 */
export function readCohereAnswer(answer: JsonRecord): ChatAnswer {
  const message = recordOr(answer.message)
  const plan = textOr(message.tool_plan)
  return {
    id: textOr(answer.id),
    choices: [
      {
        parts: [
          ...(plan === '' ? [] : [thought(plan)]),
          ...arrayOr(message.content).flatMap((part) => readPart(recordOr(part))),
          ...arrayOr(message.tool_calls).map((call) => readCall(recordOr(call))),
        ],
        finish: finishNamed(FINISHES, answer.finish_reason),
      },
    ],
    usage: readCohereUsage(answer.usage, USAGE_TOKENS_MAX).usage,
  }
}

const thought = (text: string): AnswerPart => ({
  kind: 'thinking',
  text,
  signature: null,
  redacted: null,
})

function readPart({ type, text, thinking }: JsonRecord): AnswerPart[] {
  if (type === 'thinking') return textOr(thinking) === '' ? [] : [thought(textOr(thinking))]
  return textOr(text) === '' ? [] : [{ kind: 'text', text: textOr(text) }]
}

function pieceOf(call: JsonRecord): { id: string; name: string; args: string } {
  const { name, arguments: args } = recordOr(call.function)
  return { id: textOr(call.id), name: textOr(name), args: textOr(args) }
}

function readCall(call: JsonRecord): AnswerPart {
  const { id, name } = pieceOf(call)
  const argumentsJson = objectText(recordOr(call.function).arguments)
  return { kind: 'toolCall', id, name, argumentsJson, signature: null }
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  TOOL_CALL: 'toolCalls',
  ERROR_TOXIC: 'filtered',
}

/** Event by event. Pieces of a call name it by its index. */
export class CohereStreamReader implements StreamReader {
  private readonly calls = new CallAssembly()
  private readonly begun = new Map<unknown, AssembledCall>()

  read(event: JsonRecord): ChatEvent[] {
    const delta = recordOr(event.delta)
    const message = recordOr(delta.message)
    switch (event.type) {
      case 'message-start':
        return [{ kind: 'start', id: textOr(event.id) }]
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
        this.begun.set(event.index, call)
        return [...opened, ...this.calls.add(call, pieceOf(recordOr(message.tool_calls)))]
      }
      case 'tool-call-delta': {
        const call = this.begun.get(event.index)
        const { args } = pieceOf(recordOr(message.tool_calls))
        return call === undefined ? [] : this.calls.add(call, { args })
      }
      case 'tool-call-end': {
        const call = this.begun.get(event.index)
        return call === undefined ? [] : this.calls.end(call)
      }
      case 'message-end': {
        const finish = finishNamed(FINISHES, delta.finish_reason)
        return [...this.calls.open(0), { kind: 'finish', choice: 0, finish }]
      }
      default:
        return []
    }
  }

  end(): ChatEvent[] {
    return this.calls.endAll()
  }

  private behindCalls(said: ChatEvent[]): ChatEvent[] {
    return said.length === 0 ? [] : [...this.calls.open(0), ...said]
  }
}
