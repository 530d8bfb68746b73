import { EgressRefused, type Egress } from './egress.ts'

/**
 * A single request to a server that the operator configured: sign-in providers, human check,
 * message pushers.
 */
export interface HttpCall {
  url: string
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  /** Address of the HTTP proxy; absent for the default. */
  proxy?: string
  body?: string
  /** Total time, from connecting to the last byte. */
  timeoutMs: number
  /** Maximum size of the response. */
  bytesMax: number
}

export interface HttpAnswer {
  status: number
  /** `''` if missing. */
  contentType: string
  text: string
}

/** The request failed. Contains nothing from the response. */
export class HttpCallFailed extends Error {
  readonly reason: 'refused' | 'unreachable' | 'timeout' | 'too_large'

  constructor(reason: HttpCallFailed['reason'], cause?: unknown) {
    super(`the call failed: ${reason}`, { cause })
    this.reason = reason
  }
}

/**
 * Sends a request through the egress; redirects are returned as responses. Throws `HttpCallFailed`.
 */
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
      // The library types a part as `any`; without an encoding it is a buffer.
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

/** Returns the members of a JSON object, or null if the text is not one. */
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
