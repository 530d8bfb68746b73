import type { Database, Queries } from '../db/database.ts'
import { keyIdOf, startOf } from './keyring.ts'
import { keyringIn } from './keyring-plugin.ts'
import {
  placeOf,
  secretColumns,
  type SecretColumn,
  type SecretColumnName,
} from './secret-columns.ts'
import {
  replaceSecret,
  saveSecretsKeyId,
  secretsKeyId,
  storedSecrets,
  type StoredSecret,
} from './secret-store.ts'

/** Rows that one transaction converts, so that the servers can write in between. */
const BATCH_ROWS = 200
/** A value that changes during a pass is converted by the next one. */
const PASSES_MAX = 5

// `Object.keys` returns exactly the keys of the literal.
const names = Object.keys(secretColumns) as SecretColumnName[]

async function* batches(
  db: Queries,
  name: SecretColumnName,
  start = '',
): AsyncGenerator<StoredSecret[]> {
  let after: string | number | null = null
  for (;;) {
    const batch: StoredSecret[] = await storedSecrets(db, name, { start, after, limit: BATCH_ROWS })
    if (batch.length > 0) yield batch
    after = batch.at(-1)?.rowId ?? null
    if (batch.length < BATCH_ROWS) return
  }
}

/** Number of secrets by the key they are encrypted with; plain ones have the key ''. */
export type SecretCounts = ReadonlyMap<string, number>

/**
 * Checks that every encrypted value can be decrypted, and that new ones can be encrypted. Throws
 * `UnreadableSecret`.
 */
export async function checkSecrets(db: Queries): Promise<void> {
  const keyring = keyringIn(db)
  const keyId = await secretsKeyId(db)
  if (keyId !== '') keyring.encrypt('', '', keyId)
  for (const name of names) {
    for await (const batch of batches(db, name, startOf())) {
      for (const { rowId, text } of batch) keyring.decrypt(text, placeOf(name, rowId))
    }
  }
}

/** Counts the stored secrets. Throws `UnreadableSecret`. */
export async function countSecrets(db: Queries): Promise<SecretCounts> {
  const keyring = keyringIn(db)
  const counts = new Map<string, number>()
  for (const name of names) {
    const { isSecret }: SecretColumn = secretColumns[name]
    for await (const batch of batches(db, name)) {
      for (const { rowId, text } of batch) {
        const plain = keyring.decrypt(text, placeOf(name, rowId))
        const keyId = keyIdOf(text) ?? ''
        if (keyId !== '' || isSecret(String(rowId), plain)) {
          counts.set(keyId, (counts.get(keyId) ?? 0) + 1)
        }
      }
    }
  }
  return counts
}

/**
 * Encrypts all secrets with the key `keyId`, or decrypts them if it is empty; values that servers
 * write meanwhile too. Interrupted, it continues when it is started again. Returns the number of
 * converted values.
 */
export async function convertSecrets({ write }: Database, keyId: string): Promise<number> {
  await saveSecretsKeyId(write, keyId)
  let converted = 0
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    let ofPass = 0
    for (const name of names) {
      for await (const batch of batches(write, name)) {
        ofPass += await convertBatch(write, name, { batch, keyId })
      }
    }
    converted += ofPass
    if (ofPass === 0) break
  }
  return converted
}

async function convertBatch(
  write: Database['write'],
  name: SecretColumnName,
  { batch, keyId }: { batch: readonly StoredSecret[]; keyId: string },
): Promise<number> {
  const keyring = keyringIn(write)
  const { isSecret }: SecretColumn = secretColumns[name]
  const changes = batch.flatMap(({ rowId, text }) => {
    if ((keyIdOf(text) ?? '') === keyId) return []
    const place = placeOf(name, rowId)
    const plain = keyring.decrypt(text, place)
    if (keyId === '') return [{ rowId, from: text, to: plain }]
    if (!isSecret(String(rowId), plain)) return []
    return [{ rowId, from: text, to: keyring.encrypt(plain, place, keyId) }]
  })
  if (changes.length === 0) return 0
  return write.transaction().execute(async (trx) => {
    let replaced = 0
    for (const change of changes) if (await replaceSecret(trx, name, change)) replaced += 1
    return replaced
  })
}
