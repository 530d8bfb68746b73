import { bytesAnswer, jsonAnswer, range, type Answer, type StreamEvent } from '../answer.ts'
import { countOf, formField, listOf, textOf, type Call, type Json } from '../call.ts'

/** Image generation, text-to-speech, transcription and reranking. */

const CREATED_SECONDS = 1_700_000_000
const TOKENS_PER_IMAGE = 100
/** A PNG with one pixel. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const AUDIO_TYPES = new Map([
  ['mp3', 'audio/mpeg'],
  ['opus', 'audio/ogg'],
  ['aac', 'audio/aac'],
  ['flac', 'audio/flac'],
  ['wav', 'audio/wav'],
  ['pcm', 'audio/pcm'],
])
const SPEECH_USAGE = { input_tokens: 9, output_tokens: 40, total_tokens: 49 }
const TRANSCRIPT = 'forty-two'

const named = (events: Json[]): Answer => ({
  kind: 'stream',
  events: events.map((event): StreamEvent => ({
    name: String(event.type),
    data: JSON.stringify(event),
  })),
})

const isAsked = (call: Call, name: string): boolean =>
  call.json[name] === true || formField(call.bytes, name) === 'true'

/** `POST …/images/*`: URLs, or one-pixel images where base64 is the format. */
export function imagesAnswer(call: Call): Answer {
  const isNew = call.model.includes('gpt-image')
  const isBase64 = isNew || call.json.response_format === 'b64_json'
  const count = countOf(call.json.n) ?? (Number(formField(call.bytes, 'n')) || 1)
  const outputTokens = TOKENS_PER_IMAGE * count
  const usage = {
    input_tokens: 11,
    output_tokens: outputTokens,
    total_tokens: 11 + outputTokens,
    input_tokens_details: { text_tokens: 11, image_tokens: 0 },
  }
  const counted = isNew && call.directives.usage !== 'never' ? { usage } : {}
  if (isAsked(call, 'stream') && call.directives.trouble !== 'json-when-stream') {
    const picture = { b64_json: PIXEL, created_at: CREATED_SECONDS }
    return named([
      { type: 'image_generation.partial_image', ...picture, partial_image_index: 0 },
      { type: 'image_generation.completed', ...picture, ...counted },
    ])
  }
  const data = range(count).map(() =>
    isBase64 ? { b64_json: PIXEL } : { url: 'http://127.0.0.1/image.png' },
  )
  return jsonAnswer({ created: CREATED_SECONDS, data, ...counted })
}

/** `POST …/audio/speech`: 256 bytes of the requested type. */
export function speechAnswer(call: Call): Answer {
  if (call.json.stream_format === 'sse') {
    const audio = Buffer.alloc(256, 1).toString('base64')
    const counted = call.directives.usage === 'never' ? {} : { usage: SPEECH_USAGE }
    return named([
      { type: 'speech.audio.delta', audio },
      { type: 'speech.audio.done', ...counted },
    ])
  }
  const type = AUDIO_TYPES.get(textOf(call.json.response_format) ?? 'mp3') ?? 'audio/mpeg'
  return bytesAnswer(type, Buffer.alloc(256, 1))
}

/** `POST …/audio/transcriptions` and `…/translations`. */
export function transcriptionAnswer(call: Call): Answer {
  const text = TRANSCRIPT
  if (isAsked(call, 'stream')) {
    return named([
      { type: 'transcript.text.delta', delta: 'forty' },
      { type: 'transcript.text.delta', delta: '-two' },
      { type: 'transcript.text.done', text, ...transcriptionUsage(call) },
    ])
  }
  switch (formField(call.bytes, 'response_format')) {
    case 'text':
      return bytesAnswer('text/plain; charset=utf-8', `${text}\n`)
    case 'srt':
      return bytesAnswer('text/plain; charset=utf-8', `1\n00:00:00,000 --> 00:00:01,500\n${text}\n`)
    case 'vtt':
      return bytesAnswer('text/vtt', `WEBVTT\n\n00:00.000 --> 00:01.500\n${text}\n`)
    case 'verbose_json':
      return jsonAnswer({
        task: 'transcribe',
        language: 'english',
        duration: 1.5,
        text,
        segments: [],
      })
    default:
      return jsonAnswer({ text, ...transcriptionUsage(call) })
  }
}

function transcriptionUsage(call: Call): Json {
  if (!call.model.includes('transcribe') || call.directives.usage === 'never') return {}
  return { usage: { type: 'tokens', input_tokens: 14, output_tokens: 3, total_tokens: 17 } }
}

/** `POST …/rerank`: the documents in their order, with decreasing scores. */
export function rerankAnswer(call: Call): Answer {
  const documents = listOf(call.json.documents)
  const results = documents
    .map((_document, index) => ({ index, relevance_score: 1 / (index + 1) }))
    .slice(0, countOf(call.json.top_n) ?? documents.length)
  const tokens = call.directives.promptTokens ?? 6 * documents.length
  const isCohere = call.model.includes('cohere')
  const usage = isCohere
    ? { meta: { billed_units: { search_units: Math.ceil(documents.length / 100) } } }
    : { usage: { total_tokens: tokens } }
  return jsonAnswer({
    model: call.model,
    results,
    ...(call.directives.usage === 'never' ? {} : usage),
  })
}
