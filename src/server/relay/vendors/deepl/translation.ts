import { textEvent } from '../../protocols/canonical/chat-answer.ts'
import type { ChatRequest, UserPart } from '../../protocols/canonical/chat-request.ts'
import { missingField, unsupportedField } from '../../protocols/canonical/reading.ts'
import {
  checkedFigures,
  countedUsage,
  NO_FIGURES,
  NO_USAGE,
  usageOfParts,
  usageRefused,
  USAGE_TOKENS_MAX,
  type TokenUsage,
  type UsageReading,
} from '../../protocols/canonical/token-usage.ts'
import type { AnswerReading, StreamReader, Target } from '../../protocols/dialect/dialect.ts'
import { cannotSay } from '../../protocols/dialect/field-names.ts'
import { withoutLacking, type Steering } from '../../protocols/dialect/steering.ts'
import { arrayOr, isRecord, parseJson, recordOr, type JsonRecord } from '../../json/json-value.ts'
import { joinedText } from '../../protocols/canonical/turns.ts'

/** Source: DeepL's API reference, "Translate text". */
export const DEEPL_LACKS: readonly Steering[] = [
  'temperature',
  'topP',
  'topK',
  'seed',
  'stop',
  'presencePenalty',
  'frequencyPenalty',
  'thinking',
  'userId',
]

/**
 * Translates the last user message into the language that the model names. Source: DeepL's API
 * reference, "Translate text". Limits of length and earlier messages have no effect on a
 * translation and are left out.
 */
export function writeDeeplRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withoutLacking(sent, DEEPL_LACKS)
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  if (request.output !== null) throw cannotSay(request, 'output')
  if (request.tools.length > 0 && request.toolChoice?.kind !== 'none') {
    throw cannotSay(request, 'tools')
  }
  const { language, formality } = languageOf(to.model)
  return {
    text: [lastWords(request)],
    target_lang: language,
    // DeepL bills characters, and reports their number only on request.
    show_billed_characters: true,
    ...(formality === null ? {} : { formality: `prefer_${formality}` }),
  }
}

/** Characters that DeepL bills: code points of the text, which are counted as prompt tokens. */
export const charactersIn = (request: ChatRequest): TokenUsage =>
  countedUsage([...lastWords(request)].length, 0)

function lastWords({ messages }: ChatRequest): string {
  const last = messages.findLast(({ role }) => role === 'user')
  const parts = (last?.parts ?? []).filter((part): part is UserPart => part.kind !== 'thinking')
  const media = parts.find((part) => part.kind === 'media')
  if (media?.kind === 'media') throw unsupportedField(media.at)
  const text = joinedText(parts)
  if (text === '') throw missingField('messages')
  return text
}

/** Suffixes of a language, as in `EN-GB`, `PT-BR`, `ZH-HANS`. */
const REGION = /^(?:[a-z]{2}|hans|hant|419)$/i
const FORMALITY = /^(?:more|less)$/i

/**
 * Parses `deepl-ja`, `deepl-en-gb`, `deepl-de-more`: a language, optionally with its region and the
 * formality of the translation.
 */
export function languageOf(model: string): { language: string; formality: string | null } {
  const [name = '', language = name, ...rest] = model.split('-')
  const region = rest.find((word) => REGION.test(word)) ?? null
  const formality = rest.find((word) => FORMALITY.test(word))?.toLowerCase() ?? null
  const code = region === null ? language : `${language}-${region}`
  return { language: code.toUpperCase(), formality }
}

const translationsIn = (answer: JsonRecord): JsonRecord[] =>
  arrayOr(answer.translations).map(recordOr)

export function readTranslation(bytes: Buffer): AnswerReading {
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return { kind: 'malformed' }
  if (!Array.isArray(answer.translations)) {
    const isRefusal = typeof answer.message === 'string' || isRecord(answer.error)
    return isRefusal ? { kind: 'error', error: answer.error ?? answer } : { kind: 'malformed' }
  }
  const texts = translationsIn(answer).flatMap(({ text }) => textEvent('text', text))
  return { kind: 'ok', usage: readCharacters(answer), events: () => texts }
}

/** DeepL never streams, so any event is an error. */
export const noStream: StreamReader = { read: (event) => ({ error: event }) }

/** Characters are reported as prompt tokens; nothing else is charged. */
function readCharacters(answer: JsonRecord): UsageReading {
  let freshTokens = 0
  for (const { billed_characters: billed } of translationsIn(answer)) {
    if (billed === undefined || billed === null) return NO_USAGE
    const figures = checkedFigures({ billed }, () => USAGE_TOKENS_MAX)
    if (typeof figures === 'string') return usageRefused(figures)
    freshTokens += figures.billed ?? 0
  }
  return usageOfParts({ ...NO_FIGURES, freshTokens }, USAGE_TOKENS_MAX)
}
