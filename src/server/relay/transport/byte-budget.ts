import { inflate, type InflateFault } from '../../http/input/inflate.ts'

/** A body takes nothing from a budget up to this size: a connection takes as much memory. */
const FREE_BYTES = 64 * 1024

/** Whom bytes are held for, and which part of the budget (0 to 1) all that is its may take. */
export interface Owner {
  name: string
  share: number
}

/** Why bytes are refused: the budget is used up, or an owner has its share. */
export type NoRoom = 'full' | 'share'

/**
 * Limits how many bytes all bodies of one kind take in memory together. While at least half of the
 * budget is free, an owner may take any of it; beyond that, no more than its share.
 */
export class ByteBudget {
  readonly bytesMax: number
  /** Bytes that are held now. */
  held = 0
  /** How often bytes were refused. */
  refusals = 0
  private readonly heldBy = new Map<string, number>()

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Opens a lease of no bytes; whoever opens it releases it. */
  lease(owners: readonly Owner[]): Lease {
    return new Lease(this, owners)
  }

  /** Adds `bytes` to what the owners hold, or changes nothing and returns why not. */
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

/** The bytes that one body holds of a budget. */
export class Lease {
  private readonly budget: ByteBudget
  private readonly owners: readonly Owner[]
  private bytes = 0
  private isReleased = false

  constructor(budget: ByteBudget, owners: readonly Owner[]) {
    this.budget = budget
    this.owners = owners
  }

  /** Holds room for a body of `length` bytes; what it held before stays if there is no room. */
  resize(length: number): NoRoom | null {
    const bytes = Math.max(0, length - FREE_BYTES)
    if (bytes === this.bytes || this.isReleased) return null
    const noRoom = this.budget.add(this.owners, bytes - this.bytes)
    if (noRoom === null) this.bytes = bytes
    return noRoom
  }

  /** It holds bytes that must be given back. */
  get holds(): boolean {
    return this.bytes > 0
  }

  /** Gives everything back for good. */
  release(): void {
    this.resize(0)
    this.isReleased = true
  }
}

/** A first attempt at unpacking allows this many times the packed size. */
const USUAL_RATIO = 10
/** A body that turns out to be larger is unpacked again, with this many times the limit. */
const LIMIT_STEP = 4

/**
 * Undoes a `Content-Encoding` of a body up to `bytesMax`. The lease, which holds the packed bytes,
 * holds the limit of each attempt while it runs, and then the unpacked bytes.
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
