import type { Queries } from '../db/database.ts'

/** A passkey as stored. Times are in seconds. */
export interface StoredPasskey {
  /** Base64url. */
  credentialId: string
  userId: number
  name: string
  /** COSE key, base64url. */
  publicKey: string
  counter: number
  transports: string[]
  createdAt: number
  /** 0 if never used. */
  usedAt: number
}

interface PasskeyRow {
  credential_id: string
  user_id: number
  name: string
  public_key: string
  counter: number
  transports: string
  created_at: number
  used_at: number
}

const passkeyOf = (row: PasskeyRow): StoredPasskey => ({
  credentialId: row.credential_id,
  userId: row.user_id,
  name: row.name,
  publicKey: row.public_key,
  counter: row.counter,
  // Written by `insertPasskey` only.
  transports: JSON.parse(row.transports) as string[],
  createdAt: row.created_at,
  usedAt: row.used_at,
})

/** Stores a passkey. Returns false if the credential is stored already. */
export async function insertPasskey(trx: Queries, passkey: StoredPasskey): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('passkeys')
    .values({
      credential_id: passkey.credentialId,
      user_id: passkey.userId,
      name: passkey.name,
      public_key: passkey.publicKey,
      counter: passkey.counter,
      transports: JSON.stringify(passkey.transports),
      created_at: passkey.createdAt,
      used_at: passkey.usedAt,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Returns a passkey by its credential id, or undefined if unknown. */
export async function findPasskey(
  db: Queries,
  credentialId: string,
): Promise<StoredPasskey | undefined> {
  const row = await db
    .selectFrom('passkeys')
    .selectAll()
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
  return row && passkeyOf(row)
}

/** Returns the passkeys of a user, the oldest first. */
export async function passkeysOf(db: Queries, userId: number): Promise<StoredPasskey[]> {
  const rows = await db
    .selectFrom('passkeys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('credential_id')
    .execute()
  return rows.map(passkeyOf)
}

/** Whether the user has a passkey. */
export async function hasPasskey(db: Queries, userId: number): Promise<boolean> {
  const row = await db
    .selectFrom('passkeys')
    .select('user_id')
    .where('user_id', '=', userId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Stores a use. Returns false if another use has changed the counter since `passkey` was read: two
 * authenticators may hold the same key.
 */
export async function notePasskeyUse(
  db: Queries,
  passkey: StoredPasskey,
  { counter, nowSeconds }: { counter: number; nowSeconds: number },
): Promise<boolean> {
  const changed = await db
    .updateTable('passkeys')
    .set({ counter, used_at: nowSeconds })
    .where('credential_id', '=', passkey.credentialId)
    .where('counter', '=', passkey.counter)
    .executeTakeFirst()
  return changed.numUpdatedRows === 1n
}

/** Renames a passkey of a user. Returns false if the user has no passkey with this id. */
export async function renamePasskey(
  db: Queries,
  { userId, credentialId, name }: { userId: number; credentialId: string; name: string },
): Promise<boolean> {
  const changed = await db
    .updateTable('passkeys')
    .set({ name })
    .where('credential_id', '=', credentialId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return changed.numUpdatedRows === 1n
}

/**
 * Deletes a passkey of a user and returns its name; undefined if the user has no passkey with this
 * id.
 */
export async function deletePasskey(
  trx: Queries,
  userId: number,
  credentialId: string,
): Promise<string | undefined> {
  const deleted = await trx
    .deleteFrom('passkeys')
    .where('credential_id', '=', credentialId)
    .where('user_id', '=', userId)
    .returning('name')
    .executeTakeFirst()
  return deleted?.name
}

/** Deletes the passkeys of a user. Returns whether there were any. */
export async function deletePasskeysOf(trx: Queries, userId: number): Promise<boolean> {
  const deleted = await trx.deleteFrom('passkeys').where('user_id', '=', userId).executeTakeFirst()
  return deleted.numDeletedRows > 0n
}

/** The use of a challenge. */
export type ChallengePurpose = 'register' | 'login' | 'verify'

/** A challenge that a browser is to sign. */
export interface PasskeyChallenge {
  idHash: string
  /** Base64url. */
  challenge: string
  purpose: ChallengePurpose
  /** 0 for `login`. */
  userId: number
}

/** Stores a challenge; expired ones are deleted. */
export async function insertPasskeyChallenge(
  db: Queries,
  challenge: PasskeyChallenge & { expiresAtSeconds: number; nowSeconds: number },
): Promise<void> {
  await db
    .deleteFrom('passkey_challenges')
    .where('expires_at', '<=', challenge.nowSeconds)
    .execute()
  await db
    .insertInto('passkey_challenges')
    .values({
      id_hash: challenge.idHash,
      challenge: challenge.challenge,
      purpose: challenge.purpose,
      user_id: challenge.userId,
      expires_at: challenge.expiresAtSeconds,
    })
    .execute()
}

/** Deletes and returns a challenge; undefined if it has expired or is for something else. */
export async function takePasskeyChallenge(
  db: Queries,
  { idHash, purpose, userId }: Omit<PasskeyChallenge, 'challenge'>,
  nowSeconds: number,
): Promise<string | undefined> {
  const row = await db
    .deleteFrom('passkey_challenges')
    .where('id_hash', '=', idHash)
    .where('purpose', '=', purpose)
    .where('user_id', '=', userId)
    .where('expires_at', '>', nowSeconds)
    .returning('challenge')
    .executeTakeFirst()
  return row?.challenge
}
