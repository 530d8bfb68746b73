import type { ServerResponse } from 'node:http'
import { inflate, type InflateFault } from '../../http/input/inflate.ts'

/**
 * A body may unpack to this many times its packed size without taking from the shared room: calls
 * pack to a third or a tenth, and whoever sends that much might as well have sent it unpacked.
 */
const FREE_RATIO = 10
/** Bytes that any body may have: a connection takes as much. */
const FREE_BYTES = 64 * 1024
/** How many bodies of the largest size the room is for. */
const LARGEST_BODIES = 4
/** A body that turns out to be larger is unpacked again, with so many times the limit. */
const LIMIT_STEP = 4

/**
 * What the bodies of all calls may have in memory that was not sent: a few hundred bytes can unpack
 * to the largest body there is, many at once, and stay until their calls end.
 */
export class BodyRoom {
  /** Of one body, packed and unpacked. */
  readonly bytesMax: number
  private taken = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** The place that a body takes is given back when its call's answer has ended. */
  async unpack(
    packed: Buffer,
    encoding: string,
    answer: ServerResponse,
  ): Promise<Buffer | InflateFault | 'no-room'> {
    const free = Math.min(this.bytesMax, Math.max(FREE_BYTES, packed.length * FREE_RATIO))
    for (let limit = free; ; limit = Math.min(this.bytesMax, limit * LIMIT_STEP)) {
      const place = limit - free
      if (this.taken + place > this.bytesMax * LARGEST_BODIES) return 'no-room'
      this.taken += place
      const unpacked = await inflate(packed, encoding, limit)
      this.taken -= place
      if (typeof unpacked !== 'string') {
        this.hold(Math.max(0, unpacked.length - free), answer)
        return unpacked
      }
      if (unpacked !== 'too-large' || limit === this.bytesMax) return unpacked
    }
  }

  private hold(bytes: number, answer: ServerResponse): void {
    if (bytes === 0 || answer.closed) return
    this.taken += bytes
    answer.once('close', () => {
      this.taken -= bytes
    })
  }
}
