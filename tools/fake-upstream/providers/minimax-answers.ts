import { jsonAnswer, range, type Answer } from '../answer.ts'
import { countOf, objectOf, textOf, type Call, type Json } from '../call.ts'

/** MiniMax's native endpoints: every response has status 200 and its own status in the body. */

const WELL = { base_resp: { status_code: 0, status_msg: 'success' } }

const invalid = (message: string): Answer =>
  jsonAnswer({ base_resp: { status_code: 2013, status_msg: `invalid params, ${message}` } })

function stranger(json: Json, known: string): string | null {
  const names = new Set(known.split(' '))
  return Object.keys(json).find((name) => !names.has(name)) ?? null
}

export const MINIMAX_SOUND = Buffer.from('ID3 a recording', 'latin1')

const SPOKEN =
  'model text stream output_format voice_setting audio_setting language_boost pronunciation_dict'

/** `POST /v1/t2a_v2`. A Han character counts as two. */
export function minimaxSpeechAnswer({ json, directives }: Call): Answer {
  const wrong = stranger(json, SPOKEN)
  if (wrong !== null) return invalid(`unknown ${wrong}`)
  const text = textOf(json.text) ?? ''
  if (text === '') return invalid('text is empty')
  const { voice_id: voice } = objectOf(json.voice_setting)
  if (voice === 'alloy') {
    return jsonAnswer({ base_resp: { status_code: 2054, status_msg: 'voice id not exist' } })
  }
  const characters = [...text].length + (text.match(/\p{Script=Han}/gu)?.length ?? 0)
  return jsonAnswer({
    data: { audio: MINIMAX_SOUND.toString('hex'), status: 2 },
    ...(directives.usage === 'never' ? {} : { extra_info: { usage_characters: characters } }),
    ...WELL,
  })
}

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const DRAWN =
  'model prompt n width height aspect_ratio response_format seed prompt_optimizer ' +
  'subject_reference aigc_watermark'

/** `POST /v1/image_generation`. */
export function minimaxPictureAnswer({ json, headers }: Call): Answer {
  const wrong = stranger(json, DRAWN)
  if (wrong !== null) return invalid(`unknown ${wrong}`)
  const count = countOf(json.n) ?? 1
  const url = `http://${headers.host}/minimax-result/1.jpeg`
  const data =
    json.response_format === 'base64'
      ? { image_base64: range(count).map(() => PIXEL) }
      : { image_urls: range(count).map(() => url) }
  return jsonAnswer({ id: 'fixed', data, metadata: { success_count: count }, ...WELL })
}
