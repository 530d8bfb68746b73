import { dataUrl } from '../../protocols/canonical/media.ts'
import { invalidField } from '../../protocols/canonical/reading.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import {
  arrayOr,
  present,
  recordOr,
  textOr,
  wordOf,
  type JsonRecord,
} from '../../json/json-value.ts'
import { jsonAnswer, recordIn, unusable, withBody } from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import {
  askedTranscript,
  FORMAT,
  plainTranscript,
  refuseHeat,
  refuseUnsaid,
} from '../shared/openai-transcripts.ts'
import { rewritten, takenOut } from '../shared/rewritten-body.ts'
import { inOpenaisWords } from './errors.ts'

/**
 * Transcription by Qwen in OpenAI's format. The response has the text and the length, but no
 * timestamps. Source: Alibaba Cloud Model Studio, "Audio file recognition (Qwen-ASR)", DashScope
 * synchronous.
 */

/** Other models accept only file URLs or a WebSocket. */
export const hearsAtOnce = (model: string): boolean =>
  /^qwen\d*-asr-/.test(model) && !/filetrans|realtime/.test(model)

const FORMATS: ReadonlySet<unknown> = new Set(['json', 'text'])

/** `prompt` becomes the system message, which Qwen reads for names and context. */
export function heardEdits(body: ScannedBody): MemberEdit[] {
  const asked = askedTranscript(body, FORMATS)
  const { file, prompt, language, temperature, enable_itn: itn, ...others } = asked
  refuseHeat(temperature)
  refuseUnsaid(others)
  const { mimeType, data } = recordOr(file)
  const audio = dataUrl({ mimeType: textOr(mimeType), data: textOr(data) })
  const about = wordOf(prompt)
  const context = about === '' ? [] : [{ role: 'system', content: [{ text: about }] }]
  const options = present({ language: wordOf(language) || undefined, enable_itn: flagOf(itn) })
  return rewritten(asked, {
    model: asked.model,
    input: { messages: [...context, { role: 'user', content: [{ audio }] }] },
    ...(Object.keys(options).length === 0 ? {} : { parameters: { asr_options: options } }),
    ...present({ [FORMAT]: asked[FORMAT] }),
  })
}

/** Qwen's name for inverse text normalization: numbers as digits. */
function flagOf(value: unknown): boolean | undefined {
  const word = String(value ?? '')
  if (word === '') return undefined
  if (word !== 'true' && word !== 'false') throw invalidField('enable_itn')
  return word === 'true'
}

export const heardWalk: Walk = async (steps, request) => {
  const { value: format, sent } = takenOut(request, FORMAT)
  const answer = await steps.fetch(withBody(request, sent))
  if (answer.status !== 200) return inOpenaisWords(answer)
  const { output, usage } = recordIn(answer)
  const [choice] = arrayOr(recordOr(output).choices).map(recordOr)
  if (choice === undefined) return unusable('nothing was written down')
  const text = textIn(recordOr(choice.message))
  const { seconds } = recordOr(usage)
  const used = seconds === undefined ? {} : { usage: { type: 'duration', seconds } }
  return format === 'text' ? plainTranscript(`${text}\n`, used) : jsonAnswer({ text, ...used })
}

/** The text of a recording without speech is empty. */
const textIn = ({ content }: JsonRecord): string =>
  arrayOr(content)
    .map((part) => textOr(recordOr(part).text))
    .join('')
