import type { MediaPart, TextPart } from '../canonical/chat-request.ts'
import { mediaOfUrl } from '../canonical/media.ts'
import { unsupportedField, type Members } from '../canonical/reading.ts'
import { readRecording } from '../openai-chat/request-members.ts'

export const textPart = (text: string): TextPart => ({ kind: 'text', text, cache: null })

/** Reads the content of an item or of a tool result. */
export function readContent(item: Members, name: string): (TextPart | MediaPart)[] {
  const value = item.any(name)
  if (value === null) return []
  if (typeof value === 'string') return [textPart(value)]
  return item.objects(name).map(readPart)
}

function readPart(part: Members): TextPart | MediaPart {
  const type = part.textOrThrow('type')
  part.ignore('prompt_cache_breakpoint')
  const read = TEXTS.has(type) ? readText(part, type) : readMedia(part, type)
  part.done()
  return read
}

const TEXTS: ReadonlySet<string> = new Set(['input_text', 'output_text', 'text', 'refusal'])

function readText(part: Members, type: string): TextPart {
  part.ignore('annotations', 'logprobs')
  return textPart(part.textOrThrow(type === 'refusal' ? type : 'text'))
}

function readMedia(part: Members, type: string): MediaPart {
  const base = { kind: 'media' as const, at: part.at, detail: null, title: null, cache: null }
  // A file stored at OpenAI cannot be read by another provider.
  if (part.any('file_id') !== null) throw unsupportedField(part.place('file_id'))
  switch (type) {
    case 'input_image': {
      const url = part.textOrThrow('image_url')
      const source = mediaOfUrl(url, 'image', part.place('image_url'))
      return { ...base, source, detail: part.text('detail') }
    }
    case 'input_file': {
      const name = part.any('file_url') === null ? 'file_data' : 'file_url'
      const source = mediaOfUrl(part.textOrThrow(name), 'document', part.place(name))
      part.ignore('detail')
      return { ...base, source, title: part.text('filename') }
    }
    case 'input_audio':
      return { ...base, source: readRecording(part) }
    default:
      throw unsupportedField(part.place('type'))
  }
}
