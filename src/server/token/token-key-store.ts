import { randomBytes } from 'node:crypto'
import type { Queries } from '../db/database.ts'
import { TOKEN_HASH_KEY } from '../db/setting-names.ts'
import { readOrCreateSetting } from '../db/setting-store.ts'
import { decryptionIn, encryptionIn } from '../secrets/secret-store.ts'
import { hashedKey, isHashedKey, keyHint } from './token-key.ts'

const SECRET_BYTES = 32

/**
 * Returns the secret of the HMAC of token keys. It is generated once and stored as a secret, so
 * that neither a new `SECRETS_KEY` nor a new `SESSION_SECRET` invalidates tokens.
 */
export async function tokenHashSecret(db: Queries): Promise<string> {
  const fresh = randomBytes(SECRET_BYTES).toString('hex')
  const encrypt = await encryptionIn(db)
  const name = 'settings.value'
  const stored = await readOrCreateSetting(db, TOKEN_HASH_KEY, encrypt(name, TOKEN_HASH_KEY, fresh))
  return decryptionIn(db)(name, TOKEN_HASH_KEY, stored)
}

/** Rows that one transaction converts. */
const BATCH_ROWS = 500

/**
 * Replaces the stored keys of all tokens with their hashes, which cannot be undone. Returns the
 * number of tokens whose key was stored; changes nothing if `isDryRun`.
 */
export async function hashTokenKeys(
  { write }: { write: Parameters<typeof tokenHashSecret>[0] },
  { isDryRun }: { isDryRun: boolean },
): Promise<number> {
  const secret = isDryRun ? '' : await tokenHashSecret(write)
  let after = 0
  let count = 0
  for (;;) {
    const rows = await write
      .selectFrom('tokens')
      .select(['id', 'key', 'gh_previous_key'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(BATCH_ROWS)
      .execute()
    const plain = rows.filter(
      ({ key, gh_previous_key }) => isPlain(key) || isPlain(gh_previous_key),
    )
    count += plain.length
    if (!isDryRun && plain.length > 0) {
      await write.transaction().execute(async (trx) => {
        for (const row of plain) await hashRow(trx, row, secret)
      })
    }
    after = rows.at(-1)?.id ?? after
    if (rows.length < BATCH_ROWS) return count
  }
}

const isPlain = (stored: string | null): boolean =>
  stored !== null && stored.trimEnd() !== '' && !isHashedKey(stored.trimEnd())

async function hashRow(
  trx: Queries,
  row: { id: number; key: string; gh_previous_key: string | null },
  secret: string,
): Promise<void> {
  const key = row.key.trimEnd()
  if (isPlain(key)) {
    await trx
      .updateTable('tokens')
      .set({ key: hashedKey(key, secret), gh_key_hint: keyHint(key) })
      .where('id', '=', row.id)
      // A key that was rotated meanwhile is converted by the next run.
      .where('key', '=', key)
      .execute()
  }
  if (row.gh_previous_key !== null && isPlain(row.gh_previous_key)) {
    await trx
      .updateTable('tokens')
      .set({ gh_previous_key: hashedKey(row.gh_previous_key, secret) })
      .where('id', '=', row.id)
      .where('gh_previous_key', '=', row.gh_previous_key)
      .execute()
  }
}
