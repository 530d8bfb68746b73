import { meteringFigures } from '../../model/model-table.ts'
import { PLAIN_TEXT } from '../audio/recording-members.ts'
import {
  type FieldProblem,
  type RequestFigures,
  type Metering,
  flagMember,
  invalid,
  missing,
} from '../protocols/dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import { textEvent } from '../protocols/canonical/chat-answer.ts'
import {
  countedUsage,
  NO_USAGE,
  type TokenUsage,
  type UsageReading,
  USAGE_TOKENS_MAX,
} from '../protocols/canonical/token-usage.ts'
import type { AnswerReading } from '../protocols/dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import { isRecord, parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { memberRange, memberValue } from '../json/body-scan.ts'
import type { Form } from '../transport/form.ts'
import { TypedStream } from './media-stream.ts'
import { errorOf } from '../protocols/openai-chat/answer-error.ts'
import { readUsage } from '../protocols/openai-chat/usage.ts'
import { recordedSeconds } from '../audio/duration.ts'

/**
 * Transcription and translation of speech. Priced by the second, or by the token if the upstream
 * counts tokens. The duration is the upstream's figure, otherwise read from the audio file.
 * Sources: the API references of OpenAI ("Create transcription") and Mistral ("Audio
 * transcriptions").
 */

/** Output tokens for a second of quick speech, to estimate a response. */
const WRITTEN_TOKENS_PER_SECOND = 5
const SECONDS_MAX = 86_400

export function transcriptFigures(form: Form | null): RequestFigures | FieldProblem {
  if (form === null) throw new AppError('form_required')
  const file = form.files.find(({ name }) => name === 'file')
  if (file === undefined) return withoutFile(form)
  if (form.files.length > 1 || file.bytes.length === 0) return invalid('file')
  const isStream = flagMember(form.fields, 'stream')
  if (isStream === null) return invalid('stream')
  const seconds = recordedSeconds(file.bytes)
  const mayBeBlank = BLANK_FORMATS.has(memberValue(form.fields, 'response_format'))
  return {
    maxCompletionTokens: 0,
    isStream,
    wantsUsage: false,
    metering: (pricedAs) =>
      meteringOf({ heardPerSecond: heardPerSecond(pricedAs), seconds, mayBeBlank, isStream }),
  }
}

/** Members for a URL that Groq and Mistral accept instead of a file. */
const ADDRESSES = ['url', 'file_url']

function withoutFile({ fields }: Form): FieldProblem {
  const isText = memberRange(fields, 'file') !== null
  if (isText) throw new AppError('form_file_unnamed', { field: 'file' })
  const address = ADDRESSES.find((name) => memberRange(fields, name) !== null)
  if (address !== undefined) throw new AppError('recording_by_address', { field: address })
  return missing('file')
}

/** Formats in which silence produces a blank body. */
const BLANK_FORMATS: ReadonlySet<unknown> = new Set(['text', 'srt'])

interface Heard {
  /** Tokens per second, if the model is priced by tokens; null if it is priced by the second. */
  heardPerSecond: number | null
  /** Duration of the uploaded audio, in seconds. */
  seconds: number
  /** A response without any text may be valid. */
  mayBeBlank: boolean
  isStream: boolean
}

const meteringOf = (heard: Heard): Metering => ({
  estimate: heardUsage(heard, heard.seconds),
  reading: {
    ...dialects.openai,
    readAnswer: (bytes) => read(bytes, heard),
    wholeAsEvents: (answer) => [{ name: DONE, data: JSON.stringify({ type: DONE, ...answer }) }],
    end: null,
    readStream: () =>
      new TypedStream({
        isLast: (type) => LAST_WORDS.has(type),
        lastEvents: 1,
        usageOf: ({ usage }) => (isRecord(usage) ? usageOf({ usage }, heard) : null),
        eventsOf: ({ type, delta, text = delta }) =>
          DELTAS.has(type) ? textEvent('text', text) : [],
      }),
  },
})

const DONE = 'transcript.text.done'
/** The last events of OpenAI and of Mistral. */
const LAST_WORDS: ReadonlySet<unknown> = new Set([DONE, 'transcription.done'])
const DELTAS: ReadonlySet<unknown> = new Set(['transcript.text.delta', 'transcription.text.delta'])

/**
 * Returns the tokens per second of `gpt-4o-transcribe` and similar models; null for `whisper` and
 * similar ones, which are priced by the second.
 */
const heardPerSecond = (model: string): number | null =>
  meteringFigures(model).heard_tokens_per_second ?? null

/** Returns the usage of audio of this length; an estimate for models priced by the token. */
function heardUsage({ heardPerSecond: pace }: Heard, seconds: number): TokenUsage {
  if (pace === null) return { ...countedUsage(0, 0), extras: { seconds } }
  const heard = seconds * pace
  return {
    ...countedUsage(heard, seconds * WRITTEN_TOKENS_PER_SECOND),
    extras: { audioPromptTokens: heard },
  }
}

const noText = () => []

/**
 * Reads JSON, plain text or subtitles, as the client requested. If a stream was requested, which
 * `whisper-1` does not support, text is put into an object, from which the event is made.
 */
function read(bytes: Buffer, heard: Heard): AnswerReading {
  const text = bytes.toString('utf8')
  const isNothing = text.trim() === '' && !(heard.mayBeBlank && text !== '')
  if (isNothing || /^\s*<(?:!doctype|html)/i.test(text)) return { kind: 'malformed' }
  const value = /^\s*\{/.test(text) ? parseJson(text) : null
  if (!isRecord(value)) {
    const body = heard.isStream ? Buffer.from(JSON.stringify({ text })) : bytes
    return { kind: 'ok', usage: usageOf({}, heard), body, events: noText }
  }
  const error = errorOf(value)
  if (error !== undefined) return { kind: 'error', error }
  const { [PLAIN_TEXT]: plain, ...rest } = value
  if (typeof plain === 'string') {
    const body = heard.isStream ? JSON.stringify({ text: plain, ...rest }) : plain
    const usage = usageOf(value, heard)
    return { kind: 'ok', usage, body: Buffer.from(body), events: noText }
  }
  return typeof value.text === 'string'
    ? { kind: 'ok', usage: usageOf(value, heard), events: noText }
    : { kind: 'malformed' }
}

function usageOf(answer: JsonRecord, heard: Heard): UsageReading {
  const usage = recordOr(answer.usage)
  const hasTokens = usage.input_tokens !== undefined || usage.prompt_tokens !== undefined
  // Tokens are ignored for a model priced by the second.
  const isByToken = heard.heardPerSecond !== null
  if (isByToken && hasTokens) {
    return heardReading(readUsage(normalised(usage), USAGE_TOKENS_MAX))
  }
  // Names of the duration, in this order: OpenAI, Mistral, and vendors that report it in whole
  // responses.
  const length = usage.seconds ?? usage.prompt_audio_seconds ?? answer.duration
  const said = plausibleSeconds(length)
  // Missing token counts are estimated; a duration is known.
  if (said === null && isByToken) return NO_USAGE
  return { usage: heardUsage(heard, said ?? heard.seconds), fault: null, notes: [] }
}

/** Token details have another name here than in other APIs. */
const normalised = ({ input_token_details, ...usage }: JsonRecord): JsonRecord => ({
  ...(input_token_details === undefined ? {} : { input_tokens_details: input_token_details }),
  ...usage,
})

/** Without details, all input tokens are audio. */
function heardReading(reading: UsageReading): UsageReading {
  if (reading.usage === null || reading.usage.extras !== undefined) return reading
  const { promptTokens } = reading.usage
  return { ...reading, usage: { ...reading.usage, extras: { audioPromptTokens: promptTokens } } }
}

function plausibleSeconds(sent: unknown): number | null {
  const value = typeof sent === 'string' && sent !== '' ? Number(sent) : sent
  const isSound = typeof value === 'number' && value > 0 && value <= SECONDS_MAX
  return isSound ? Math.ceil(value) : null
}
