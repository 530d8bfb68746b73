import {
  textEvent,
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  type Finish,
  type FinishReason,
} from '../../canonical/chat-answer.ts'
import { objectText } from '../../canonical/arguments-text.ts'
import {
  checkedFigures,
  NO_FIGURES,
  NO_USAGE,
  usageOfParts,
  usageRefused,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../../canonical/token-usage.ts'
import type { AnswerReading, DeltaText, StreamReader } from '../../dialect/dialect.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import type { EventReport } from '../../dialect/followed-stream.ts'
import { Lane, laneText, toolText } from '../../dialect/lane.ts'

/**
 * Ollama's answers. A stream is a line for every piece, each a whole answer with a little text in
 * it; the last has `done` and the figures. Source: Ollama's API reference, "Generate a chat
 * completion" and "Streaming".
 */
export function readOllamaAnswer(answer: JsonRecord): ChatAnswer {
  const calls = callsOf(answer)
  return {
    id: '',
    choices: [
      {
        parts: [...partsOf(recordOr(answer.message)), ...calls],
        finish: finishOf(answer, calls.length > 0),
      },
    ],
    usage: readOllamaUsage(answer, USAGE_TOKENS_MAX).usage,
  }
}

function partsOf({ thinking, content }: JsonRecord): AnswerPart[] {
  const thought = textOr(thinking)
  const text = textOr(content)
  return [
    ...(thought === ''
      ? []
      : [{ kind: 'thinking' as const, text: thought, signature: null, redacted: null }]),
    ...(text === '' ? [] : [{ kind: 'text' as const, text }]),
  ]
}

type CallPart = AnswerPart & { kind: 'toolCall' }

function callsOf({ message }: JsonRecord): CallPart[] {
  return arrayOr(recordOr(message).tool_calls).map((sent) => {
    const call = recordOr(sent)
    const { name, arguments: given } = recordOr(call.function)
    return {
      kind: 'toolCall',
      id: textOr(call.id),
      name: textOr(name),
      argumentsJson: objectText(given),
      signature: null,
    }
  })
}

const FINISHES: Readonly<Record<string, FinishReason>> = { length: 'length' }

/** It says `stop` after calls as well. */
function finishOf({ done_reason }: JsonRecord, hasCalls: boolean): Finish {
  const reason = FINISHES[textOr(done_reason)] ?? 'stop'
  return { reason: reason === 'stop' && hasCalls ? 'toolCalls' : reason, stopSequence: null }
}

/**
 * A prompt that was kept from the call before may be left out of the figures: it is counted here.
 * Embeddings produce nothing.
 */
function readOllamaUsage(answer: JsonRecord, tokensMax: number): UsageReading {
  const { prompt_eval_count: prompt, eval_count: completion } = answer
  const figures = checkedFigures({ prompt, completion }, () => tokensMax)
  if (typeof figures === 'string') return usageRefused(figures)
  if (figures.prompt === null) {
    const { completion: completionTokens } = figures
    if (!completionTokens) return NO_USAGE
    return { usage: null, fault: 'shape', notes: [], completionTokens }
  }
  if (figures.completion === null && !Array.isArray(answer.embeddings)) return usageRefused('shape')
  const parts = { freshTokens: figures.prompt, answerTokens: figures.completion ?? 0 }
  return usageOfParts({ ...NO_FIGURES, ...parts }, tokensMax)
}

export function lookAtOllama(bytes: Buffer, tokensMax: number): AnswerReading {
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return { kind: 'malformed' }
  if (isError(answer)) return { kind: 'error', error: answer.error }
  return { kind: 'ok', usage: readOllamaUsage(answer, tokensMax) }
}

const isError = ({ error }: JsonRecord): boolean => error !== undefined && error !== null

export function textsOfOllama(answer: JsonRecord): DeltaText[] {
  const { content, thinking, tool_calls } = recordOr(answer.message)
  return [
    ...laneText(Lane.thinking, thinking),
    ...laneText(Lane.text, content),
    ...arrayOr(tool_calls).flatMap((call) => {
      const { name, arguments: given } = recordOr(recordOr(call).function)
      return toolText(Lane.call, name, JSON.stringify(recordOr(given)))
    }),
  ]
}

/** What the relay needs to know of one line. */
export function inspectOllama(line: JsonRecord, tokensMax: number): EventReport {
  if (isError(line)) return { error: line.error }
  const texts = textsOfOllama(line)
  if (line.done !== true) return { texts }
  const usage = readOllamaUsage(line, tokensMax)
  return { kind: 'last', texts, usage, isFinish: true, isEnd: true }
}

/** Line by line. Calls come whole. */
export class OllamaStreamReader implements StreamReader {
  private hasStarted = false
  private calls = 0

  read(line: JsonRecord): ChatEvent[] {
    const events: ChatEvent[] = []
    if (!this.hasStarted) events.push({ kind: 'start', id: '' })
    this.hasStarted = true
    const { thinking, content } = recordOr(line.message)
    events.push(...textEvent('thinking', thinking), ...textEvent('text', content))
    for (const { id, name, argumentsJson } of callsOf(line)) {
      const call = this.calls
      this.calls += 1
      events.push(
        { kind: 'toolCall', choice: 0, call, id, name, signature: null },
        { kind: 'toolArguments', choice: 0, call, text: argumentsJson },
      )
    }
    if (line.done === true) {
      events.push({ kind: 'finish', choice: 0, finish: finishOf(line, this.calls > 0) })
    }
    return events
  }
}
