import { hash, verify } from '@node-rs/bcrypt'
import { PASSWORD_BYTES_MAX } from '../../contract/user.ts'
import { addressKey } from '../http/client-address.ts'
import { createHashingTurns } from './hashing-turns.ts'

/**
 * Passwords in One API's own column and format, so that an adopted installation can go back. Only
 * so many are hashed at once; a caller that is not named shares its turns with the program itself.
 * Both throw `busy` when too many wait.
 */
export interface Passwords {
  hash(password: string, caller?: string): Promise<string>
  /**
   * Whether the password fits. What does not fit costs the same time with a hash of ours, with an
   * adopted one of a lower work factor and with none, so that the answer's time does not tell which
   * names exist.
   */
  verify(password: string, stored: string | null, caller?: string): Promise<boolean>
}

/** By whom passwords take turns: a user, or the address of somebody who is not signed in. */
export const hashingCaller = ({
  actor,
  address,
}: {
  actor?: { id: number } | null
  address: string
}): string => (actor ? `user ${actor.id}` : addressKey(address))

/** Work factor; each step doubles the time of a guess. */
export const PASSWORD_COST = 12

export function createPasswords(cost = PASSWORD_COST): Passwords {
  const turns = createHashingTurns()
  const dummies = new Map<number, Promise<string>>()
  /** Takes as long as a comparison with a hash of this work factor. */
  async function compareInVain(password: string, factor: number): Promise<void> {
    const dummy = dummies.get(factor) ?? hash('no password is this', factor)
    dummies.set(factor, dummy)
    await verify(password, await dummy)
  }

  async function fits(password: string, stored: string | null): Promise<boolean> {
    if (stored === null || stored === '' || isCut(password)) {
      await compareInVain(password, cost)
      return false
    }
    if (await verify(password, stored)) return true
    // Each factor is twice the one before: one of each from the stored one on make up for ours.
    const factors = Array.from({ length: cost }, (_, index) => index)
    for (const factor of factors.slice(factorOf(stored))) await compareInVain(password, factor)
    return false
  }

  return {
    hash: (password, caller = '') => turns.take(caller, () => hash(password, cost)),
    verify: (password, stored, caller = '') => turns.take(caller, () => fits(password, stored)),
  }
}

/**
 * bcrypt reads no more bytes: any longer password would fit that begins alike. Nobody has one: One
 * API takes 20 characters (`model/user.go`), and its bcrypt refuses to hash more bytes
 * (golang.org/x/crypto since 0.5.0).
 */
const isCut = (password: string): boolean => Buffer.byteLength(password) > PASSWORD_BYTES_MAX

/** bcrypt knows none below. */
const LEAST_FACTOR = 4

/** The work factor that a hash names, `$2b$12$…`. */
const factorOf = (stored: string): number =>
  Math.max(LEAST_FACTOR, Number(/^\$2[aby]?\$(\d\d)\$/.exec(stored)?.[1] ?? LEAST_FACTOR))
