import type { ProviderCall, Task } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { present, recordOr, textOr, wordOf } from '../../json/json-value.ts'
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

/**
 * Transcription and translation by Whisper on Workers AI, in OpenAI's format. Source: Cloudflare's
 * documentation, "Workers AI: Models", automatic speech recognition.
 */

const TURBO = /\/whisper-large-v3-turbo$/
/** Models that take a recording without parameters. */
const PLAIN = /\/whisper(?:-tiny-en)?$/

export const hears = (model: string, task: Task): boolean =>
  TURBO.test(model) || (task === 'transcriptions' && PLAIN.test(model))

const FORMATS: ReadonlySet<unknown> = new Set(['json', 'text', 'vtt'])

export function heardEdits(body: ScannedBody, { task, model }: ProviderCall): MemberEdit[] {
  const asked = askedTranscript(body, FORMATS)
  const { file, prompt, language, temperature, ...others } = asked
  refuseHeat(temperature)
  refuseUnsaid({ ...others, ...(TURBO.test(model) ? {} : present({ language, prompt })) })
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
    ...present({ [FORMAT]: asked[FORMAT] }),
  })
}

const AUDIO = 'audio'

export const heardWalk: Walk = async (steps, request) => {
  const { value: format, sent } = takenOut(request, FORMAT)
  // Plain Whisper accepts the bytes of the recording as the body, without any parameters.
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
  return format === 'vtt'
    ? plainTranscript(textOr(vtt), used, 'vtt')
    : plainTranscript(`${text.trim()}\n`, used)
}
