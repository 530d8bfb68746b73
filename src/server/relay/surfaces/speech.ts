import type { MeteringFigures } from '../../model/capabilities.ts'
import { meteringFigures } from '../../model/model-table.ts'
import { SOUND } from '../audio/recording-members.ts'
import type { FieldProblem, RequestFigures } from '../dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import {
  checkedFigures,
  countedUsage,
  NO_USAGE,
  type TokenUsage,
  type UsageReading,
  usageRefused,
  USAGE_TOKENS_MAX,
} from '../canonical/token-usage.ts'
import type { AnswerReading, StreamPiece } from '../dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import { approximateTokens } from '../count/estimate.ts'
import type { Metering } from '../dialect/metering.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import {
  isRecord,
  parseJson,
  present,
  recordOr,
  textOr,
  type JsonRecord,
} from '../json/json-value.ts'
import { invalid, missing, textMember } from '../dialect/fields.ts'
import { TypedStream } from '../media/typed-stream.ts'
import { errorOf } from '../openai/answer-error.ts'
import { readUsage } from '../openai/usage.ts'

/**
 * Text read aloud. Older models are sold by the character (a code point, not a byte), newer ones by
 * the token, of which a plain recording says nothing: they are estimated from the text. Source:
 * OpenAI's API reference, "Create speech".
 */

const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/** Of models that their maker serves: hosts put the maker before the name, and have own rules. */
const ownFigures = (model: string): MeteringFigures =>
  model.includes('/') ? {} : meteringFigures(model)

export function spokenFigures(body: ScannedBody, model: string): RequestFigures | FieldProblem {
  const input = textMember(body, 'input')
  if (input === null) return invalid('input')
  if (input === '') return missing('input')
  const { speech_characters_max: most = Infinity } = ownFigures(model)
  if ([...input].length > most) throw new AppError('spoken_text_too_long', { model, max: most })
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
    metering: (pricedAs) =>
      meteringOf(
        { input, instructions, isStream, hanCharacters: ownFigures(pricedAs).han_characters ?? 1 },
        meteringFigures(pricedAs).speech_tokens ?? null,
      ),
  }
}

interface Asked {
  input: string
  /** How it is to be read. */
  instructions: string
  isStream: boolean
  /** How many characters a Han character counts, of a model that is sold by these. */
  hanCharacters: number
}

type Pace = NonNullable<MeteringFigures['speech_tokens']>

/** `pace`: null for what is sold by the character. */
const meteringOf = (asked: Asked, pace: Pace | null): Metering => ({
  estimate: pace === null ? charactersOf(asked) : tokensOf(asked, pace),
  reading: {
    ...dialects.openai,
    readAnswer: (bytes) => readSpoken(bytes, asked, pace),
    wholeAsEvents: soundAsEvents,
    end: null,
    readStream: () =>
      new TypedStream({
        isLast: (type) => type === DONE,
        lastEvents: 1,
        usageOf: ({ usage }) => (usage === undefined ? null : spokenUsage(usage, pace)),
      }),
  },
})

const DELTA = 'speech.audio.delta'
const DONE = 'speech.audio.done'

/**
 * Of a model that is sold by the character tokens are no measure of what was read, but characters
 * that somebody has counted are. Null: nobody has.
 */
function spokenUsage(sent: unknown, pace: Pace | null): UsageReading | null {
  if (pace === null) return readCharacters(sent, USAGE_TOKENS_MAX)
  const reading = readUsage(sent, USAGE_TOKENS_MAX)
  return reading.usage === null ? reading : { ...reading, usage: allSpoken(reading.usage) }
}

/** A text that was read has some. */
function readCharacters(sent: unknown, charactersMax: number): UsageReading | null {
  const figures = checkedFigures({ characters: recordOr(sent).characters }, () => charactersMax)
  if (typeof figures === 'string') return usageRefused(figures)
  const { characters } = figures
  if (characters === null || characters === 0) return null
  return { usage: countedUsage(characters, 0), fault: null, notes: [] }
}

const HAN = /\p{Script=Han}/gu

function charactersOf({ input, hanCharacters }: Asked): TokenUsage {
  const han = hanCharacters === 1 ? 0 : (input.match(HAN)?.length ?? 0)
  return countedUsage([...input].length + han * (hanCharacters - 1), 0)
}

function tokensOf(
  { input, instructions }: Asked,
  { per_character: perCharacter, per_wide_character: perWideCharacter }: Pace,
): TokenUsage {
  const characters = [...input].length
  const wide = input.match(WIDE)?.length ?? 0
  const spoken = Math.ceil(wide * perWideCharacter + (characters - wide) * perCharacter)
  const read = approximateTokens(Buffer.byteLength(input) + Buffer.byteLength(instructions))
  return allSpoken(countedUsage(read, spoken))
}

/** What it produces is speech and nothing else. */
const allSpoken = (usage: TokenUsage): TokenUsage => ({
  ...usage,
  extras: { ...usage.extras, audioCompletionTokens: usage.completionTokens },
})

const noText = () => []

/** Bytes at the beginning by which words are told from sound. */
const HEAD_BYTES = 64

/**
 * A recording, unless it is words or a page in its place. It never says what it used, but where a
 * walk has put it into an object beside its usage. Where a stream was asked for, it is put into
 * one, from which its events are made.
 */
function readSpoken(bytes: Buffer, { isStream }: Asked, pace: Pace | null): AnswerReading {
  const head = bytes.toString('latin1', 0, HEAD_BYTES)
  if (bytes.length === 0 || /^\s*<(?:!doctype|html)/i.test(head)) return { kind: 'malformed' }
  const value = /^\s*\{/.test(head) ? parseJson(bytes.toString('utf8')) : null
  if (isRecord(value)) {
    const sound = textOr(value[SOUND])
    if (sound !== '') {
      const usage = spokenUsage(value.usage, pace) ?? NO_USAGE
      const body = isStream ? bytes : Buffer.from(sound, 'base64')
      return { kind: 'ok', usage, body, events: noText }
    }
    const error = errorOf(value)
    return error === undefined ? { kind: 'malformed' } : { kind: 'error', error }
  }
  const body = isStream ? Buffer.from(JSON.stringify({ [SOUND]: bytes.toString('base64') })) : bytes
  return { kind: 'ok', usage: NO_USAGE, body, events: noText }
}

/** Base64 in whole groups of four, as one event holds it: many readers have a bound for a line. */
const PIECES = /.{1,32768}/g

function soundAsEvents({ [SOUND]: sound, usage }: JsonRecord): StreamPiece[] {
  const deltas = (textOr(sound).match(PIECES) ?? []).map((piece) => ({ type: DELTA, audio: piece }))
  return [...deltas, { type: DONE, ...present({ usage }) }].map((event) => ({
    name: event.type,
    data: JSON.stringify(event),
  }))
}
