import { bytesAnswer, jsonAnswer, range, type Answer } from '../answer.ts'
import { countOf, listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { embeddingsAnswer } from '../other-answers.ts'

/** DashScope's native endpoints, beside its compatible mode. */

const TOKENS_PER_DOCUMENT = 6
const TEXTS_MAX = 10
const REQUEST_ID = '4a5b6c7d-0000-4000-8000-000000000000'
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export const dashscopeErrorAnswer = (status: number, message: string, code?: string): Answer =>
  jsonAnswer({ request_id: REQUEST_ID, code: code ?? `Code${status}`, message }, status)

const invalid = (message: string): Answer => dashscopeErrorAnswer(400, message, 'InvalidParameter')

/** A member that DashScope does not know; null if all are known. */
function stranger(json: Json, known: string): string | null {
  const names = new Set(known.split(' '))
  return Object.keys(json).find((name) => !names.has(name)) ?? null
}

/** `POST …/services/rerank/text-rerank/text-rerank`. */
export function dashscopeRankAnswer({ json, directives }: Call): Answer {
  const { query, documents } = objectOf(json.input)
  const wrong = stranger(json, 'model input parameters')
  if (wrong !== null) return invalid(`unknown member ${wrong}`)
  if (typeof query !== 'string') return invalid('Field required: input.query')
  const texts = listOf(documents)
  if (texts.length === 0 || texts.some((text) => typeof text !== 'string')) {
    return invalid('Field required: input.documents')
  }
  const { top_n: top, return_documents: returns } = objectOf(json.parameters)
  const results = texts.slice(0, countOf(top) ?? texts.length).map((text, index) => ({
    index,
    relevance_score: 1 / (index + 1),
    ...(returns === true ? { document: { text } } : {}),
  }))
  const usage =
    directives.usage === 'never'
      ? {}
      : { usage: { total_tokens: TOKENS_PER_DOCUMENT * texts.length } }
  return jsonAnswer({ output: { results }, ...usage, request_id: REQUEST_ID })
}

/** State of tasks: number of polls so far, and number of images. */
const tasks = new Map<string, { questions: number; count: number; isFailing: boolean }>()
const TASKS_MAX = 1000

/** `POST …/services/aigc/text2image/image-synthesis`, and `image2image`. */
export function dashscopeTaskAnswer(call: Call): Answer {
  const { json, headers, model } = call
  if (headers['x-dashscope-async'] !== 'enable') {
    return dashscopeErrorAnswer(
      403,
      'current user api does not support synchronous calls.',
      'AccessDenied',
    )
  }
  const wrong = pictureProblem(json)
  if (wrong !== null) return invalid(wrong)
  const { prompt, images } = objectOf(json.input)
  if (textOf(prompt) === undefined) return invalid('prompt is required')
  if (call.path.includes('image2image') && listOf(images).length === 0) {
    return invalid('images are required')
  }
  if (tasks.size >= TASKS_MAX) tasks.clear()
  const id = `task-${tasks.size + 1}-${REQUEST_ID}`
  const count = countOf(objectOf(json.parameters).n) ?? 1
  tasks.set(id, { questions: 0, count, isFailing: model.includes('task-fails') })
  return jsonAnswer({ output: { task_status: 'PENDING', task_id: id }, request_id: REQUEST_ID })
}

function pictureProblem(json: Json): string | null {
  const wrong = stranger(json, 'model input parameters')
  if (wrong !== null) return `unknown member ${wrong}`
  const { size } = objectOf(json.parameters)
  return size === undefined || /^\d+\*\d+$/.test(String(size)) ? null : 'size must be width*height'
}

/** `GET …/tasks/{id}`: running at first, then finished. */
export function dashscopeStatusAnswer(call: Call): Answer {
  const id = call.path.split('/').at(-1) ?? ''
  const task = tasks.get(id)
  if (task === undefined) {
    return jsonAnswer({ output: { task_id: id, task_status: 'UNKNOWN' }, request_id: REQUEST_ID })
  }
  task.questions += 1
  const output = { task_id: id, ...taskState(call, task) }
  const usage = 'results' in output ? { usage: { image_count: task.count } } : {}
  return jsonAnswer({ output, ...usage, request_id: REQUEST_ID })
}

function taskState(
  call: Call,
  { questions, count, isFailing }: { questions: number; count: number; isFailing: boolean },
): Json {
  if (questions === 1) return { task_status: 'RUNNING' }
  if (isFailing) {
    return {
      task_status: 'FAILED',
      code: 'DataInspectionFailed',
      message: 'Input data may be bad.',
    }
  }
  return {
    task_status: 'SUCCEEDED',
    results: range(count).map(() => ({ url: pictureAddress(call) })),
    task_metrics: { TOTAL: count, SUCCEEDED: count, FAILED: 0 },
  }
}

const pictureAddress = ({ headers }: Call): string =>
  `http://${headers.host}/dashscope-result/1.png`

/** `GET /dashscope-result/1.png`: the generated images; a request with a key is rejected. */
export function dashscopeFileAnswer({ authorization }: Call): Answer {
  if (authorization !== '') return bytesAnswer('application/xml', '<Error/>', 400)
  return bytesAnswer('image/png', PIXEL)
}

/** `POST …/services/aigc/multimodal-generation/generation`: newer models, synchronously. */
export function dashscopeGenerationAnswer(call: Call): Answer {
  const { text, messages } = objectOf(call.json.input)
  const parts = listOf(listOf(messages).map(objectOf).at(-1)?.content).map(objectOf)
  if (text !== undefined) return dashscopeSpeechAnswer(call)
  return parts.some(({ audio }) => audio !== undefined)
    ? heardAnswer(call, parts)
    : drawnAnswer(call, parts)
}

function drawnAnswer(call: Call, parts: readonly Json[]): Answer {
  const wrong = pictureProblem(call.json)
  if (wrong !== null) return invalid(wrong)
  const isForChange = call.model.includes('-edit')
  if (isForChange && textOf(parts[0]?.image) === undefined) return invalid('image is required')
  if (textOf(parts.at(-1)?.text) === undefined) return invalid('messages are required')
  const image = pictureAddress(call)
  const choice = { finish_reason: 'stop', message: { role: 'assistant', content: [{ image }] } }
  return jsonAnswer({
    output: { choices: [choice] },
    usage: { image_count: 1, width: 1024, height: 1024 },
    request_id: REQUEST_ID,
  })
}

const SPOKEN = 'text voice format sample_rate rate instruction instructions language_type seed'
const DATA_URL = /^data:audio\/[\w-]+;base64,[A-Za-z0-9+/]+=*$/

/** Also `POST …/services/audio/tts/SpeechSynthesizer`. A Han character counts as two. */
export function dashscopeSpeechAnswer({ json, headers, directives }: Call): Answer {
  const input = objectOf(json.input)
  const wrong = stranger(json, 'model input') ?? stranger(input, SPOKEN)
  if (wrong !== null) return invalid(`unknown member ${wrong}`)
  const text = textOf(input.text) ?? ''
  if (text === '') return invalid('Field required: input.text')
  if (textOf(input.voice) === undefined) return invalid('Field required: input.voice')
  const characters = [...text].length + (text.match(/\p{Script=Han}/gu)?.length ?? 0)
  const url = `http://${headers.host}/dashscope-result/1.wav`
  return jsonAnswer({
    output: { finish_reason: 'stop', audio: { data: '', url, id: 'audio_1', expires_at: 1 } },
    ...(directives.usage === 'never' ? {} : { usage: { characters } }),
    request_id: REQUEST_ID,
  })
}

export const DASHSCOPE_SOUND = Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1')

/** `GET /dashscope-result/1.wav`: a request with a key is rejected. */
export function dashscopeSoundAnswer({ authorization }: Call): Answer {
  if (authorization !== '') return bytesAnswer('application/xml', '<Error/>', 400)
  return bytesAnswer('audio/wav', DASHSCOPE_SOUND)
}

function heardAnswer({ json, directives }: Call, [part]: readonly Json[]): Answer {
  const { asr_options: options, ...others } = objectOf(json.parameters)
  const wrong =
    stranger(json, 'model input parameters') ??
    stranger(others, '') ??
    stranger(objectOf(options), 'language enable_itn')
  if (wrong !== null) return invalid(`unknown member ${wrong}`)
  if (!DATA_URL.test(textOf(part?.audio) ?? '')) return invalid('The audio format is illegal.')
  const content = [{ text: 'The answer is forty-two.' }]
  const annotations = [{ type: 'audio_info', language: 'en', emotion: 'neutral' }]
  const message = { role: 'assistant', content, annotations }
  return jsonAnswer({
    output: { choices: [{ finish_reason: 'stop', message }] },
    ...(directives.usage === 'never'
      ? {}
      : { usage: { output_tokens_details: { text_tokens: 6 }, seconds: 3 } }),
    request_id: REQUEST_ID,
  })
}

/** `POST /compatible-mode/v1/embeddings`: at most ten texts per request. */
export function dashscopeEmbeddingAnswer(call: Call): Answer {
  if (listOf(call.json.input).length <= TEXTS_MAX) return embeddingsAnswer(call)
  const message = 'batch size is invalid, it should not be larger than 10.'
  return jsonAnswer({ error: { message, type: 'InvalidParameter', code: 'InvalidParameter' } }, 400)
}
