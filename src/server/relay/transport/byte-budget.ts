import { inflate, type InflateFault } from '../../http/input/inflate.ts'

/** Bodies up to this size are not counted: a connection takes as much memory anyway. */
const FREE_BYTES = 64 * 1024

/** An owner of bytes, and the share of the budget (0 to 1) that all its bytes may take. */
export interface Owner {
  name: string
  share: number
}

/** Why bytes are refused: the budget is used up, or an owner has reached its share. */
export type NoRoom = 'full' | 'share'

/**
 * Limits the memory that all bodies of one kind take together. While at least half of the budget is
 * free, an owner may take any of it; beyond that, no more than its share.
 */
export class ByteBudget {
  readonly bytesMax: number
  /** Bytes in use. */
  held = 0
  /** Number of refusals. */
  refusals = 0
  private readonly heldBy = new Map<string, number>()

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Opens an empty lease; the caller must release it. */
  lease(owners: readonly Owner[]): Lease {
    return new Lease(this, owners)
  }

  /** Adds `bytes` to the owners' use, or changes nothing and returns the reason. */
  add(owners: readonly Owner[], bytes: number): NoRoom | null {
    const noRoom = bytes > 0 ? this.roomFor(owners, bytes) : null
    if (noRoom !== null) {
      this.refusals += 1
      return noRoom
    }
    this.held += bytes
    for (const { name } of owners) {
      const held = (this.heldBy.get(name) ?? 0) + bytes
      if (held > 0) this.heldBy.set(name, held)
      else this.heldBy.delete(name)
    }
    return null
  }

  private roomFor(owners: readonly Owner[], bytes: number): NoRoom | null {
    if (this.held + bytes > this.bytesMax) return 'full'
    if (this.held + bytes <= this.bytesMax / 2) return null
    const hasShare = ({ name, share }: Owner): boolean =>
      (this.heldBy.get(name) ?? 0) + bytes <= share * this.bytesMax
    return owners.every(hasShare) ? null : 'share'
  }
}

/** The bytes of a budget that one body uses. */
export class Lease {
  private readonly budget: ByteBudget
  private readonly owners: readonly Owner[]
  private bytes = 0
  private isReleased = false

  constructor(budget: ByteBudget, owners: readonly Owner[]) {
    this.budget = budget
    this.owners = owners
  }

  /** Reserves memory for a body of `length` bytes; the previous size stays if there is no room. */
  resize(length: number): NoRoom | null {
    const bytes = Math.max(0, length - FREE_BYTES)
    if (bytes === this.bytes || this.isReleased) return null
    const noRoom = this.budget.add(this.owners, bytes - this.bytes)
    if (noRoom === null) this.bytes = bytes
    return noRoom
  }

  /** The lease has bytes that must be released. */
  get holds(): boolean {
    return this.bytes > 0
  }

  /** Releases all bytes and closes the lease. */
  release(): void {
    this.resize(0)
    this.isReleased = true
  }
}

/** The first attempt at decompression allows this many times the compressed size. */
const USUAL_RATIO = 10
/** A larger body is decompressed again, with this many times the limit. */
const LIMIT_STEP = 4

/**
 * Decodes the `Content-Encoding` of a body up to `bytesMax`. The lease, which covers the compressed
 * bytes, covers the limit of each attempt while it runs, and then the decoded bytes.
 */
export async function unpackInto(
  lease: Lease,
  packed: Buffer,
  { encoding, bytesMax }: { encoding: string; bytesMax: number },
): Promise<Buffer | InflateFault | NoRoom> {
  const first = Math.max(FREE_BYTES, packed.length * USUAL_RATIO)
  for (let limit = Math.min(bytesMax, first); ; limit = Math.min(bytesMax, limit * LIMIT_STEP)) {
    const noRoom = lease.resize(limit)
    if (noRoom !== null) return noRoom
    const unpacked = await inflate(packed, encoding, limit)
    if (typeof unpacked !== 'string') {
      lease.resize(unpacked.length)
      return unpacked
    }
    if (unpacked !== 'too-large' || limit === bytesMax) {
      lease.resize(packed.length)
      return unpacked
    }
  }
}
