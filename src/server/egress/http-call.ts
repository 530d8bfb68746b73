import { EgressRefused, type Egress } from './egress.ts'

/** One question to a server that an operator named: sign-in providers, human check, pushers. */
export interface HttpCall {
  url: string
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  /** Address of the HTTP proxy to take; absent: the usual way. */
  proxy?: string
  body?: string
  /** For all of it, from connecting to the last byte. */
  timeoutMs: number
  /** Longest answer that is read. */
  bytesMax: number
}

export interface HttpAnswer {
  status: number
  /** `''` when the other side names none. */
  contentType: string
  text: string
}

/** Why there is no answer. Holds nothing that the other side said. */
export class HttpCallFailed extends Error {
  readonly reason: 'refused' | 'unreachable' | 'timeout' | 'too_large'

  constructor(reason: HttpCallFailed['reason'], cause?: unknown) {
    super(`the call failed: ${reason}`, { cause })
    this.reason = reason
  }
}

/** Asks by way of the egress rules; redirects are answers. Throws `HttpCallFailed`. */
export async function callHttp(egress: Egress, call: HttpCall): Promise<HttpAnswer> {
  const signal = AbortSignal.timeout(call.timeoutMs)
  try {
    const { origin, pathname, search } = new URL(call.url)
    const { statusCode, headers, body } = await egress.dispatcher(origin, call.proxy).request({
      origin,
      path: pathname + search,
      method: call.method,
      headers: call.headers ?? {},
      body: call.body ?? null,
      signal,
    })
    const parts: Buffer[] = []
    let length = 0
    for await (const part of body) {
      // The library's type of a part is `any`; without an encoding they are bytes.
      const bytes = part as Buffer
      length += bytes.length
      if (length > call.bytesMax) {
        body.destroy()
        throw new HttpCallFailed('too_large')
      }
      parts.push(bytes)
    }
    const contentType = String(headers['content-type'] ?? '')
    return { status: statusCode, contentType, text: Buffer.concat(parts).toString('utf8') }
  } catch (error) {
    if (error instanceof HttpCallFailed) throw error
    if (error instanceof EgressRefused) throw new HttpCallFailed('refused', error)
    throw new HttpCallFailed(signal.aborted ? 'timeout' : 'unreachable', error)
  }
}

/** The members of a JSON object; null when the text is none. */
export function jsonMembers(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? { ...value }
      : null
  } catch {
    return null
  }
}
