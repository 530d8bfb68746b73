import { PLAIN_TEXT } from '../../audio/transcript.ts'
import { unsupportedField } from '../../canonical/reading.ts'
import type { ProviderCall, Task } from '../../dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { present, recordOr, textOr, wordOf } from '../../json/json-value.ts'
import { jsonAnswer, recordIn, unusable, withBody } from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { membersOf, rewritten, takenOut } from '../rewritten-body.ts'

/**
 * Recordings that Whisper writes down, or translates, at Workers AI, for OpenAI's clients. Source:
 * Cloudflare's documentation, "Workers AI: Models", automatic speech recognition.
 */

const TURBO = /\/whisper-large-v3-turbo$/
/** Takes a recording alone, and no words about it. */
const PLAIN = /\/whisper(?:-tiny-en)?$/

export const hears = (model: string, task: Task): boolean =>
  TURBO.test(model) || (task === 'transcriptions' && PLAIN.test(model))

/** The member that says what the text is wanted as: for the walk, and not sent. */
const FORMAT = 'response_format'
const FORMATS: ReadonlySet<unknown> = new Set(['json', 'text', 'vtt'])
/** Members that change nothing about the text. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['model', 'stream'])
/** What asks for what is done anyhow; in a form every figure is a text. */
const AS_USUAL: ReadonlySet<unknown> = new Set(['', 'auto', null])
const NO_HEAT: ReadonlySet<unknown> = new Set(['', '0', '0.0', 0, null, undefined])

export function heardEdits(body: ScannedBody, { task, model }: ProviderCall): MemberEdit[] {
  const asked = membersOf(body)
  const { file, prompt, language, temperature, ...others } = asked
  const { [FORMAT]: format, ...rest } = others
  if (!FORMATS.has(textOr(format) || 'json')) throw unsupportedField(FORMAT)
  if (!NO_HEAT.has(temperature)) throw unsupportedField('temperature')
  const words = present({ language, prompt })
  for (const [name, value] of Object.entries({ ...rest, ...(TURBO.test(model) ? {} : words) })) {
    if (!LEFT_BEHIND.has(name) && !AS_USUAL.has(value)) throw unsupportedField(name)
  }
  const about = {
    task: task === 'translations' ? 'translate' : 'transcribe',
    ...present({
      language: wordOf(language) || undefined,
      initial_prompt: wordOf(prompt) || undefined,
    }),
  }
  return rewritten(asked, {
    [AUDIO]: recordOr(file).data,
    ...(TURBO.test(model) ? about : {}),
    ...present({ [FORMAT]: format }),
  })
}

const AUDIO = 'audio'

export const heardWalk: Walk = async (steps, request) => {
  const { value: format, sent } = takenOut(request, FORMAT)
  // The plain one takes the recording's own bytes: it has no other member.
  const isPlain = Object.keys(sent).every((name) => name === AUDIO)
  const asking = isPlain
    ? {
        ...request,
        headers: { ...request.headers, 'content-type': 'application/octet-stream' },
        body: Buffer.from(textOr(sent[AUDIO]), 'base64'),
      }
    : withBody(request, sent)
  const answer = await steps.fetch(asking)
  if (answer.status !== 200) return answer
  const { text, vtt, transcription_info: info } = recordOr(recordIn(answer).result)
  if (typeof text !== 'string') return unusable('nothing was written down')
  const { duration: seconds } = recordOr(info)
  const used = seconds === undefined ? {} : { usage: { type: 'duration', seconds } }
  if (format !== 'text' && format !== 'vtt') return jsonAnswer({ text: text.trim(), ...used })
  if (format === 'vtt' && typeof vtt !== 'string') return unusable('there are no subtitles')
  const plain = format === 'vtt' ? textOr(vtt) : `${text.trim()}\n`
  return {
    ...jsonAnswer({ [PLAIN_TEXT]: plain, ...used }),
    headers: { 'content-type': `text/${format === 'vtt' ? 'vtt' : 'plain'}; charset=utf-8` },
  }
}
