import type { Selectable } from 'kysely'
import type { Queries } from '../db/database.ts'
import type { MailCodeRow } from '../db/schema.ts'

type StoredMailCode = Selectable<MailCodeRow>

/** Stores a code and replaces an earlier one for the same purpose and address. */
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
 * Counts an attempt and returns the stored code, in one statement, so that parallel guesses all
 * count. Returns undefined if there is no valid code.
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

/** Takes back a counted attempt. */
export async function giveAttemptBack(db: Queries, codeHash: string): Promise<void> {
  await db
    .updateTable('mail_codes')
    .set((eb) => ({ attempts_left: eb('attempts_left', '+', 1) }))
    .where('code_hash', '=', codeHash)
    .execute()
}

/** Uses up a code. Returns false if another caller just did. */
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
