import type { AnswerReader } from '../dialect/dialect.ts'
import { arrayOr, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { anthropicStatus } from '../dialect/error-words.ts'
import { AnthropicStreamReader, readAnthropicAnswer } from './read-answer.ts'
import { wroteNothing } from './usage.ts'

/**
 * Reasons of refusals that Anthropic does not charge if no text was written before; null is a
 * refusal without a category. Refusals with other reasons are charged like any answer. Sources:
 * Claude Platform release notes of June 2 and September 24, 2026; "Refusals and fallback", "How
 * refusals are billed".
 */
const UNBILLED: ReadonlySet<unknown> = new Set([null, 'cyber', 'general_harms'])

const isUnbilledRefusal = ({ content, stop_reason, stop_details }: JsonRecord): boolean =>
  stop_reason === 'refusal' &&
  Array.isArray(content) &&
  content.length === 0 &&
  UNBILLED.has(recordOr(stop_details).category ?? null)

/**
 * Calls by code that the model wrote in an earlier turn: no model runs, and the usage is zero.
 * Source: Anthropic's documentation, "Programmatic tool calling: token efficiency".
 */
const isCalledByCode = ({ content, usage }: JsonRecord): boolean => {
  const blocks = arrayOr(content).map(recordOr)
  return (
    blocks.length > 0 &&
    blocks.every(({ caller }) => textOr(recordOr(caller).type).startsWith('code_execution')) &&
    recordOr(usage).input_tokens === 0
  )
}

const isUnbilled = (message: JsonRecord): boolean =>
  (isUnbilledRefusal(message) || isCalledByCode(message)) && wroteNothing(recordOr(message.usage))

/** For Anthropic's own API; billing of other servers with this dialect is unknown. */
export const anthropicItself: AnswerReader = {
  readAnswer: (bytes) => readAnthropicAnswer(bytes, isUnbilled),
  readStream: () => new AnthropicStreamReader(isUnbilled),
  statusOf: anthropicStatus,
}
