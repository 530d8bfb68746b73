import type { Reading } from '../dialect/metering.ts'
import { recordOr, type JsonRecord } from '../json/json-value.ts'
import { AnthropicStream, lookAtMessage, textsOfMessage } from './stream.ts'
import { wroteNothing } from './usage.ts'

/**
 * Why Anthropic refuses without asking for anything, if nothing was written before: null is a
 * reason without a name. Other reasons are charged like any answer. Sources: Claude Platform
 * release notes of June 2 and September 24, 2026; "Refusals and fallback", "How refusals are
 * billed".
 */
const UNBILLED: ReadonlySet<unknown> = new Set([null, 'cyber', 'general_harms'])

const isUnbilled = ({ stop_reason, stop_details }: JsonRecord, usage: unknown): boolean =>
  stop_reason === 'refusal' &&
  UNBILLED.has(recordOr(stop_details).category ?? null) &&
  wroteNothing(recordOr(usage))

/** Answers of Anthropic itself; what others ask for whose servers speak alike is not known. */
export const anthropicItself: Reading = {
  name: 'anthropic',
  look: (bytes, tokensMax) => lookAtMessage(bytes, tokensMax, isUnbilled),
  textsOf: textsOfMessage,
  follow: (tokensMax) => new AnthropicStream(tokensMax, isUnbilled),
}
