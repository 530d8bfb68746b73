/** Maximum bytes that are stored of one body. */
export const BODY_BYTES_MAX = 2 * 1024 * 1024

/** A body as received, in pieces with their times; only the beginning of a long body is stored. */
export class Pieces {
  /** Milliseconds and bytes of each stored piece. */
  readonly sizes: [ms: number, bytes: number][] = []
  /** Total bytes, including those that are not stored. */
  length = 0
  private readonly chunks: Buffer[] = []
  private kept = 0

  add(chunk: Buffer, ms: number): void {
    this.length += chunk.length
    const room = BODY_BYTES_MAX - this.kept
    if (chunk.length === 0 || room === 0) return
    // Copies the first part of the chunk, so that the rest can be garbage-collected.
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
