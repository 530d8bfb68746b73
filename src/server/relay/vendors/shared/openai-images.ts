import { textOr, type JsonRecord } from '../../json/json-value.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'
import { StepFailed, type Steps } from '../../transport/upstream-steps.ts'

/** Images that clients ask for in OpenAI's words, of providers that have others. */

/** The member that says what images are wanted as: for the walk, and not sent. */
export const WANTED = 'response_format'
/** Words about an image that ask for what is done anyhow. */
export const AS_USUAL: ReadonlySet<unknown> = new Set(['auto', 'standard', 'vivid', null])

const DATA_URL = /^data:[^,]*;base64,/
/** Of all of them together: no more than the relay takes of an answer. */
export const FILES_LENGTH_MAX = 120 * 1024 * 1024

/**
 * Images that an answer names by their addresses, as the client wants them: so, or as their
 * bytes. `askFor`: the request for one; null: it lies where nobody here goes, which fails the call.
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

/** A image that an answer holds, as the client wants it: its bytes, or an address with them. */
export function imageMember({ mimeType, data }: JsonRecord, wanted: unknown): JsonRecord {
  return wanted === 'url'
    ? { url: `data:${textOr(mimeType) || 'image/png'};base64,${textOr(data)}` }
    : { b64_json: data }
}

/** In base64. */
async function fileAt(steps: Steps, asking: UpstreamRequest | null): Promise<string> {
  if (asking === null) throw new StepFailed('unreachable')
  const { status, body } = await steps.fetch(asking)
  if (status !== 200 || body.length === 0) throw new StepFailed('cut')
  return body.toString('base64')
}
