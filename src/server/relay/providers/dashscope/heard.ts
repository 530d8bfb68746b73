import { PLAIN_TEXT } from '../../audio/transcript.ts'
import { dataUrl } from '../../canonical/media.ts'
import { invalidField, unsupportedField } from '../../canonical/reading.ts'
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
import { membersOf, rewritten, takenOut } from '../rewritten-body.ts'
import { inOpenaisWords } from './errors.ts'

/**
 * Recordings that Qwen writes down, for OpenAI's clients: it answers with the text and the length,
 * and knows no times. Source: Alibaba Cloud Model Studio, "Audio file recognition (Qwen-ASR)",
 * DashScope synchronous.
 */

/** Others take addresses of files, or a WebSocket. */
export const hearsAtOnce = (model: string): boolean =>
  /^qwen\d*-asr-/.test(model) && !/filetrans|realtime/.test(model)

/** The member that says what the text is wanted as: for the walk, and not sent. */
const FORMAT = 'response_format'
const FORMATS: ReadonlySet<unknown> = new Set(['json', 'text'])
/** Members that change nothing about the text. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['model', 'stream'])
/** What asks for what is done anyhow; in a form every figure is a text. */
const AS_USUAL: ReadonlySet<unknown> = new Set(['', 'auto', null])
const NO_HEAT: ReadonlySet<unknown> = new Set(['', '0', '0.0', 0, null, undefined])

/** `prompt` goes where Qwen looks for names and for what the recording is about. */
export function heardEdits(body: ScannedBody): MemberEdit[] {
  const asked = membersOf(body)
  const { file, prompt, language, temperature, enable_itn: itn, ...others } = asked
  const { [FORMAT]: format, ...rest } = others
  if (!FORMATS.has(textOr(format) || 'json')) throw unsupportedField(FORMAT)
  if (!NO_HEAT.has(temperature)) throw unsupportedField('temperature')
  for (const [name, value] of Object.entries(rest)) {
    if (!LEFT_BEHIND.has(name) && !AS_USUAL.has(value)) throw unsupportedField(name)
  }
  const { mimeType, data } = recordOr(file)
  const audio = dataUrl({ mimeType: textOr(mimeType), data: textOr(data) })
  const about = wordOf(prompt)
  const context = about === '' ? [] : [{ role: 'system', content: [{ text: about }] }]
  const options = present({ language: wordOf(language) || undefined, enable_itn: flagOf(itn) })
  return rewritten(asked, {
    model: asked.model,
    input: { messages: [...context, { role: 'user', content: [{ audio }] }] },
    ...(Object.keys(options).length === 0 ? {} : { parameters: { asr_options: options } }),
    ...present({ [FORMAT]: format }),
  })
}

/** Qwen's own word for figures written as such. */
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
  if (format !== 'text') return jsonAnswer({ text, ...used })
  return {
    ...jsonAnswer({ [PLAIN_TEXT]: `${text}\n`, ...used }),
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  }
}

/** Of a recording without a word nothing is written down. */
const textIn = ({ content }: JsonRecord): string =>
  arrayOr(content)
    .map((part) => textOr(recordOr(part).text))
    .join('')
