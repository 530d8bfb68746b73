import { textOr, type JsonRecord } from '../../json/json-value.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'
import { StepFailed, type Steps } from '../../transport/upstream-steps.ts'

/** Images in OpenAI's format, for providers that have another format. */

/** Requested representation of images: the walk reads it and does not send it. */
export const WANTED = 'response_format'
/** Values that request the default behaviour. */
export const AS_USUAL: ReadonlySet<unknown> = new Set(['auto', 'standard', 'vivid', null])

const DATA_URL = /^data:[^,]*;base64,/
/** Maximum total size in bytes, the same as for a response of the relay. */
export const FILES_LENGTH_MAX = 120 * 1024 * 1024

/**
 * Returns the images at these URLs as the client requested them: as URLs or as bytes. `askFor`
 * returns the request for an image, or null for a host that is not allowed, which fails the call.
 */
export async function imagesAt(
  steps: Steps,
  addresses: readonly string[],
  { wanted, askFor }: { wanted: unknown; askFor: (address: string) => UpstreamRequest | null },
): Promise<JsonRecord[]> {
  if (wanted !== 'b64_json') return addresses.map((url) => ({ url }))
  const pictures: JsonRecord[] = []
  let length = 0
  for (const address of addresses) {
    const inline = DATA_URL.exec(address)?.[0].length
    const bytes =
      inline === undefined ? await fileAt(steps, askFor(address)) : address.slice(inline)
    length += bytes.length
    if (length > FILES_LENGTH_MAX) throw new StepFailed('cut')
    pictures.push({ b64_json: bytes })
  }
  return pictures
}

/** Returns an image from the response as the client requested it: as bytes or as a `data:` URL. */
export function imageMember({ mimeType, data }: JsonRecord, wanted: unknown): JsonRecord {
  return wanted === 'url'
    ? { url: `data:${textOr(mimeType) || 'image/png'};base64,${textOr(data)}` }
    : { b64_json: data }
}

/** Image data in base64. */
async function fileAt(steps: Steps, asking: UpstreamRequest | null): Promise<string> {
  if (asking === null) throw new StepFailed('unreachable')
  const { status, body } = await steps.fetch(asking)
  if (status !== 200 || body.length === 0) throw new StepFailed('cut')
  return body.toString('base64')
}
