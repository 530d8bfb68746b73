import { recordingType } from '../../audio/recording-type.ts'
import { invalidField } from '../../protocols/canonical/reading.ts'
import { USAGE_TOKENS_MAX, type TokenUsage } from '../../protocols/canonical/token-usage.ts'
import type { ProviderCall, SentForm } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { parseJson, present, recordOr, wordOf, type JsonRecord } from '../../json/json-value.ts'
import { jsonAnswer, recordIn, withBody } from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import {
  askedTranscript,
  FORMAT,
  plainTranscript,
  refuseUnsaid,
} from '../shared/openai-transcripts.ts'
import { rewritten } from '../shared/rewritten-body.ts'
import { refusalIn, textIn, usageOfAll } from './content-answer.ts'

/**
 * Transcription and translation by Gemini in OpenAI's format. The prompt asks for the text alone;
 * timestamps and subtitles are rejected. Source: Gemini API, "Audio understanding".
 */

const TASKS: Readonly<Partial<Record<ProviderCall['task'], string>>> = {
  transcriptions:
    'Write down what is said in this recording, word for word, in the language that is spoken. ' +
    'Answer with these words alone.',
  translations:
    'Translate what is said in this recording into English. Answer with the translation alone.',
}

const FORMATS: ReadonlySet<unknown> = new Set(['json', 'text'])

/** Converts a form to JSON with the recording as a member. */
export function recordingAsJson({ fields, files }: SentForm): Buffer {
  const recording = files.map(({ name, bytes }) => {
    const mimeType = recordingType(bytes)
    if (mimeType === null) throw invalidField(name)
    return { mimeType, data: bytes.toString('base64') }
  })[0]
  const texts = recordOr(parseJson(fields.bytes.toString('utf8')))
  return Buffer.from(JSON.stringify({ ...texts, file: recording }))
}

export function heardEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  const asked = askedTranscript(body, FORMATS)
  const { file, prompt, language, temperature, ...others } = asked
  refuseUnsaid(others)
  const words = [
    TASKS[task],
    wordOf(language) === '' ? '' : `The language of the recording is ${wordOf(language)}.`,
    wordOf(prompt) === '' ? '' : `This may help with names and spelling: ${wordOf(prompt)}`,
  ].filter(Boolean)
  const heat = wordOf(temperature) === '' ? undefined : Number(wordOf(temperature))
  if (Number.isNaN(heat)) throw invalidField('temperature')
  return rewritten(asked, {
    contents: [{ role: 'user', parts: [{ text: words.join('\n') }, { inlineData: file }] }],
    ...(heat === undefined ? {} : { generationConfig: { temperature: heat } }),
    ...present({ [FORMAT]: asked[FORMAT] }),
  })
}

export const heardWalk: Walk = async (steps, request) => {
  const { [FORMAT]: format, ...sent } = recordIn(request)
  const answer = await steps.fetch(withBody(request, sent))
  if (answer.status !== 200) return answer
  const told = recordIn(answer)
  const text = textIn(told).trim()
  // The text of a recording without speech is empty.
  if (text === '' && !hasEnded(told)) return refusalIn(told, 'invalid_request_error')
  const usage = usageOfAll([told], USAGE_TOKENS_MAX)
  const used = usage === null ? {} : { usage: usageWords(usage) }
  return format === 'text' ? plainTranscript(`${text}\n`, used) : jsonAnswer({ text, ...used })
}

const hasEnded = ({ candidates }: JsonRecord): boolean =>
  Array.isArray(candidates) && recordOr(candidates[0]).finishReason === 'STOP'

function usageWords({ promptTokens, completionTokens, extras = {} }: TokenUsage): JsonRecord {
  const heard = extras.audioPromptTokens ?? promptTokens
  return {
    type: 'tokens',
    input_tokens: promptTokens,
    input_token_details: { audio_tokens: heard, text_tokens: promptTokens - heard },
    output_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
}
