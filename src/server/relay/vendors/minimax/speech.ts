import { SOUND } from '../../audio/recording-members.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { present, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { recordIn } from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { membersOf, rewritten } from '../shared/rewritten-body.ts'

/**
 * Text-to-speech by MiniMax in OpenAI's format. Source: MiniMax's API reference, "Text to Speech
 * (T2A) HTTP".
 */

export const SPEECH_PATH = '/v1/t2a_v2'

export const speaks = (model: string): boolean => /^speech-\d/.test(model)

const TYPES: ReadonlyMap<unknown, string> = new Map([
  ['mp3', 'audio/mpeg'],
  ['wav', 'audio/wav'],
  ['flac', 'audio/flac'],
  ['pcm', 'audio/pcm'],
])

/** Members without an effect on the audio. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('model user stream_format'.split(' '))

/** MiniMax's own members, which are sent unchanged. */
const OWN: ReadonlySet<string> = new Set(
  'language_boost pronunciation_dict timbre_weights voice_modify'.split(' '),
)

export function spokenEdits(body: ScannedBody): MemberEdit[] {
  const asked = membersOf(body)
  const { model, input, voice, speed, response_format: format, ...others } = asked
  const { voice_setting: voiceSetting, audio_setting: audioSetting, ...rest } = others
  for (const [name, value] of Object.entries(rest)) {
    const isNothing = value === null || value === ''
    if (!isNothing && !LEFT_BEHIND.has(name) && !OWN.has(name)) throw unsupportedField(name)
  }
  const sound = { format: format ?? 'mp3', ...recordOr(audioSetting) }
  if (!TYPES.has(sound.format)) throw unsupportedField('response_format')
  const voiceId = textOr(voice) || textOr(recordOr(voice).id) || undefined
  const own = Object.entries(rest).filter(([name]) => OWN.has(name))
  return rewritten(asked, {
    ...present(Object.fromEntries(own)),
    model,
    text: input,
    stream: false,
    output_format: 'hex',
    voice_setting: {
      ...present({ voice_id: voiceId, speed: speed ?? undefined }),
      ...recordOr(voiceSetting),
    },
    audio_setting: sound,
  })
}

/**
 * Returns the audio with its usage; an error with status 200 is read like every error of MiniMax.
 */
export const spokenWalk: Walk = async (steps, request) => {
  const answer = await steps.fetch(request)
  if (answer.status !== 200) return answer
  const told = recordIn(answer)
  const sound = textOr(recordOr(told.data).audio)
  if (sound === '') return answer
  const { format } = recordOr(recordIn(request).audio_setting)
  const audio = Buffer.from(sound, 'hex').toString('base64')
  return {
    status: answer.status,
    headers: { 'content-type': TYPES.get(format) ?? 'application/octet-stream' },
    body: Buffer.from(JSON.stringify({ [SOUND]: audio, usage: usageOf(told) })),
  }
}

const usageOf = ({ extra_info: info }: JsonRecord): JsonRecord =>
  present({ characters: recordOr(info).usage_characters })
