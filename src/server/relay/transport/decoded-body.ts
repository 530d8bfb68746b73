import { inflate } from '../../http/input/inflate.ts'

/** Bytes of an answer that are taken; embeddings of a large batch are tens of megabytes. */
export const ANSWER_BYTES_MAX = 128 * 1024 * 1024

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** The body without its compression; null when it cannot be read or is larger than what is taken. */
export async function decodedBody({ headers, body }: Answer): Promise<Buffer | null> {
  const encoding = headers['content-encoding']
  if (encoding === undefined) return withoutMark(body)
  const inflated = await inflate(body, String(encoding), ANSWER_BYTES_MAX)
  return typeof inflated === 'string' ? null : withoutMark(inflated)
}

/** A byte order mark before JSON may be passed over. Source: RFC 8259, section 8.1. */
const withoutMark = (body: Buffer): Buffer =>
  MARKED_JSON.test(body.toString('latin1', 0, 4)) ? body.subarray(3) : body

const MARKED_JSON = /^\xef\xbb\xbf[{[]/
