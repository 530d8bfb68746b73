import {
  textEvent,
  type ChatEvent,
  type Finish,
  type FinishReason,
} from '../../protocols/canonical/chat-answer.ts'
import { objectText } from '../../protocols/canonical/arguments-text.ts'
import {
  checkedFigures,
  NO_FIGURES,
  NO_USAGE,
  usageOfParts,
  usageRefused,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../../protocols/canonical/token-usage.ts'
import type { AnswerReading, EventReport, StreamReader } from '../../protocols/dialect/dialect.ts'
import { readWhole } from '../../protocols/dialect/read-whole.ts'
import { arrayOr, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Reads Ollama's responses. In a stream each line is a whole response with a piece of the text; the
 * last has `done` and the usage. Source: Ollama's API reference, "Generate a chat completion" and
 * "Streaming".
 */
export const readOllamaAnswer = (bytes: Buffer): AnswerReading =>
  readWhole(bytes, new OllamaStreamReader(), (answer) =>
    MEMBERS.some((name) => name in answer) ? [{ ...answer, done: true }] : null,
  )

/** Members of a chat, of embeddings and of an error: a whole answer has one of them. */
const MEMBERS = ['message', 'embeddings', 'error']

/** Reads a stream line by line. Each tool call is complete in one line. */
export class OllamaStreamReader implements StreamReader {
  private calls = 0

  read(line: JsonRecord): EventReport {
    const { error, message, done } = line
    if (error !== undefined && error !== null) return { error }
    const { thinking, content, tool_calls } = recordOr(message)
    const events = [...textEvent('thinking', thinking), ...textEvent('text', content)]
    for (const call of arrayOr(tool_calls)) events.push(...this.readCall(recordOr(call)))
    if (done !== true) return { id: '', events }
    events.push({ kind: 'finish', choice: 0, finish: finishOf(line, this.calls > 0) })
    return { id: '', events, kind: 'last', usage: readOllamaUsage(line), isEnd: true }
  }

  private readCall({ id, function: called }: JsonRecord): ChatEvent[] {
    const { name, arguments: given } = recordOr(called)
    const call = this.calls
    this.calls += 1
    return [
      { kind: 'toolCall', choice: 0, call, id: textOr(id), name: textOr(name), signature: null },
      { kind: 'toolArguments', choice: 0, call, text: objectText(given) },
    ]
  }
}

const FINISHES: Readonly<Record<string, FinishReason>> = { length: 'length' }

/** Ollama reports `stop` after tool calls as well. */
function finishOf({ done_reason }: JsonRecord, hasCalls: boolean): Finish {
  const reason = FINISHES[textOr(done_reason)] ?? 'stop'
  return { reason: reason === 'stop' && hasCalls ? 'toolCalls' : reason, stopSequence: null }
}

/**
 * Ollama's usage may exclude a prompt that is still cached from the previous call; the gateway then
 * counts the prompt itself. Embeddings have no completion.
 */
function readOllamaUsage(answer: JsonRecord): UsageReading {
  const { prompt_eval_count: prompt, eval_count: completion } = answer
  const figures = checkedFigures({ prompt, completion }, () => USAGE_TOKENS_MAX)
  if (typeof figures === 'string') return usageRefused(figures)
  if (figures.prompt === null) {
    const { completion: completionTokens } = figures
    if (!completionTokens) return NO_USAGE
    return { usage: null, fault: 'shape', notes: [], completionTokens }
  }
  if (figures.completion === null && !Array.isArray(answer.embeddings)) return usageRefused('shape')
  const parts = { freshTokens: figures.prompt, answerTokens: figures.completion ?? 0 }
  return usageOfParts({ ...NO_FIGURES, ...parts }, USAGE_TOKENS_MAX)
}
