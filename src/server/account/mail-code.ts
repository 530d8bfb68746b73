import { randomInt } from 'node:crypto'
import type { ErrorCode } from '../../contract/errors.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { Queries } from '../db/database.ts'
import { newHexSecret } from '../secrets.ts'
import { addressKeyOf } from './email.ts'
import {
  deleteExpiredMailCodes,
  deleteMailCode,
  giveAttemptBack,
  putMailCode,
  takeAttempt,
} from './mail-code-store.ts'

/**
 * Codes that prove that somebody reads a mailbox. They live in the database, so that any process
 * takes what another one sent; only a slow hash of them does, so that a copy of the database opens
 * nothing. A code serves once, for ten minutes, and is gone after five wrong attempts; how many are
 * sent to one address is limited (`http/rate-limit.ts`).
 */

type Purpose = 'verify' | 'reset'

/** Seconds, the wire's. */
const LIFE_SECONDS = 600
const ATTEMPTS_MAX = 5

/** Without signs that look alike. */
const CODE_SIGNS = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'
/** Characters, as its users know it. */
const CODE_LENGTH = 6

/** What people type over from a mail. */
export const newMailCode = (): string =>
  Array.from({ length: CODE_LENGTH }, () => CODE_SIGNS[randomInt(CODE_SIGNS.length)]).join('')

/** What stands in a link. */
export const newLinkCode = newHexSecret

/** How a code is compared: typed in any case, with blanks from copying. */
const plainCode = (code: string): string => code.replaceAll(/\s/g, '').toUpperCase()

export const hashMailCode = ({ passwords }: App, code: string, caller: string): Promise<string> =>
  passwords.hash(plainCode(code), caller)

/** From now on this code counts for the address, and no earlier one. */
export async function keepMailCode(
  { database, clock }: App,
  code: { purpose: Purpose; email: string; codeHash: string; userId?: number },
): Promise<void> {
  const nowSeconds = clock.nowSeconds()
  await deleteExpiredMailCodes(database.write, nowSeconds)
  await putMailCode(database.write, {
    purpose: code.purpose,
    address: addressKeyOf(code.email),
    code_hash: code.codeHash,
    user_id: code.userId ?? 0,
    attempts_left: ATTEMPTS_MAX,
    expires_at: nowSeconds + LIFE_SECONDS,
  })
}

export interface RightCode {
  /** Whom a reset code is for; 0 for the others. */
  userId: number
  /**
   * Uses the code up, inside of the transaction that does what it allows. Throws the same refusal
   * when somebody else was faster.
   */
  use(trx: Queries): Promise<void>
}

/** Longest text that is compared; a longer one is no code. */
const CODE_TEXT_MAX = 64

/** Compares a code. Throws `wrong`, after the same time whether there is a code or not. */
export async function checkMailCode(
  { database, clock, passwords }: App,
  given: { purpose: Purpose; email: string; code: string; caller: string },
  wrong: ErrorCode,
): Promise<RightCode> {
  const key = { purpose: given.purpose, address: addressKeyOf(given.email) }
  const stored = await takeAttempt(database.write, key, clock.nowSeconds())
  const code = plainCode(given.code).slice(0, CODE_TEXT_MAX)
  let isWrong = false
  try {
    isWrong = !(await passwords.verify(code, stored?.code_hash ?? null, given.caller))
  } finally {
    // Right, or not even compared: it was no guess.
    if (stored !== undefined && !isWrong) await giveAttemptBack(database.write, stored.code_hash)
  }
  if (stored === undefined || isWrong) throw new AppError(wrong)
  const codeHash = stored.code_hash
  return {
    userId: stored.user_id,
    async use(trx) {
      if (!(await deleteMailCode(trx, { ...key, codeHash }))) throw new AppError(wrong)
    },
  }
}
