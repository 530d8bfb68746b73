import {
  countedUsage,
  NO_USAGE,
  type TokenUsage,
  type UsageReading,
} from '../canonical/token-usage.ts'
import type { AnswerReading } from '../dialect/dialect.ts'
import { dialects } from '../dialect/dialects.ts'
import { isRecord, parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { flagMember, invalid, missing } from '../media/fields.ts'
import type { Form } from '../media/form.ts'
import { TypedStream } from '../media/typed-stream.ts'
import { errorOf } from '../openai/openai-chunk.ts'
import type { FieldProblem, RequestFigures } from '../openai/surfaces.ts'
import { readUsage } from '../openai/usage.ts'
import { recordedSeconds } from './duration.ts'

/**
 * Recorded speech written down, or translated. Sold by the second, or by the token where the
 * upstream counts tokens. The length is what the upstream says, else what the recording says of
 * itself. Source: OpenAI's API reference, "Create transcription".
 */

/** Of models that count tokens: heard, and written, in a second of quick speech. */
const HEARD_TOKENS_PER_SECOND = 10
const WRITTEN_TOKENS_PER_SECOND = 5
const SECONDS_MAX = 86_400

export function transcriptFigures(form: Form | null, model: string): RequestFigures | FieldProblem {
  const file = form?.files.find(({ name }) => name === 'file')
  if (form === null || file === undefined) return missing('file')
  if (form.files.length > 1 || file.bytes.length === 0) return invalid('file')
  const isStream = flagMember(form.fields, 'stream')
  if (isStream === null) return invalid('stream')
  const seconds = recordedSeconds(file.bytes)
  return {
    maxCompletionTokens: 0,
    isStream,
    wantsUsage: false,
    metering: {
      estimate: countsTokens(model) ? heardUsage(seconds) : secondsUsage(seconds),
      reading: {
        ...dialects.openai,
        look: (bytes, tokensMax) => look(bytes, { model, seconds, tokensMax }),
        textsOf: () => [],
        wholeAsEvents: (answer) => [
          { name: DONE, data: JSON.stringify({ type: DONE, ...answer }) },
        ],
        end: null,
        follow: (tokensMax) =>
          new TypedStream({
            isLast: (type) => type === DONE,
            lastEvents: 1,
            usageOf: ({ usage }) =>
              usage === undefined ? null : usageOf({ usage }, { model, seconds, tokensMax }),
            textsOf: ({ type, delta }) =>
              type === 'transcript.text.delta' && typeof delta === 'string'
                ? [{ lane: 0, text: delta }]
                : [],
          }),
      },
    },
  }
}

const DONE = 'transcript.text.done'

/** `gpt-4o-transcribe` and its like; `whisper` and its like are sold by the second. */
const countsTokens = (model: string): boolean => /gpt-.*transcribe/.test(model)

const secondsUsage = (seconds: number): TokenUsage => ({
  ...countedUsage(0, 0),
  extras: { seconds },
})

function heardUsage(seconds: number): TokenUsage {
  const heard = seconds * HEARD_TOKENS_PER_SECOND
  return {
    ...countedUsage(heard, seconds * WRITTEN_TOKENS_PER_SECOND),
    extras: { audioPromptTokens: heard },
  }
}

interface Known {
  model: string
  /** Of the recording as it was sent. */
  seconds: number
  tokensMax: number
}

/** JSON, plain text or subtitles, as the client asked for. */
function look(bytes: Buffer, known: Known): AnswerReading {
  const text = bytes.toString('utf8')
  if (text.trim() === '' || /^\s*<(?:!doctype|html)/i.test(text)) return { kind: 'malformed' }
  const value = /^\s*\{/.test(text) ? parseJson(text) : null
  if (!isRecord(value)) return { kind: 'ok', usage: usageOf({}, known) }
  const error = errorOf(value)
  if (error !== undefined) return { kind: 'error', error }
  return typeof value.text === 'string'
    ? { kind: 'ok', usage: usageOf(value, known) }
    : { kind: 'malformed' }
}

function usageOf(answer: JsonRecord, { model, seconds, tokensMax }: Known): UsageReading {
  const usage = recordOr(answer.usage)
  if (usage.input_tokens !== undefined || usage.prompt_tokens !== undefined) {
    return heardReading(readUsage(normalised(usage), tokensMax))
  }
  const said = plausibleSeconds(usage.seconds ?? answer.duration)
  if (said !== null) return { usage: secondsUsage(said), fault: null, notes: [] }
  // Tokens that nobody has counted are estimated; a length is known.
  return countsTokens(model) ? NO_USAGE : { usage: secondsUsage(seconds), fault: null, notes: [] }
}

/** Details stand under another name here than elsewhere. */
const normalised = ({ input_token_details, ...usage }: JsonRecord): JsonRecord => ({
  ...(input_token_details === undefined ? {} : { input_tokens_details: input_token_details }),
  ...usage,
})

/** Without details, all that was heard is sound. */
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
