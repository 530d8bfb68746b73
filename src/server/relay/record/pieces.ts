/** Bytes that are kept of one body. */
export const BODY_BYTES_MAX = 2 * 1024 * 1024

/** A body as it came, in pieces with their times; of a long one the beginning. */
export class Pieces {
  /** Milliseconds and bytes of each piece that is kept. */
  readonly sizes: [ms: number, bytes: number][] = []
  /** Bytes that there were. */
  length = 0
  private readonly chunks: Buffer[] = []
  private kept = 0

  add(chunk: Buffer, ms: number): void {
    this.length += chunk.length
    const room = BODY_BYTES_MAX - this.kept
    if (chunk.length === 0 || room === 0) return
    // A copy of what is cut off, so that the rest can be let go.
    const bytes = chunk.length <= room ? chunk : Buffer.from(chunk.subarray(0, room))
    this.kept += bytes.length
    this.chunks.push(bytes)
    this.sizes.push([Math.round(ms * 10) / 10, bytes.length])
  }

  get isCut(): boolean {
    return this.length > this.kept
  }

  bytes(): Buffer {
    return Buffer.concat(this.chunks)
  }
}
