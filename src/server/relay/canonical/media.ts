import { familyOf, type MediaFamily, type MediaSource } from './chat-request.ts'
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

export const dataUrl = ({ mimeType, data }: { mimeType: string; data: string }): string =>
  `data:${mimeType};base64,${data}`
