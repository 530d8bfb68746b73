import { onEarlyEnd, type BreakReason, type RelayCall, type RelayParts } from './relay-call.ts'
import {
  callUpstream,
  type UpstreamCall,
  type UpstreamListener,
  type UpstreamRequest,
} from './transport/upstream-call.ts'

/**
 * An answer that goes on to its client as it comes: the upstream is read as fast as the client
 * takes it and no faster, and a client that takes nothing for as long as an upstream may be silent
 * is given up.
 */
export class ClientFlow {
  /** Why we gave the upstream up before it was done. */
  brokenOff: BreakReason | null = null
  private readonly call: RelayCall
  private upstream: UpstreamCall | null = null
  private stuckMs = 0
  /** Runs while the client takes nothing. */
  private stuck: NodeJS.Timeout | null = null

  constructor(call: RelayCall) {
    this.call = call
  }

  get isStuck(): boolean {
    return this.stuck !== null
  }

  /** `finishes`: the answer is read to its end even when the client has gone. */
  start(
    { egress, abortLater }: RelayParts,
    request: UpstreamRequest,
    listener: UpstreamListener,
    { finishes = false }: { finishes?: boolean } = {},
  ): void {
    this.stuckMs = request.idleTimeoutMs
    this.upstream = callUpstream(egress, request, listener)
    const abort = (): void => abortLater(() => this.abort())
    onEarlyEnd(this.call, finishes ? () => this.readOn() : abort, (reason) => {
      this.brokenOff = reason
      abort()
    })
  }

  write(bytes: Buffer): void {
    const { response } = this.call
    if (response.write(bytes) || this.stuck !== null) return
    this.pause()
    this.stuck = setTimeout(() => response.destroy(), this.stuckMs)
    response.once('drain', () => this.readOn())
  }

  pause(): void {
    this.upstream?.pause()
  }

  /** The client takes what there is, or has gone: the upstream is read on. */
  readOn(): void {
    this.letGo()
    this.upstream?.resume()
  }

  /** The answer is over: a client that takes nothing is no longer given up after a while. */
  letGo(): void {
    if (this.stuck !== null) clearTimeout(this.stuck)
    this.stuck = null
  }

  abort(): void {
    this.upstream?.abort()
  }
}
