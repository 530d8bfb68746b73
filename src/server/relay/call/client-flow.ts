import { onEarlyEnd, type BreakReason, type RelayCall, type RelayParts } from './call.ts'
import {
  callUpstream,
  type UpstreamCall,
  type UpstreamListener,
  type UpstreamRequest,
} from '../transport/upstream-call.ts'

/**
 * Passes an upstream's response on to the client as it comes: the upstream is read as fast as the
 * client takes it and no faster.
 */
export class ClientFlow {
  /** Why we gave the upstream up before it was done. */
  brokenOff: BreakReason | null = null
  /** The client's buffer is full, and the upstream is paused. */
  isStuck = false
  private readonly call: RelayCall
  private upstream: UpstreamCall | null = null

  constructor(call: RelayCall) {
    this.call = call
  }

  /** `finishes`: the answer is read to its end even when the client has gone. */
  start(
    { egress, abortLater }: RelayParts,
    request: UpstreamRequest,
    listener: UpstreamListener,
    { finishes = false }: { finishes?: boolean } = {},
  ): void {
    this.upstream = callUpstream(egress, request, listener)
    const abort = (): void => abortLater(() => this.abort())
    onEarlyEnd(this.call, finishes ? () => this.readOn() : abort, (reason) => {
      this.brokenOff = reason
      abort()
    })
  }

  write(bytes: Buffer): void {
    const { response } = this.call
    if (response.write(bytes) || this.isStuck) return
    this.isStuck = true
    this.pause()
    response.once('drain', () => this.readOn())
  }

  pause(): void {
    this.upstream?.pause()
  }

  /** The client takes what there is, or has gone: the upstream is read on. */
  readOn(): void {
    this.isStuck = false
    this.upstream?.resume()
  }

  abort(): void {
    this.upstream?.abort()
  }
}
