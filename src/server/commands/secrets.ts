import { readTables } from '../adopt/adopt-store.ts'
import { leftSecrets } from '../adopt/relative/factor-store.ts'
import { ConfigError, type Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { takeSqliteFile } from '../db/sqlite-file.ts'
import { convertSecrets, countSecrets } from '../secrets/convert-secrets.ts'
import { keyringIn } from '../secrets/keyring-plugin.ts'
import { UnreadableSecret } from '../secrets/keyring.ts'
import { secretsKeyId, serversWithout } from '../secrets/secret-store.ts'
import { configuredAddress, openConfigured, placeOf, whyOf } from './open.ts'
import { openOurs } from './open-ours.ts'

/** Action of a command on the stored secrets. */
export type SecretsWish = 'encrypt' | 'decrypt' | 'rotate'

/**
 * Encrypts, decrypts or re-encrypts the stored secrets beside running servers. Throws `ConfigError`
 * if nothing may be changed.
 */
export async function convertSecretsCommand(
  config: Config,
  wish: SecretsWish,
  { isDryRun }: { isDryRun: boolean },
): Promise<void> {
  // Checked first, because `openConfigured` alone would create or adopt tables at a wrong address.
  await (await openOurs(config)).close()
  const address = configuredAddress(config)
  // Without a server, none may start with other keys meanwhile.
  const giveBack = address.engine === 'sqlite' ? takeSqliteFile(address.path, 0) : null
  const database = await openConfigured(config)
  try {
    const mayRun = address.engine === 'postgres' || giveBack === null
    await convert(database, wish, { isDryRun, mayRun })
  } catch (error) {
    if (error instanceof ConfigError) throw error
    if (error instanceof UnreadableSecret) throw new ConfigError(error.message)
    const reason = whyOf(address, error, { readonly: false })
    throw new ConfigError(`${placeOf(address)} failed, try again: ${reason}`)
  } finally {
    await database.close().catch(() => {})
    giveBack?.()
  }
}

async function convert(
  database: Database,
  wish: SecretsWish,
  { isDryRun, mayRun }: { isDryRun: boolean; mayRun: boolean },
): Promise<void> {
  const current = await secretsKeyId(database.read)
  const target = wish === 'decrypt' ? '' : targetKey(database, wish, current)
  if (mayRun && target !== '') await refuseServersWithout(database, target)
  const counts = await countSecrets(database.read)
  say(
    `new secrets are ${current === '' ? 'stored unencrypted' : `encrypted with the key ${current}`}`,
  )
  for (const [keyId, count] of counts) {
    say(`${count} ${keyId === '' ? 'unencrypted' : `encrypted with the key ${keyId}`}`)
  }
  if (target !== '') await sayLeftSecrets(database)
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const left = total - (counts.get(target) ?? 0)
  const end = target === '' ? 'decrypted' : `encrypted with the key ${target}`
  if (isDryRun) {
    say(`dry run: ${left} of ${total} secrets would be ${end}`)
    return
  }
  say(`${await convertSecrets(database, target)} of ${total} secrets were ${end}`)
  if (wish !== 'decrypt') say('Keep this key: without it these secrets cannot be read.')
}

/** The columns are too narrow for encrypted values, and the other program could not read those. */
async function sayLeftSecrets({ read, engine }: Database): Promise<void> {
  for (const { column, count } of await leftSecrets(read, await readTables(read, engine))) {
    say(
      `${column} holds ${count} unencrypted secrets of the program that used this database before; ` +
        'empty it if you do not return to that program',
    )
  }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

function targetKey(database: Database, wish: SecretsWish, current: string): string {
  const [first] = keyringIn(database.write).ids
  if (first === undefined) {
    throw new ConfigError(
      'SECRETS_KEY, SECRETS_KEY_FILE: set the key to encrypt with, here and for each server',
    )
  }
  if (wish === 'rotate' && current === '') {
    throw new ConfigError(
      'the secrets are not encrypted; encrypt them with: gatehouse encrypt-secrets',
    )
  }
  if (wish === 'encrypt' && current !== '' && current !== first) {
    throw new ConfigError(
      `the secrets are encrypted with the key ${current}; change the key with: gatehouse rotate-secrets`,
    )
  }
  return first
}

/** A server without the key could not read what this writes. */
async function refuseServersWithout({ read, engine }: Database, keyId: string): Promise<void> {
  const lacking = await serversWithout(read, engine, keyId)
  if (lacking.length === 0) return
  throw new ConfigError(
    `${lacking.length} running ${lacking.length === 1 ? 'server does' : 'servers do'} not have the key ${keyId}: ` +
      'add it to SECRETS_KEY or SECRETS_KEY_FILE of each server and restart it',
  )
}
