import { SOUND } from '../../audio/recording-members.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ProviderCall } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { present, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { recordIn, unusable } from '../../transport/json-steps.ts'
import { StepFailed, type Walk } from '../../transport/upstream-steps.ts'
import { membersOf, rewritten } from '../shared/rewritten-body.ts'
import { inOpenaisWords } from './errors.ts'
import { fileOf } from './files.ts'

/**
 * Text-to-speech by DashScope in OpenAI's format. The response contains the URL of the audio file,
 * which the relay fetches. Sources: Alibaba Cloud Model Studio, "Speech synthesis (Qwen-TTS)" and
 * "CosyVoice HTTP API".
 */

/**
 * Path of the model below the services; null if it is available only over a WebSocket, or not
 * supported.
 */
export function speechPath(model: string): string | null {
  if (/realtime/.test(model)) return null
  if (isCosyvoice(model)) return 'audio/tts/SpeechSynthesizer'
  return /^qwen\d*-tts/.test(model) ? 'aigc/multimodal-generation/generation' : null
}

const isCosyvoice = (model: string): boolean => model.startsWith('cosyvoice-')

/** Members without an effect on the audio. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('model user stream_format'.split(' '))

/** Members that OpenAI does not have are sent to the model unchanged. */
export function spokenEdits(body: ScannedBody, { model }: ProviderCall): MemberEdit[] {
  const asked = membersOf(body)
  const { input, voice, instructions, response_format: format, speed, ...others } = asked
  const own = Object.entries(others).filter(([name]) => !LEFT_BEHIND.has(name))
  const how = isCosyvoice(model)
    ? cosyvoiceWords({ instructions, format, speed })
    : qwenWords({ instructions, format, speed })
  return rewritten(asked, {
    model: asked.model,
    input: {
      ...present(Object.fromEntries(own)),
      ...how,
      ...present({ voice: textOr(voice) || textOr(recordOr(voice).id) || undefined }),
      // Only the input text has been counted.
      text: input,
    },
  })
}

interface Manner {
  instructions: unknown
  format: unknown
  speed: unknown
}

const COSYVOICE_FORMATS: ReadonlySet<unknown> = new Set(['mp3', 'wav', 'pcm', 'opus'])

/** Always sends a format: CosyVoice's default differs from OpenAI's `mp3`. */
function cosyvoiceWords({ instructions, format, speed }: Manner): JsonRecord {
  const wanted = format ?? 'mp3'
  if (!COSYVOICE_FORMATS.has(wanted)) throw unsupportedField('response_format')
  const instruction = textOr(instructions) || undefined
  return { format: wanted, ...present({ instruction, rate: speed ?? undefined }) }
}

/** These models generate WAV files and have no speed. */
function qwenWords({ instructions, format, speed }: Manner): JsonRecord {
  if ((format ?? 'wav') !== 'wav') throw unsupportedField('response_format')
  if ((speed ?? 1) !== 1) throw unsupportedField('speed')
  return present({ instructions: textOr(instructions) || undefined })
}

/** Returns the audio with its usage, which cannot be read from the audio (`audio/spoken.ts`). */
export const spokenWalk: Walk = async (steps, request) => {
  const answer = await steps.fetch(request)
  if (answer.status !== 200) return inOpenaisWords(answer)
  const { output, usage } = recordIn(answer)
  const address = textOr(recordOr(recordOr(output).audio).url)
  if (address === '') return unusable('nothing was read aloud')
  const asking = fileOf(request, address)
  if (asking === null) throw new StepFailed('unreachable')
  const file = await steps.fetch(asking)
  if (file.status !== 200 || file.body.length === 0) throw new StepFailed('cut')
  const type = textOr(file.headers['content-type'])
  return {
    status: answer.status,
    headers: { 'content-type': type.startsWith('audio/') ? type : 'application/octet-stream' },
    body: Buffer.from(JSON.stringify({ [SOUND]: file.body.toString('base64'), usage })),
  }
}
