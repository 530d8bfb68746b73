import { hash, verify } from '@node-rs/bcrypt'
import { PASSWORD_BYTES_MAX } from '../../contract/user.ts'
import { addressKey } from '../http/client-address.ts'
import { createHashingTurns } from './hashing-turns.ts'

/**
 * Hashes passwords in One API's column and format, so that an adopted installation can go back.
 * Only a limited number is hashed in parallel. Calls without a caller share the turns of the
 * program itself. Both methods throw `busy` if too many are waiting.
 */
export interface Passwords {
  hash(password: string, caller?: string): Promise<string>
  /**
   * Whether the password matches. A mismatch takes the same time with our own hash, with an adopted
   * hash of a lower work factor and without a hash, so that the response time does not reveal which
   * names exist.
   */
  verify(password: string, stored: string | null, caller?: string): Promise<boolean>
  /** Whether a hash has a lower work factor than new ones. */
  isOutdated(stored: string): boolean
}

/** Key for the turns of password hashing: the user, or the address if not signed in. */
export const hashingCaller = ({
  actor,
  address,
}: {
  actor?: { id: number } | null
  address: string
}): string => (actor ? `user ${actor.id}` : addressKey(address))

/** bcrypt work factor; each step doubles the time of a guess. */
export const PASSWORD_COST = 12

export function createPasswords(cost = PASSWORD_COST): Passwords {
  const turns = createHashingTurns()
  const dummies = new Map<number, Promise<string>>()
  /** Takes as long as a comparison with a hash of this work factor. */
  async function compareWithDummy(password: string, factor: number): Promise<void> {
    const dummy = dummies.get(factor) ?? hash('no password is this', factor)
    dummies.set(factor, dummy)
    await verify(password, await dummy)
  }

  async function fits(password: string, stored: string | null): Promise<boolean> {
    if (stored === null || stored === '' || isCut(password)) {
      await compareWithDummy(password, cost)
      return false
    }
    if (await verify(password, stored)) return true
    // Each work factor takes twice as long as the one below, so one comparison at each factor from
    // the stored one on adds up to the time of ours.
    const factors = Array.from({ length: cost }, (_, index) => index)
    for (const factor of factors.slice(factorOf(stored))) await compareWithDummy(password, factor)
    return false
  }

  return {
    hash: (password, caller = '') => turns.take(caller, () => hash(password, cost)),
    verify: (password, stored, caller = '') => turns.take(caller, () => fits(password, stored)),
    isOutdated: (stored) => factorOf(stored) < cost,
  }
}

/**
 * bcrypt ignores further bytes, so any longer password with the same start would match. No stored
 * password is longer: One API accepts 20 characters (`model/user.go`), and its bcrypt rejects
 * longer input (golang.org/x/crypto since 0.5.0).
 */
const isCut = (password: string): boolean => Buffer.byteLength(password) > PASSWORD_BYTES_MAX

/** Lowest work factor of bcrypt. */
const LEAST_FACTOR = 4

/** Work factor in a hash, `$2b$12$…`. */
const factorOf = (stored: string): number =>
  Math.max(LEAST_FACTOR, Number(/^\$2[aby]?\$(\d\d)\$/.exec(stored)?.[1] ?? LEAST_FACTOR))
