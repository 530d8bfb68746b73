import type { MeteringFigures } from '../../model/capabilities.ts'
import { meteringFigures } from '../../model/model-table.ts'
import { SOUND } from '../audio/recording-members.ts'
import {
  type FieldProblem,
  type RequestFigures,
  type Metering,
  invalid,
  missing,
  textMember,
} from '../protocols/dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import {
  checkedFigures,
  countedUsage,
  NO_USAGE,
  type TokenUsage,
  type UsageReading,
  usageRefused,
  USAGE_TOKENS_MAX,
} from '../protocols/canonical/token-usage.ts'
import type { AnswerReading, StreamPiece } from '../protocols/dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import { approximateTokens } from '../count/estimate.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import {
  isRecord,
  parseJson,
  present,
  recordOr,
  textOr,
  type JsonRecord,
} from '../json/json-value.ts'
import { TypedStream } from './media-stream.ts'
import { errorOf } from '../protocols/openai-chat/answer-error.ts'
import { readUsage } from '../protocols/openai-chat/usage.ts'

/**
 * Text-to-speech. Older models are priced by the character (a code point, not a byte), newer ones
 * by the token, which plain audio does not report: tokens are estimated from the text. Source:
 * OpenAI's API reference, "Create speech".
 */

const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/**
 * Returns the figures of models that their vendor serves. Other hosts put the vendor before the
 * name, and have their own rules.
 */
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
  /** The instructions for the voice. */
  instructions: string
  isStream: boolean
  /** Number of characters that a Han character counts as, for a model priced by characters. */
  hanCharacters: number
}

type Pace = NonNullable<MeteringFigures['speech_tokens']>

/** `pace`: null if priced by the character. */
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
 * Returns the reported usage; null if missing. For a model priced by the character, reported tokens
 * are ignored but reported characters count.
 */
function spokenUsage(sent: unknown, pace: Pace | null): UsageReading | null {
  if (pace === null) return readCharacters(sent, USAGE_TOKENS_MAX)
  const reading = readUsage(sent, USAGE_TOKENS_MAX)
  return reading.usage === null ? reading : { ...reading, usage: allSpoken(reading.usage) }
}

/** Reads the reported characters; a text that was read has at least one. */
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

/** Marks all output tokens as audio. */
const allSpoken = (usage: TokenUsage): TokenUsage => ({
  ...usage,
  extras: { ...usage.extras, audioCompletionTokens: usage.completionTokens },
})

const noText = () => []

/** Number of first bytes that distinguish text from audio. */
const HEAD_BYTES = 64

/**
 * Reads audio, unless the body is JSON or a page. Plain audio contains no usage; a multi-step call
 * puts the audio into an object with its usage. If a stream was requested, the audio is put into
 * such an object, from which the stream's events are made.
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

/** Base64 in whole groups of four for one event: many readers limit the length of a line. */
const PIECES = /.{1,32768}/g

function soundAsEvents({ [SOUND]: sound, usage }: JsonRecord): StreamPiece[] {
  const deltas = (textOr(sound).match(PIECES) ?? []).map((piece) => ({ type: DELTA, audio: piece }))
  return [...deltas, { type: DONE, ...present({ usage }) }].map((event) => ({
    name: event.type,
    data: JSON.stringify(event),
  }))
}
