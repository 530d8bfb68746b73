import type { Queries } from '../db/database.ts'
import { decryptionIn, encryptionIn } from '../secrets/secret-store.ts'

/** The second factor of a user, as stored. */
export interface StoredSecondFactor {
  userId: number
  /** Base32. */
  secret: string
  /** False while the user has not entered a first code. */
  isEnabled: boolean
}

/** Returns the second factor of a user, or undefined if not set. */
export async function findSecondFactor(
  db: Queries,
  userId: number,
): Promise<StoredSecondFactor | undefined> {
  const row = await db
    .selectFrom('second_factors')
    .select(['secret', 'enabled_at'])
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const secret = decryptionIn(db)('second_factors.secret', userId, row.secret)
  return { userId, secret, isEnabled: row.enabled_at !== 0 }
}

/** Whether the user needs a second factor to sign in. */
export async function hasSecondFactor(db: Queries, userId: number): Promise<boolean> {
  return (await findSecondFactor(db, userId))?.isEnabled ?? false
}

/** Stores a new secret that is not enabled yet, with its recovery codes, in place of an older one. */
export async function insertPending(
  trx: Queries,
  {
    userId,
    secret,
    codeHashes,
    nowSeconds,
  }: { userId: number; secret: string; codeHashes: readonly string[]; nowSeconds: number },
): Promise<void> {
  await deleteSecondFactor(trx, userId)
  const encrypted = (await encryptionIn(trx))('second_factors.secret', userId, secret)
  await trx
    .insertInto('second_factors')
    .values({
      user_id: userId,
      secret: encrypted,
      enabled_at: 0,
      last_step: 0,
      created_at: nowSeconds,
    })
    .execute()
  await insertRecoveryCodes(trx, userId, codeHashes)
}

/** Replaces the recovery codes of a user. */
export async function replaceRecoveryCodes(
  trx: Queries,
  userId: number,
  codeHashes: readonly string[],
): Promise<void> {
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await insertRecoveryCodes(trx, userId, codeHashes)
}

async function insertRecoveryCodes(
  trx: Queries,
  userId: number,
  codeHashes: readonly string[],
): Promise<void> {
  const rows = codeHashes.map((code_hash) => ({ user_id: userId, code_hash }))
  await trx.insertInto('recovery_codes').values(rows).execute()
}

/**
 * Enables the second factor: sign-in requires it from now on. Returns false if its secret was
 * replaced.
 */
export async function enable(
  trx: Queries,
  { userId, secret }: StoredSecondFactor,
  nowSeconds: number,
): Promise<boolean> {
  const stored = await trx
    .selectFrom('second_factors')
    .select('secret')
    .where('user_id', '=', userId)
    .executeTakeFirst()
  const text = stored?.secret ?? ''
  if (decryptionIn(trx)('second_factors.secret', userId, text) !== secret) return false
  const changed = await trx
    .updateTable('second_factors')
    .set({ enabled_at: nowSeconds })
    .where('user_id', '=', userId)
    .where('secret', '=', text)
    .executeTakeFirst()
  return changed.numUpdatedRows === 1n
}

/**
 * Uses up a 30-second step. Returns false if this step, or a later one, was used before: each code
 * counts once.
 */
export async function useStep(db: Queries, userId: number, step: number): Promise<boolean> {
  const changed = await db
    .updateTable('second_factors')
    .set({ last_step: step })
    .where('user_id', '=', userId)
    .where('last_step', '<', step)
    .executeTakeFirst()
  return changed.numUpdatedRows === 1n
}

/** Uses up a recovery code. Returns false if it is unknown or used. */
export async function useRecoveryCode(
  db: Queries,
  userId: number,
  codeHash: string,
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('code_hash', '=', codeHash)
    .executeTakeFirst()
  return deleted.numDeletedRows === 1n
}

/** Returns the unused recovery codes of a user that are bcrypt hashes of New API. */
export async function adoptedCodeHashes(db: Queries, userId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('recovery_codes')
    .select('code_hash')
    .where('user_id', '=', userId)
    .where('code_hash', 'like', '$2%')
    .execute()
  return rows.map((row) => row.code_hash)
}

/** Returns the number of unused recovery codes of a user. */
export async function countRecoveryCodes(db: Queries, userId: number): Promise<number> {
  const row = await db
    .selectFrom('recovery_codes')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Removes the second factor of a user, its recovery codes and pending sign-ins. */
export async function deleteSecondFactor(trx: Queries, userId: number): Promise<boolean> {
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await trx.deleteFrom('second_factor_challenges').where('user_id', '=', userId).execute()
  const deleted = await trx
    .deleteFrom('second_factors')
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return deleted.numDeletedRows === 1n
}

/** A sign-in with the correct password that waits for the second factor. */
export interface Challenge {
  userId: number
  mustChangePassword: boolean
}

/** Stores a challenge; expired ones are deleted. */
export async function insertChallenge(
  db: Queries,
  challenge: Challenge & { idHash: string; expiresAtSeconds: number; nowSeconds: number },
): Promise<void> {
  await db
    .deleteFrom('second_factor_challenges')
    .where('expires_at', '<=', challenge.nowSeconds)
    .execute()
  await db
    .insertInto('second_factor_challenges')
    .values({
      id_hash: challenge.idHash,
      user_id: challenge.userId,
      must_change_password: challenge.mustChangePassword,
      expires_at: challenge.expiresAtSeconds,
    })
    .execute()
}

/** Returns a challenge that has not expired, or undefined. */
export async function findChallenge(
  db: Queries,
  idHash: string,
  nowSeconds: number,
): Promise<Challenge | undefined> {
  const row = await db
    .selectFrom('second_factor_challenges')
    .selectAll()
    .where('id_hash', '=', idHash)
    .where('expires_at', '>', nowSeconds)
    .executeTakeFirst()
  return row && { userId: row.user_id, mustChangePassword: row.must_change_password }
}

/** Deletes a challenge. Returns false if another call has used it. */
export async function takeChallenge(db: Queries, idHash: string): Promise<boolean> {
  const deleted = await db
    .deleteFrom('second_factor_challenges')
    .where('id_hash', '=', idHash)
    .executeTakeFirst()
  return deleted.numDeletedRows === 1n
}
