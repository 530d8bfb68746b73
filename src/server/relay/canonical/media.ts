import { familyOf, type MediaFamily, type MediaPart, type MediaSource } from './chat-request.ts'
import { invalidField } from './reading.ts'

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)((?:;[\w.+-]+=[^;,]*)*);base64,/i

/** Names that programs have for a kind of picture, and the one that all providers know. */
const JPEG = /^image\/p?jpe?g$/

/** The media type that a client says, as providers know it. */
export function mediaType(said: string): string {
  const type = said.toLowerCase()
  return JPEG.test(type) ? 'image/jpeg' : type
}

/** A `data:` address as its bytes; any other as an address. `family` when the address cannot tell. */
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

/** Code and data are text, whatever clients call them. */
const TEXTS =
  /^text\/|^application\/(?:x-)?(?:json|ndjson|jsonl|xml|yaml|toml|sql|javascript|typescript|python|sh)(?:$|;)|\+(?:json|xml|yaml)(?:$|;)/

/**
 * The text of a document that is nothing but text, also where it came as base64; null if it is
 * another kind of file, or lies at an address.
 */
export function documentText(source: MediaSource): string | null {
  if (source.from === 'text') return source.text
  if (source.from !== 'data' || !TEXTS.test(source.mimeType)) return null
  return Buffer.from(source.data, 'base64').toString('utf8')
}

/**
 * A text document as a text of the user, under its name, for upstreams that take no such files;
 * null if it is no text.
 */
export function documentInWords({ source, title }: MediaPart): string | null {
  const text = documentText(source)
  if (text === null || source.from === 'text' || title === null || title === '') return text
  return `${title}:\n${text}`
}

/** Media types by the ending of an address, of files that models read. */
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

/** What lies at an address, by the client's word, else by its ending, else by the usual of its kind. */
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
