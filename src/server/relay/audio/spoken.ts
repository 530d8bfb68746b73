import { AppError } from '../../app-error.ts'
import { countedUsage, type TokenUsage } from '../canonical/token-usage.ts'
import type { AnswerReading } from '../dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import { approximateTokens } from '../count/estimate.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { isRecord, parseJson } from '../json/json-value.ts'
import { invalid, missing, textMember } from '../media/fields.ts'
import { TypedStream } from '../media/typed-stream.ts'
import { errorOf } from '../openai/openai-chunk.ts'
import type { FieldProblem, RequestFigures } from '../openai/surfaces.ts'
import { readUsage } from '../openai/usage.ts'

/**
 * Text read aloud. Older models are sold by the character (a code point, not a byte), newer ones by
 * the token, of which a plain recording says nothing: they are estimated from the text. Source:
 * OpenAI's API reference, "Create speech".
 */

/** Newer models make about 21 tokens of speech a second, in which about 14 characters are read. */
const SPEECH_TOKENS_PER_CHARACTER = 1.5
/** One Han character takes as long to say as several letters. */
const SPEECH_TOKENS_PER_WIDE_CHARACTER = 5
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/** OpenAI's own limit, which One API holds every model to, and in bytes. */
const OPENAI_CHARACTERS_MAX = 4096
const OPENAI_VOICES = /^(?:tts-|gpt-)/

export function spokenFigures(body: ScannedBody, model: string): RequestFigures | FieldProblem {
  const input = textMember(body, 'input')
  if (input === null) return invalid('input')
  if (input === '') return missing('input')
  if (OPENAI_VOICES.test(model) && [...input].length > OPENAI_CHARACTERS_MAX) {
    throw new AppError('spoken_text_too_long', { model, max: OPENAI_CHARACTERS_MAX })
  }
  const format = textMember(body, 'stream_format')
  if (format === null) return invalid('stream_format')
  return {
    maxCompletionTokens: 0,
    isStream: format === 'sse',
    isRecording: format !== 'sse',
    wantsUsage: false,
    metering: (pricedAs) => ({
      estimate: isTokenPriced(pricedAs) ? tokensOf(input) : charactersOf(input),
      reading: {
        ...dialects.openai,
        look,
        textsOf: () => [],
        wholeAsEvents: () => [],
        end: null,
        follow: (tokensMax) =>
          new TypedStream({
            isLast: (type) => type === 'speech.audio.done',
            lastEvents: 1,
            usageOf(event) {
              if (event.usage === undefined) return null
              const reading = readUsage(event.usage, tokensMax)
              return reading.usage === null
                ? reading
                : { ...reading, usage: allSpoken(reading.usage) }
            },
            textsOf: () => [],
          }),
      },
    }),
  }
}

/** All models that read aloud by OpenAI after `tts-1`. */
const isTokenPriced = (model: string): boolean => /(?:^|\/)gpt-/.test(model)

const charactersOf = (input: string): TokenUsage => countedUsage([...input].length, 0)

function tokensOf(input: string): TokenUsage {
  const characters = [...input].length
  const wide = input.match(WIDE)?.length ?? 0
  const spoken = Math.ceil(
    wide * SPEECH_TOKENS_PER_WIDE_CHARACTER + (characters - wide) * SPEECH_TOKENS_PER_CHARACTER,
  )
  return allSpoken(countedUsage(approximateTokens(Buffer.byteLength(input)), spoken))
}

/** What it produces is speech and nothing else. */
const allSpoken = (usage: TokenUsage): TokenUsage => ({
  ...usage,
  extras: { ...usage.extras, audioCompletionTokens: usage.completionTokens },
})

/** A recording, unless it is an error or a page in disguise. It never says what it used. */
function look(bytes: Buffer): AnswerReading {
  if (bytes.length === 0 || /^\s*<(?:!doctype|html)/i.test(bytes.toString('latin1', 0, 64))) {
    return { kind: 'malformed' }
  }
  if (bytes[0] === 0x7b) {
    const value = parseJson(bytes.toString('utf8'))
    const error = isRecord(value) ? errorOf(value) : undefined
    if (error !== undefined) return { kind: 'error', error }
  }
  return { kind: 'ok', usage: { usage: null, fault: 'absent', notes: [] } }
}
