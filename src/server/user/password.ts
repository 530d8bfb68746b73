import { hash, verify } from '@node-rs/bcrypt'

/**
 * Passwords in One API's own column and format, so that an adopted installation can go back.
 */
export interface Passwords {
  hash(password: string): Promise<string>
  /**
   * Whether the password fits. What does not fit costs the same time with a hash of ours, with an
   * adopted one of a lower work factor and with none, so that the answer's time does not tell which
   * names exist.
   */
  verify(password: string, stored: string | null): Promise<boolean>
}

/** Work factor; each step doubles the time of a guess. */
export const PASSWORD_COST = 12

export function createPasswords(cost = PASSWORD_COST): Passwords {
  const dummies = new Map<number, Promise<string>>()
  /** Takes as long as a comparison with a hash of this work factor. */
  async function compareInVain(password: string, factor: number): Promise<void> {
    const dummy = dummies.get(factor) ?? hash('no password is this', factor)
    dummies.set(factor, dummy)
    await verify(password, await dummy)
  }

  return {
    hash: (password) => hash(password, cost),
    async verify(password, stored) {
      if (stored === null || stored === '') {
        await compareInVain(password, cost)
        return false
      }
      if (await verify(password, stored)) return true
      // Each factor is twice the one before: one of each from the stored one on make up for ours.
      const factors = Array.from({ length: cost }, (_, index) => index)
      for (const factor of factors.slice(factorOf(stored))) await compareInVain(password, factor)
      return false
    },
  }
}

/** bcrypt knows none below. */
const LEAST_FACTOR = 4

/** The work factor that a hash names, `$2b$12$…`. */
const factorOf = (stored: string): number =>
  Math.max(LEAST_FACTOR, Number(/^\$2[aby]?\$(\d\d)\$/.exec(stored)?.[1] ?? LEAST_FACTOR))
