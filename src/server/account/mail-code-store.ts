import type { Selectable } from 'kysely'
import type { Queries } from '../db/database.ts'
import type { MailCodeRow } from '../db/schema.ts'

type StoredMailCode = Selectable<MailCodeRow>

/** Stores a code; one that was mailed before for the same purpose and address counts no longer. */
export async function putMailCode(db: Queries, code: StoredMailCode): Promise<void> {
  const { code_hash, user_id, attempts_left, expires_at } = code
  await db
    .insertInto('mail_codes')
    .values(code)
    .onConflict((conflict) =>
      conflict
        .columns(['purpose', 'address'])
        .doUpdateSet({ code_hash, user_id, attempts_left, expires_at }),
    )
    .execute()
}

export async function deleteExpiredMailCodes(db: Queries, nowSeconds: number): Promise<void> {
  await db.deleteFrom('mail_codes').where('expires_at', '<=', nowSeconds).execute()
}

interface MailCodeKey {
  purpose: string
  address: string
}

/**
 * Counts an attempt, then tells what to compare with: in one statement, so that many guesses at
 * once are as many attempts. Undefined when there is no code, or none that still counts.
 */
export const takeAttempt = (
  db: Queries,
  { purpose, address }: MailCodeKey,
  nowSeconds: number,
): Promise<StoredMailCode | undefined> =>
  db
    .updateTable('mail_codes')
    .set((eb) => ({ attempts_left: eb('attempts_left', '-', 1) }))
    .where('purpose', '=', purpose)
    .where('address', '=', address)
    .where('attempts_left', '>', 0)
    .where('expires_at', '>', nowSeconds)
    .returningAll()
    .executeTakeFirst()

/** It was no guess. */
export async function giveAttemptBack(db: Queries, codeHash: string): Promise<void> {
  await db
    .updateTable('mail_codes')
    .set((eb) => ({ attempts_left: eb('attempts_left', '+', 1) }))
    .where('code_hash', '=', codeHash)
    .execute()
}

/** Uses a code up. False when somebody else just did. */
export async function deleteMailCode(
  db: Queries,
  { purpose, address, codeHash }: MailCodeKey & { codeHash: string },
): Promise<boolean> {
  const result = await db
    .deleteFrom('mail_codes')
    .where('purpose', '=', purpose)
    .where('address', '=', address)
    .where('code_hash', '=', codeHash)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}
