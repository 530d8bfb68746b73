import type { ProviderChannel } from '../../protocols/dialect/provider.ts'
import { parseJson, recordOr } from '../../json/json-value.ts'
import {
  callUpstream,
  type UpstreamCall,
  type UpstreamListener,
  type UpstreamRequest,
  type Via,
} from '../../transport/upstream-call.ts'
import { forgetBaiduToken } from './access-token.ts'
import { STALE_CODES } from './errors.ts'

/**
 * A token may be revoked before it expires; the next request then fails. That request is repeated
 * once with a fresh token: the channel is not to blame, and its keys are valid.
 */
export const withFreshToken =
  (channel: ProviderChannel): Via =>
  (egress, request, listener) => {
    let isAborted = false
    let current: UpstreamCall
    let token = ''
    const noted = notingToken(request, (used) => (token = used))
    const again = (): void => {
      forgetBaiduToken(channel.key, token)
      current = callUpstream(egress, request, listener)
      if (isAborted) current.abort()
    }
    current = callUpstream(egress, noted, new FirstTry(listener, () => current.abort(), again))
    return {
      abort() {
        isAborted = true
        current.abort()
      },
      pause: () => current.pause(),
      resume: () => current.resume(),
    }
  }

/** Wraps the request to record the token that it is sent with. */
function notingToken(request: UpstreamRequest, note: (token: string) => void): UpstreamRequest {
  const { seal } = request
  if (seal === undefined) return request
  return {
    ...request,
    async seal(egress, sent) {
      const sealed = await seal(egress, sent)
      const query = sealed.kind === 'sealed' ? sealed.query : ''
      note(new URLSearchParams(query).get('access_token') ?? '')
      return sealed
    },
  }
}

/** Error bodies are short; a longer body is a successful response. */
const REFUSAL_BYTES_MAX = 4096

/** Passes everything on, except a response that begins with an error about the token. */
class FirstTry implements UpstreamListener {
  private readonly listener: UpstreamListener
  private readonly giveUp: () => void
  private readonly again: () => void
  /** Status and headers; held back until the response is known to be no token error. */
  private head: Parameters<UpstreamListener['onHead']> | null = null
  private isStale = false

  constructor(listener: UpstreamListener, giveUp: () => void, again: () => void) {
    this.listener = listener
    this.giveUp = giveUp
    this.again = again
  }

  onHead(...head: Parameters<UpstreamListener['onHead']>): void {
    this.head = head
  }

  onData(chunk: Buffer): void {
    if (this.isStale) return
    if (this.head !== null && refusesToken(chunk)) {
      this.isStale = true
      this.giveUp()
      return
    }
    this.passHead()
    this.listener.onData(chunk)
  }

  onEnd(): void {
    if (this.isStale) {
      this.again()
      return
    }
    this.passHead()
    this.listener.onEnd()
  }

  onFailure(...failure: Parameters<UpstreamListener['onFailure']>): void {
    if (this.isStale) {
      this.again()
      return
    }
    this.passHead()
    this.listener.onFailure(...failure)
  }

  private passHead(): void {
    const { head } = this
    this.head = null
    if (head !== null) this.listener.onHead(...head)
  }
}

function refusesToken(chunk: Buffer): boolean {
  if (chunk.length > REFUSAL_BYTES_MAX || !chunk.includes('error_code')) return false
  return STALE_CODES.has(recordOr(parseJson(chunk.toString('utf8'))).error_code)
}
