import { createHash } from 'node:crypto'

/**
 * An id for a call whose provider names none, and which clients need to say what a result belongs
 * to. `seed`: what makes the call this one and no other.
 */
export const madeId = (seed: string): string =>
  `call_${createHash('sha256').update(seed).digest('hex').slice(0, 24)}`
