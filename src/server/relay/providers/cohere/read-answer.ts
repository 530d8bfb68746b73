import {
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  finishNamed,
  type FinishReason,
  textEvent,
} from '../../canonical/chat-answer.ts'
import { objectText } from '../../canonical/arguments-text.ts'
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

function readCall(call: JsonRecord): AnswerPart & { kind: 'toolCall' } {
  const called = recordOr(call.function)
  return {
    kind: 'toolCall',
    id: textOr(call.id),
    name: textOr(called.name),
    argumentsJson: objectText(called.arguments),
    signature: null,
  }
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  TOOL_CALL: 'toolCalls',
  ERROR_TOXIC: 'filtered',
}

/**
 * Event by event. Calls are numbered as they begin. Arguments that do not begin as an object are
 * held back until the call ends: they are `null`, or nothing, for "no arguments".
 */
export class CohereStreamReader implements StreamReader {
  private calls = -1
  /** Arguments that are held back; null if those of the open call are passed on. */
  private held: string | null = null

  read(event: JsonRecord): ChatEvent[] {
    const delta = recordOr(event.delta)
    const message = recordOr(delta.message)
    switch (event.type) {
      case 'message-start':
        return [{ kind: 'start', id: textOr(event.id) }]
      case 'content-start':
      case 'content-delta': {
        const { text, thinking } = recordOr(message.content)
        return [...textEvent('thinking', thinking), ...textEvent('text', text)]
      }
      case 'tool-plan-delta':
        return textEvent('thinking', message.tool_plan)
      case 'tool-call-start': {
        const ended = this.endCall()
        this.calls += 1
        this.held = ''
        const { id, name } = readCall(recordOr(message.tool_calls))
        const call = this.calls
        return [
          ...ended,
          { kind: 'toolCall', choice: 0, call, id, name, signature: null },
          ...this.readArguments(message),
        ]
      }
      case 'tool-call-delta':
        return this.readArguments(message)
      case 'tool-call-end':
        return this.endCall()
      case 'message-end': {
        const finish = finishNamed(FINISHES, delta.finish_reason)
        return [...this.endCall(), { kind: 'finish', choice: 0, finish }]
      }
      default:
        return []
    }
  }

  private readArguments({ tool_calls: call }: JsonRecord): ChatEvent[] {
    const text = textOr(recordOr(recordOr(call).function).arguments)
    if (this.held === null) return this.argumentsEvent(text)
    const held = this.held + text
    const isObject = held.trimStart().startsWith('{')
    this.held = isObject ? null : held
    return isObject ? this.argumentsEvent(held) : []
  }

  private endCall(): ChatEvent[] {
    const { held } = this
    this.held = null
    return held === null ? [] : this.argumentsEvent(objectText(held))
  }

  private argumentsEvent(text: string): ChatEvent[] {
    if (text === '' || this.calls < 0) return []
    return [{ kind: 'toolArguments', choice: 0, call: this.calls, text }]
  }
}
