import { inflate } from '../../http/input/inflate.ts'

/** Bytes of an answer that are taken; embeddings of a large batch are tens of megabytes. */
export const ANSWER_BYTES_MAX = 128 * 1024 * 1024

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** What stands before a server may have packed its answer again; nobody does so on purpose. */
const LAYERS_MAX = 2

/** The body without its compression; null when it cannot be read or is larger than what is taken. */
export async function decodedBody({ headers, body }: Answer): Promise<Buffer | null> {
  const encoding = headers['content-encoding']
  if (encoding === undefined) return withoutMark(body)
  const layers = String(encoding).split(',')
  if (layers.length > LAYERS_MAX) return null
  let unpacked = body
  // The last one was laid on last.
  for (const layer of layers.toReversed()) {
    const inflated = await inflate(unpacked, layer, ANSWER_BYTES_MAX)
    if (typeof inflated === 'string') return null
    unpacked = inflated
  }
  return withoutMark(unpacked)
}

/** A byte order mark before JSON may be passed over. Source: RFC 8259, section 8.1. */
const withoutMark = (body: Buffer): Buffer =>
  MARKED_JSON.test(body.toString('latin1', 0, 4)) ? body.subarray(3) : body

const MARKED_JSON = /^\xef\xbb\xbf[{[]/
