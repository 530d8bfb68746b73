import { familyOf, type MediaFamily, type MediaPart, type MediaSource } from './chat-request.ts'
import { invalidField } from './reading.ts'

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)((?:;[\w.+-]+=[^;,]*)*);base64,/i

/** Other names of JPEG, whose standard name all providers know. */
const JPEG = /^image\/p?jpe?g$/

/** Returns the client's media type in its standard spelling. */
export function mediaType(said: string): string {
  const type = said.toLowerCase()
  return JPEG.test(type) ? 'image/jpeg' : type
}

/**
 * Converts a `data:` URL to its bytes; any other URL stays a URL. `family`: media family to assume
 * if the URL does not state one.
 */
export function mediaOfUrl(url: string, family: MediaFamily, at: string): MediaSource {
  const match = DATA_URL.exec(url)
  if (match !== null) {
    return {
      from: 'data',
      mimeType: mediaType(match[1] ?? ''),
      data: url.slice(match[0].length),
    }
  }
  if (!/^(https?|gs):\/\//i.test(url)) throw invalidField(at)
  return { from: 'url', url, mimeType: null, family }
}

export const mediaFamily = (source: MediaSource): MediaFamily => {
  switch (source.from) {
    case 'data':
      return familyOf(source.mimeType)
    case 'url':
      return source.family
    case 'text':
      return 'document'
    default:
      return source satisfies never
  }
}

/** Code and data count as text, with any media type that clients give them. */
const TEXTS =
  /^text\/|^application\/(?:x-)?(?:json|ndjson|jsonl|xml|yaml|toml|sql|javascript|typescript|python|sh)(?:$|;)|\+(?:json|xml|yaml)(?:$|;)/

/**
 * Returns the text of a plain-text document, also if it is base64; null if it is another kind of
 * file, or a URL.
 */
export function documentText(source: MediaSource): string | null {
  if (source.from === 'text') return source.text
  if (source.from !== 'data' || !TEXTS.test(source.mimeType)) return null
  return Buffer.from(source.data, 'base64').toString('utf8')
}

/**
 * Returns a text document as a text of the user, with its name, for upstreams that accept no such
 * files; null if it is not text.
 */
export function documentInWords({ source, title }: MediaPart): string | null {
  const text = documentText(source)
  if (text === null || source.from === 'text' || title === null || title === '') return text
  return `${title}:\n${text}`
}

/** Media types by file extension, for files that models read. */
const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
  mpeg: 'video/mpeg',
}

/** Media type of a URL: the client's, else by its extension, else the default of its family. */
export function typeAtUrl({
  url,
  mimeType,
  family,
}: Extract<MediaSource, { from: 'url' }>): string {
  const ending = /\.([a-z0-9]{2,5})(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? ''
  return mimeType ?? TYPES[ending] ?? USUAL_TYPES[family]
}

const USUAL_TYPES: Readonly<Record<MediaFamily, string>> = {
  image: 'image/jpeg',
  audio: 'audio/mpeg',
  video: 'video/mp4',
  document: 'application/pdf',
}

export const dataUrl = ({ mimeType, data }: { mimeType: string; data: string }): string =>
  `data:${mimeType};base64,${data}`
