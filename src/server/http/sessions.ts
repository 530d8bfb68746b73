import { createHmac, randomBytes } from 'node:crypto'
import { AppError } from '../app-error.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../db/database.ts'
import { sameText, sha256 } from '../secrets.ts'
import {
  deleteExpiredSessions,
  deleteSession,
  findSession,
  insertSession,
  noteSessionUse,
  type StoredSession,
} from '../user/session-store.ts'
import { lockUnchanged, type StoredUser } from '../user/user-store.ts'

export const SESSION_COOKIE = 'session'
/** In seconds: 30 days from sign-in. */
export const SESSION_LIFE_SECONDS = 30 * 86_400

/**
 * Sessions are rows. The cookie contains a random id, signed so that forged ones need no lookup.
 * Role and status are read from the user's row with every request.
 */
export interface Sessions {
  /**
   * Creates a session and returns the cookie's value. Throws `wrong_credentials` if `comparedWith`,
   * the row at sign-in, is no longer current: a new password or a ban ends sessions, and must
   * include one that is being created.
   */
  start(
    userId: number,
    mustChangePassword: boolean,
    over?: { comparedWith?: StoredUser | undefined; userAgent?: string; address?: string },
  ): Promise<string>
  find(cookie: string): Promise<StoredSession | null>
  end(cookie: string): Promise<void>
  /** Returns a signature that proves that another cookie's text is from this server. */
  sign(text: string): string
}

/** Maximum delay of the stored time of use; more precision would cost more writes. */
const USE_STEP_SECONDS = 60

/**
 * `secret` signs cookies. `idleSeconds` returns the seconds without use after which a session ends;
 * 0 if never.
 */
export function createSessions({
  database,
  clock,
  secret,
  idleSeconds,
}: {
  database: Database
  clock: Clock
  secret: string
  idleSeconds(): number
}): Sessions {
  const sign = (id: string): string => createHmac('sha256', secret).update(id).digest('base64url')
  const idOf = (cookie: string): string | null => {
    const [id = '', signature = ''] = cookie.split('.')
    return id !== '' && sameText(sign(id), signature) ? id : null
  }
  return {
    async start(userId, mustChangePassword, { comparedWith, userAgent = '', address = '' } = {}) {
      const id = randomBytes(32).toString('base64url')
      const nowSeconds = clock.nowSeconds()
      await deleteExpiredSessions(database.write, nowSeconds)
      await database.write.transaction().execute(async (trx) => {
        if (comparedWith !== undefined && !(await lockUnchanged(trx, comparedWith))) {
          throw new AppError('wrong_credentials')
        }
        await insertSession(trx, {
          idHash: sha256(id),
          userId,
          nowSeconds,
          expiresAtSeconds: nowSeconds + SESSION_LIFE_SECONDS,
          mustChangePassword,
          userAgent,
          address,
        })
      })
      return `${id}.${sign(id)}`
    },
    async find(cookie) {
      const id = idOf(cookie)
      if (id === null) return null
      const nowSeconds = clock.nowSeconds()
      const limit = idleSeconds()
      const idHash = sha256(id)
      const session = await findSession(database.read, idHash, { nowSeconds, idleSeconds: limit })
      const step = limit === 0 ? USE_STEP_SECONDS : Math.min(USE_STEP_SECONDS, limit / 4)
      if (session !== null && nowSeconds - session.usedAtSeconds >= step) {
        // Runs in the background, so that a read-only database does not fail read requests.
        void noteSessionUse(database.write, idHash, nowSeconds).catch(() => {})
      }
      return session
    },
    async end(cookie) {
      const id = idOf(cookie)
      if (id !== null) await deleteSession(database.write, sha256(id))
    },
    sign,
  }
}
