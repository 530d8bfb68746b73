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
 * Codes that prove access to a mailbox. They are stored in the database, so that any process
 * accepts a code sent by another, and only as slow hashes, so that a copy of the database is
 * useless. A code is valid once and for ten minutes, and is deleted after five wrong attempts. The
 * number of codes sent to one address is limited (`http/rate-limit.ts`).
 */

type Purpose = 'verify' | 'reset'

/** In seconds; defined by the wire. */
const LIFE_SECONDS = 600
const ATTEMPTS_MAX = 5

/** Without characters that look alike. */
const CODE_SIGNS = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'
/** Number of characters that One API's users expect. */
const CODE_LENGTH = 6

/** Returns a code that users type from a mail. */
export const newMailCode = (): string =>
  Array.from({ length: CODE_LENGTH }, () => CODE_SIGNS[randomInt(CODE_SIGNS.length)]).join('')

/** Returns a code for a link. */
export const newLinkCode = newHexSecret

/** Normalizes a code for comparison: ignores case and whitespace from copying. */
const plainCode = (code: string): string => code.replaceAll(/\s/g, '').toUpperCase()

export const hashMailCode = ({ passwords }: App, code: string, caller: string): Promise<string> =>
  passwords.hash(plainCode(code), caller)

/** Stores a code for the address in place of an earlier one. */
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
  /** User id that a reset code is for; 0 for other codes. */
  userId: number
  /**
   * Uses up the code, inside the transaction of the action that it allows. Throws the same error if
   * another request was faster.
   */
  use(trx: Queries): Promise<void>
}

/** Maximum length of a submitted code; the rest is cut off. */
const CODE_TEXT_MAX = 64

/** Checks a code. Throws `wrong`, after the same time whether a code exists or not. */
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
    // The code was right or was not compared, so it does not count as a guess.
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
