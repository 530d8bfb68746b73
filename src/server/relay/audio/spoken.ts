import { AppError } from '../../app-error.ts'
import { countedUsage, NO_USAGE, type TokenUsage } from '../canonical/token-usage.ts'
import type { AnswerReading, StreamPiece } from '../dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import { approximateTokens } from '../count/estimate.ts'
import type { Metering } from '../dialect/metering.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { isRecord, parseJson, textOr, type JsonRecord } from '../json/json-value.ts'
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
  const instructions = textMember(body, 'instructions')
  if (instructions === null) return invalid('instructions')
  const format = textMember(body, 'stream_format')
  if (format === null) return invalid('stream_format')
  const isStream = format === 'sse'
  return {
    maxCompletionTokens: 0,
    isStream,
    isRecording: !isStream,
    wantsUsage: false,
    metering: (pricedAs) => meteringOf({ input, instructions, isStream }, isTokenPriced(pricedAs)),
  }
}

interface Asked {
  input: string
  /** How it is to be read. */
  instructions: string
  isStream: boolean
}

const meteringOf = (asked: Asked, isByToken: boolean): Metering => ({
  estimate: isByToken ? tokensOf(asked) : charactersOf(asked),
  reading: {
    ...dialects.openai,
    look: (bytes) => look(bytes, asked),
    textsOf: () => [],
    wholeAsEvents: soundAsEvents,
    end: null,
    follow: (tokensMax) =>
      new TypedStream({
        isLast: (type) => type === DONE,
        lastEvents: 1,
        usageOf(event) {
          // Of a model that is sold by the character they are no measure of what was read.
          if (!isByToken || event.usage === undefined) return null
          const reading = readUsage(event.usage, tokensMax)
          return reading.usage === null ? reading : { ...reading, usage: allSpoken(reading.usage) }
        },
        textsOf: () => [],
      }),
  },
})

const DELTA = 'speech.audio.delta'
const DONE = 'speech.audio.done'

/** All models that read aloud by OpenAI after `tts-1`. */
const isTokenPriced = (model: string): boolean => /(?:^|\/)gpt-/.test(model)

const charactersOf = ({ input }: Asked): TokenUsage => countedUsage([...input].length, 0)

function tokensOf({ input, instructions }: Asked): TokenUsage {
  const characters = [...input].length
  const wide = input.match(WIDE)?.length ?? 0
  const spoken = Math.ceil(
    wide * SPEECH_TOKENS_PER_WIDE_CHARACTER + (characters - wide) * SPEECH_TOKENS_PER_CHARACTER,
  )
  const read = approximateTokens(Buffer.byteLength(input) + Buffer.byteLength(instructions))
  return allSpoken(countedUsage(read, spoken))
}

/** What it produces is speech and nothing else. */
const allSpoken = (usage: TokenUsage): TokenUsage => ({
  ...usage,
  extras: { ...usage.extras, audioCompletionTokens: usage.completionTokens },
})

/** Bytes at the beginning by which words are told from sound. */
const HEAD_BYTES = 64

/**
 * A recording, unless it is words or a page in its place. It never says what it used. Where a
 * stream was asked for, it is put into an object, from which its events are made.
 */
function look(bytes: Buffer, { isStream }: Asked): AnswerReading {
  const head = bytes.toString('latin1', 0, HEAD_BYTES)
  if (bytes.length === 0 || /^\s*<(?:!doctype|html)/i.test(head)) return { kind: 'malformed' }
  const value = /^\s*\{/.test(head) ? parseJson(bytes.toString('utf8')) : null
  if (isRecord(value)) {
    const error = errorOf(value)
    return error === undefined ? { kind: 'malformed' } : { kind: 'error', error }
  }
  const body = isStream ? Buffer.from(JSON.stringify({ audio: bytes.toString('base64') })) : bytes
  return { kind: 'ok', usage: NO_USAGE, body }
}

/** Base64 in whole groups of four, as one event holds it: many readers have a bound for a line. */
const PIECES = /.{1,32768}/g

function soundAsEvents({ audio }: JsonRecord): StreamPiece[] {
  const deltas = (textOr(audio).match(PIECES) ?? []).map((piece) => ({ type: DELTA, audio: piece }))
  return [...deltas, { type: DONE }].map((event) => ({
    name: event.type,
    data: JSON.stringify(event),
  }))
}
