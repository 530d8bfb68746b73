import type { CacheMark, MediaFamily, MediaPart, TextPart } from '../canonical/chat-request.ts'
import { mediaOfUrl } from '../canonical/media.ts'
import {
  invalidField,
  readCacheMark,
  unsupportedField,
  type Members,
} from '../canonical/reading.ts'
import { readRecording } from './request-members.ts'

/**
 * Reads a text, or parts; nothing for `null`, which an assistant message with tool calls may have.
 * Mistral's thoughts among the parts are useless to other providers.
 */
export function readContent(message: Members): (TextPart | MediaPart)[] {
  const value = message.any('content')
  if (value === null) return []
  if (typeof value === 'string') return [{ kind: 'text', text: value, cache: null }]
  return message
    .objects('content')
    .filter((part) => part.text('type') !== 'thinking')
    .map(readPart)
}

function readPart(part: Members): TextPart | MediaPart {
  const type = part.textOrThrow('type')
  const cache = readCacheMark(part)
  part.ignore('prompt_cache_breakpoint')
  const read =
    type === 'text' || type === 'refusal' ? readText(part, type, cache) : readMedia(part, cache)
  part.done()
  return read
}

function readText(part: Members, type: 'text' | 'refusal', cache: CacheMark | null): TextPart {
  return { kind: 'text', text: part.textOrThrow(type), cache }
}

/**
 * Families of the parts that name a URL in a member like their type. Sources: OpenAI's API
 * reference (`image_url`); OpenRouter's documentation, "Multimodal" (`video_url`); vLLM's,
 * "Multimodal inputs" (`audio_url`); Mistral's API reference (`document_url`) and Zhipu's
 * (`file_url`).
 */
const FAMILIES: ReadonlyMap<string, MediaFamily> = new Map([
  ['image_url', 'image'],
  ['video_url', 'video'],
  ['audio_url', 'audio'],
  ['document_url', 'document'],
  ['file_url', 'document'],
])

function readMedia(part: Members, cache: CacheMark | null): MediaPart {
  const base = { kind: 'media' as const, at: part.at, detail: null, title: null, cache }
  const type = part.textOrThrow('type')
  const family = FAMILIES.get(type)
  if (family !== undefined) return { ...base, ...readLinked(part, type, family) }
  switch (type) {
    case 'input_audio':
      return { ...base, source: readRecording(part) }
    case 'file': {
      const file = part.object('file')
      const data = file?.text('file_data') ?? null
      // A file stored at OpenAI cannot be read by another provider.
      if (file === null || data === null) throw unsupportedField(part.at)
      const source = mediaOfUrl(data, 'document', file.place('file_data'))
      const title = file.text('filename')
      file.ignore('format')
      file.done()
      return { ...base, source, title }
    }
    default:
      throw unsupportedField(part.place('type'))
  }
}

/** Reads the object with a URL; some clients, and Mistral, have the URL itself in its place. */
function readLinked(
  part: Members,
  name: string,
  family: MediaFamily,
): Pick<MediaPart, 'source' | 'detail' | 'title'> {
  const title = part.text('document_name')
  const bare = part.any(name)
  if (typeof bare === 'string') {
    return { source: mediaOfUrl(bare, family, part.at), detail: null, title }
  }
  const linked = part.object(name)
  if (linked === null) throw invalidField(part.at)
  const source = mediaOfUrl(linked.textOrThrow('url'), family, linked.place('url'))
  const detail = linked.text('detail')
  // LiteLLM's `format` repeats the media type of the data; vLLM's `uuid` is a cache key.
  linked.ignore('format', 'uuid')
  linked.done()
  return { source, detail, title }
}
