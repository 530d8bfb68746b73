import { hash, verify } from '@node-rs/bcrypt'

/**
 * Passwords in One API's own column and format, so that an adopted installation can go back.
 */
export interface Passwords {
  hash(password: string): Promise<string>
  /**
   * Whether the password fits. A missing or empty hash costs the same time and fits nothing, so
   * that the answer's time does not tell which names exist.
   */
  verify(password: string, stored: string | null): Promise<boolean>
}

/** Work factor; each step doubles the time of a guess. */
export const PASSWORD_COST = 12

export function createPasswords(cost = PASSWORD_COST): Passwords {
  let dummy: Promise<string> | undefined
  return {
    hash: (password) => hash(password, cost),
    async verify(password, stored) {
      if (stored !== null && stored !== '') return verify(password, stored)
      dummy ??= hash('no password is this', cost)
      await verify(password, await dummy)
      return false
    },
  }
}
