import {
  bytesAnswer,
  jsonAnswer,
  type Answer,
  type StreamEvent,
  type StreamLayout,
} from '../answer.ts'
import { countOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { produceNative } from '../dialects/native-wishes.ts'
import { PIXEL } from '../openai/media-answers.ts'

const PROMPT_TOKENS = 11
const MEMBERS = new Set('input stream version webhook webhook_events_filter'.split(' '))

type Prediction = {
  id: string
  input: Json
  /** Base address of this upstream, including its words. */
  root: string
  pieces: string[]
  completionTokens: number
  /** Remaining polls until it is finished. */
  pending: number
  isCanceled: boolean
}

/** Predictions by id; ids are unique across all upstreams of the process. */
const predictions = new Map<string, Prediction>()
let made = 0

/** Data is plain text, possibly with several lines. */
const replicateLayout: StreamLayout = {
  contentType: 'text/event-stream; charset=utf-8',
  bytes: ({ name = '', data }) => {
    const lines = data.split('\n').map((line) => `data: ${line}\n`)
    return Buffer.from(`event: ${name}\nid: 1690212292:0\n${lines.join('')}\n`)
  },
  error: (message) => ({ name: 'error', data: JSON.stringify({ detail: message }) }),
}

/** `POST /v1/models/{owner}/{name}/predictions` and `POST /v1/predictions`. */
export function replicateCreateAnswer(call: Call): Answer {
  const problem = problemOf(call)
  if (problem !== null) return problem
  const prediction = newPrediction(call)
  // A stream's fault applies to the stream, not to the request that creates it.
  if (call.json.stream === true) call.directives = { ...call.directives, cutAfter: null }
  const waits = String(call.headers.prefer ?? '').startsWith('wait')
  if (waits && prediction.pending > 0) prediction.pending -= 1
  return jsonAnswer(shown(call, prediction, waits && prediction.pending === 0), 201)
}

function newPrediction(call: Call): Prediction {
  const input = objectOf(call.json.input)
  const prompt = String(input.prompt)
  const { pieces, completionTokens } = produceNative(call, {
    tools: [],
    choice: null,
    lastWords: prompt,
    schema: null,
    wantsJson: false,
    maxTokens: input.max_tokens,
    stops: textOf(input.stop_sequences)?.split(',') ?? [],
  })
  made += 1
  const [before = ''] = call.rawPath.split('/v1/')
  const prediction: Prediction = {
    id: `fixed${made}`,
    input,
    root: `http://${call.headers.host}${before}/v1`,
    pieces: isDrawn(call) ? drawings(call, countOf(input.num_outputs) ?? 1) : pieces,
    completionTokens,
    pending: /\bslowly\b/.test(prompt) ? 3 : 1,
    isCanceled: false,
  }
  predictions.set(prediction.id, prediction)
  return prediction
}

const isDrawn = ({ path }: Call): boolean => path.includes('flux')

const drawings = (call: Call, count: number): string[] =>
  Array.from({ length: count }, (_, index) => {
    const [before = ''] = call.rawPath.split('/v1/')
    return `http://${call.headers.host}${before}/v1/files/${index}.png`
  })

function problemOf({ json, authorization }: Call): Answer | null {
  const refusal = (status: number, title: string, detail: string): Answer =>
    jsonAnswer({ title, detail, status }, status)
  if (!authorization.startsWith('Bearer ')) {
    return refusal(401, 'Unauthenticated', 'You did not pass an authentication token')
  }
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) {
    return refusal(422, 'Input validation failed', `- ${stranger} is not allowed`)
  }
  return textOf(objectOf(json.input).prompt) === undefined
    ? refusal(422, 'Input validation failed', '- input: prompt is required')
    : null
}

/** Current state of a prediction. */
function shown({ directives }: Call, prediction: Prediction, isOver: boolean): Json {
  const { id, input, root, pieces, completionTokens, isCanceled } = prediction
  const metrics =
    directives.usage === 'never'
      ? { predict_time: 0.5 }
      : {
          predict_time: 0.5,
          input_token_count: directives.promptTokens ?? PROMPT_TOKENS,
          output_token_count: completionTokens,
        }
  const urls = {
    get: `${root}/predictions/${id}`,
    cancel: `${root}/predictions/${id}/cancel`,
    stream: `${root}/stream/${id}`,
  }
  const created = '2026-01-02T03:04:05.678Z'
  const head = { id, input, urls, created_at: created, error: null, logs: '' }
  if (isCanceled) return { ...head, status: 'canceled', output: null }
  if (!isOver) return { ...head, status: 'processing', output: null }
  if (String(input.prompt).includes('impossible')) {
    return { ...head, status: 'failed', error: 'The model could not do it', output: null, metrics }
  }
  return { ...head, status: 'succeeded', output: pieces, metrics }
}

const idOf = ({ path }: Call): string => /\/(?:predictions|stream)\/([\w-]+)/.exec(path)?.[1] ?? ''

const notFound = (): Answer =>
  jsonAnswer({ detail: 'The requested resource could not be found.', status: 404 }, 404)

/** `GET /v1/predictions/{id}`. */
export function replicateGetAnswer(call: Call): Answer {
  const prediction = predictions.get(idOf(call))
  if (prediction === undefined || call.method !== 'GET') return notFound()
  call.directives = { ...call.directives, cutAfter: null }
  prediction.pending = Math.max(0, prediction.pending - 1)
  return jsonAnswer(shown(call, prediction, prediction.pending === 0))
}

/** `POST /v1/predictions/{id}/cancel`. */
export function replicateCancelAnswer(call: Call): Answer {
  const prediction = predictions.get(idOf(call))
  if (prediction === undefined || call.method !== 'POST') return notFound()
  prediction.isCanceled = true
  return jsonAnswer(shown(call, prediction, true))
}

/** `GET` of the stream address of a prediction. */
export function replicateStreamAnswer(call: Call): Answer {
  const prediction = predictions.get(idOf(call))
  if (prediction === undefined || !call.authorization.startsWith('Bearer ')) return notFound()
  const output = prediction.pieces.map((data): StreamEvent => ({ name: 'output', data }))
  const events = [...output, { name: 'done', data: '{}' }]
  return { kind: 'stream', events, layout: replicateLayout }
}

/** A generated image; it is public. */
export function replicateFileAnswer({ authorization }: Call): Answer {
  return authorization === ''
    ? bytesAnswer('image/png', Buffer.from(PIXEL, 'base64'))
    : jsonAnswer({ detail: 'this address must not receive a key' }, 400)
}
