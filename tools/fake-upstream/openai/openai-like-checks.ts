import { cloudflareRunAnswer } from '../providers/cloudflare-answers.ts'
import { DONE, bytesAnswer, errorAnswer, jsonAnswer, type Answer } from '../answer.ts'
import { chatAnswer } from '../chat-answers.ts'
import { listOf, objectOf, type Call } from '../call.ts'
import { embeddingsAnswer } from '../other-answers.ts'
import { produceChat } from '../produced-text.ts'
import { providerErrorAnswer } from '../providers/errors.ts'

/** Checks of providers with OpenAI's dialect. */

const refusal = (code: string, message: string): Answer =>
  errorAnswer(400, { message, type: 'invalid_request_error', code })

/** Zhipu: sampling parameters from 0.01 to 1, and `do_sample` for greedy decoding. */
export function checkedZhipu(call: Call): Answer {
  const { temperature, top_p: topP } = call.json
  if (typeof temperature === 'number' && (temperature <= 0 || temperature > 1)) {
    return refusal('1210', 'temperature must be in (0, 1]')
  }
  if (typeof topP === 'number' && (topP < 0.01 || topP > 1)) {
    return refusal('1210', 'top_p must be in [0.01, 1]')
  }
  return chatAnswer(call)
}

const ZHIPU_VOICES = new Set('tongtong xiaochen chuichui jam kazi douji luodo'.split(' '))
const ZHIPU_FORMATS = new Set(['wav', 'pcm'])

/** Zhipu's image generation: one image by URL, with the result of its content filter. */
export function zhipuPictureAnswer({ json }: Call): Answer {
  if (typeof json.prompt !== 'string') return refusal('1214', 'prompt is required')
  return jsonAnswer({
    created: 1_700_000_000,
    data: [{ url: 'https://aigc-files.bigmodel.example/api/cogview/1.png' }],
    content_filter: [{ role: 'assistant', level: 3 }],
  })
}

/** Zhipu's text-to-speech: its own voices, and no compressed formats. */
export function zhipuSpeechAnswer({ json }: Call): Answer {
  if (!ZHIPU_VOICES.has(String(json.voice))) return refusal('1214', 'voice is not supported')
  const { response_format: format } = json
  const isKnown = format === undefined || ZHIPU_FORMATS.has(String(format))
  if (!isKnown) return refusal('1214', 'response_format must be wav or pcm')
  return bytesAnswer('audio/wav', Buffer.alloc(256, 1))
}

/** DashScope: `top_p` below 1, and no unknown model names. */
export function checkedDashscope(call: Call): Answer {
  const { top_p: topP } = call.json
  if (typeof topP === 'number' && topP >= 1) {
    return refusal('invalid_parameter_error', 'Range of top_p should be (0.0, 1.0)')
  }
  if (call.model.startsWith('qwq') && call.json.stream !== true) {
    return refusal('invalid_parameter_error', 'This model only support stream mode')
  }
  if (call.model.endsWith('-internet')) {
    return errorAnswer(404, {
      message: `The model \`${call.model}\` does not exist.`,
      type: 'invalid_request_error',
      code: 'model_not_found',
    })
  }
  return chatAnswer(call)
}

/** Cloudflare: an account id of 32 hexadecimal digits in the path. */
export function checkedCloudflare(call: Call): Answer {
  const ran = cloudflareRunAnswer(call)
  if (ran !== null) return ran
  const [, task] = /\/client\/v4\/accounts\/[0-9a-f]{32}\/ai\/v1\/(.+)$/.exec(call.path) ?? []
  if (task === 'chat/completions') return chatAnswer(call)
  if (task === 'embeddings') return embeddingsAnswer(call)
  const message = 'Could not route to the account, perhaps your object identifier is invalid?'
  return providerErrorAnswer(call.path, 404, message) ?? refusal('7003', message)
}

/** MiniMax: a status in every response, and the whole text again at the end of a stream. */
export function minimaxAnswer(call: Call): Answer {
  const answer = chatAnswer(call)
  const base = { base_resp: { status_code: 0, status_msg: '' } }
  if (answer.kind === 'whole') {
    const body = { ...objectOf(JSON.parse(answer.body.toString())), ...base }
    return { ...answer, body: Buffer.from(JSON.stringify(body)) }
  }
  const chunks = answer.events
    .filter(({ data }) => data !== DONE)
    .map(({ data }) => objectOf(JSON.parse(data)))
  const { pieces } = produceChat(call)
  const message = { role: 'assistant', content: pieces.join('') }
  const repeated = chunks.map((chunk) => {
    const choices = listOf(chunk.choices).map(objectOf)
    if (!choices.some((choice) => typeof choice.finish_reason === 'string')) return chunk
    const whole = choices.map(({ delta: _delta, ...choice }) => ({ ...choice, message }))
    return { ...chunk, ...base, object: 'chat.completion', choices: whole }
  })
  return { ...answer, events: repeated.map((chunk) => ({ data: JSON.stringify(chunk) })) }
}
