import { bytesAnswer, jsonAnswer, type Answer } from '../answer.ts'
import { countOf, listOf, objectOf, textOf, type Call, type Json } from '../call.ts'

/** Workers AI's endpoints by model. */

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const RUN = /\/client\/v4\/accounts\/[0-9a-f]{32}\/ai\/run\/(@cf\/[\w./-]+)$/

const done = (result: Json): Answer =>
  jsonAnswer({ result, success: true, errors: [], messages: [] })

const invalid = (message: string): Answer =>
  jsonAnswer({ result: {}, success: false, errors: [{ code: 5006, message }], messages: [] }, 400)

function stranger(json: Json, known: string): string | null {
  const names = new Set(known.split(' '))
  return Object.keys(json).find((name) => !names.has(name)) ?? null
}

/** `POST …/ai/run/{model}`; null for other requests. */
export function cloudflareRunAnswer(call: Call): Answer | null {
  const [, model] = RUN.exec(call.path) ?? []
  if (model === undefined) return null
  if (model.includes('bge-reranker')) return rankedAnswer(call)
  return model.includes('whisper') ? heardAnswer(call, model) : drawnAnswer(call, model)
}

function drawnAnswer({ json }: Call, model: string): Answer {
  const isSchnell = model.includes('flux-1-schnell')
  const own = isSchnell ? 'prompt seed steps' : 'prompt seed width height guidance negative_prompt'
  const wrong = stranger(json, own)
  if (wrong !== null) return invalid(`must NOT have additional property '${wrong}'`)
  if (textOf(json.prompt) === undefined) return invalid("required properties at '/' are 'prompt'")
  if (isSchnell || model.includes('lucid')) return done({ image: PIXEL.toString('base64') })
  return bytesAnswer('image/png', PIXEL)
}

function heardAnswer({ json, bytes, headers }: Call, model: string): Answer {
  const said = { text: ' The answer is forty-two.', word_count: 4, vtt: 'WEBVTT\n\nforty-two' }
  if (!model.includes('turbo')) {
    const isPlain = headers['content-type'] === 'application/octet-stream' && bytes.length > 0
    return isPlain ? done(said) : invalid('the recording is missing')
  }
  const wrong = stranger(json, 'audio task language initial_prompt')
  if (wrong !== null) return invalid(`must NOT have additional property '${wrong}'`)
  if (textOf(json.audio) === undefined) return invalid("required properties at '/' are 'audio'")
  return done({ ...said, transcription_info: { language: 'en', duration: 3.2 } })
}

function rankedAnswer({ json }: Call): Answer {
  const wrong = stranger(json, 'query contexts top_k')
  if (wrong !== null) return invalid(`must NOT have additional property '${wrong}'`)
  const contexts = listOf(json.contexts).map(objectOf)
  if (contexts.some(({ text }) => textOf(text) === undefined)) return invalid('contexts are wrong')
  const response = contexts.map((_context, id) => ({ id, score: (id + 1) / 10 })).toReversed()
  return done({ response: response.slice(0, countOf(json.top_k) ?? contexts.length) })
}
