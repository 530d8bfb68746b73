import { memberRange, memberValue, type ScannedBody } from '../../json/body-scan.ts'
import { type MemberEdit, renamed } from '../../json/body-splice.ts'
import { isRecord, parseJson, textOr } from '../../json/json-value.ts'
import { recordIn } from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { changedEvents, eventOf, serverSentEvents, type Wire } from '../../transport/wire.ts'

/**
 * Text-to-speech by Mistral, at OpenAI's path in its own format: the voice is a `voice_id`, and the
 * audio is base64 in JSON or in the events of a stream. Source: Mistral's API reference, "Audio
 * speech".
 */
export function speechEdits(body: ScannedBody): MemberEdit[] {
  const isStream = memberValue(body, 'stream_format') === 'sse'
  return [
    ...renamed(body, 'voice', 'voice_id'),
    ...(memberRange(body, 'stream_format') === null ? [] : [{ remove: 'stream_format' }]),
    ...(isStream ? [{ set: 'stream', json: 'true' }] : []),
  ]
}

const SOUND = 'audio_data'
const DEFAULT_FORMAT = 'mp3'

/** Returns the audio itself, with the media type of the requested format. */
export const speechWalk: Walk = async (steps, request) => {
  const answer = await steps.fetch(request)
  const sound = recordIn(answer)[SOUND]
  if (answer.status !== 200 || typeof sound !== 'string') return answer
  const format = textOr(recordIn(request).response_format) || DEFAULT_FORMAT
  return {
    status: answer.status,
    headers: { 'content-type': format === 'mp3' ? 'audio/mpeg' : `audio/${format}` },
    body: Buffer.from(sound, 'base64'),
  }
}

/** Renames the member with the audio to OpenAI's name. */
export const speechWire: Wire = changedEvents(serverSentEvents, (event) => {
  if (event.data === null || !event.data.includes(SOUND)) return event
  const value = parseJson(event.data.toString('utf8'))
  if (!isRecord(value)) return event
  const { [SOUND]: audio, ...rest } = value
  return eventOf(Buffer.from(JSON.stringify({ ...rest, audio })), event.name, event.isTerminated)
})
