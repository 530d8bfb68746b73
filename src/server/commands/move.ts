import fs from 'node:fs'
import path from 'node:path'
import { ConfigError, type Config } from '../config.ts'
import { configuredFile } from '../database-file.ts'
import { openBare } from '../db/database.ts'
import { moveDatabase } from '../move/move-database.ts'
import { openSource } from '../move/source-store.ts'
import { checkSecrets } from '../secrets/convert-secrets.ts'
import { KeyringPlugin } from '../secrets/keyring-plugin.ts'
import { readKeyring } from '../secrets/read-keyring.ts'
import { mustBeThere, reasonOf, taken, whyOf } from './open.ts'

/**
 * Copies a SQLite database of Gatehouse into an empty PostgreSQL database; the file is not changed.
 * If the file is given as an argument, the settings may belong to another server.
 */
export async function move(
  config: Config,
  { isFileNamed }: { isFileNamed: boolean },
): Promise<void> {
  const file = configuredFile(config)
  mustBeThere({ engine: 'sqlite', path: file })
  if (config.SQL_DSN === undefined) {
    throw new ConfigError('SQL_DSN: set the target PostgreSQL database, here or with --to')
  }
  const beside = path.dirname(file)
  const places = (isFileNamed ? [beside] : [config.DATA_DIR, beside]).map((folder) =>
    path.join(folder, 'session-secret'),
  )
  const secret = keptSecret(places)
  const giveBack = taken(file, 'stop it, then move the file')
  try {
    await refuseUnreadable(config, file)
    await moveInto(config.SQL_DSN, { file, secret: secret?.value ?? null })
  } finally {
    giveBack()
  }
  const secretLine =
    secret === null
      ? `There was no ${[...new Set(places)].join(' or ')}: without SESSION_SECRET all users must sign in again.`
      : `The session secret of ${secret.place} is in the database now: existing sessions stay valid.`
  for (const line of farewell({ file, secretLine })) say(line)
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/**
 * Encrypted secrets are moved as they are. Throws `ConfigError` unless the configured keys can
 * decrypt all of them: the servers on PostgreSQL need the same ones.
 */
async function refuseUnreadable(config: Config, file: string): Promise<void> {
  const keyring = new KeyringPlugin(readKeyring(config))
  opened(file).close()
  const { db, close } = await openBare({ engine: 'sqlite', path: file }, { readonly: true })
  try {
    await checkSecrets(db.withPlugin(keyring))
  } catch (error) {
    throw new ConfigError(`nothing was moved: ${reasonOf(error)}`)
  } finally {
    await close()
  }
}

async function moveInto(
  url: string,
  { file, secret }: { file: string; secret: string | null },
): Promise<void> {
  const source = opened(file)
  const target = await openBare({ engine: 'postgres', url })
  try {
    sayOpenCalls(source.count('reservations'))
    await moveDatabase({ source, target, secret, progress: say })
  } catch (error) {
    throw new ConfigError(`nothing was moved: ${reasonOf(error)}`)
  } finally {
    source.close()
    await target.close().catch(() => {})
  }
}

const sayOpenCalls = (count: number): void => {
  if (count > 0) say(`${count} calls are open; the first start on PostgreSQL closes them`)
}

function opened(file: string): ReturnType<typeof openSource> {
  try {
    return openSource(file)
  } catch (error) {
    const reason = whyOf({ engine: 'sqlite', path: file }, error, { readonly: true })
    throw new ConfigError(`SQLITE_PATH: ${file} cannot be moved: ${reason}`)
  }
}

interface KeptSecret {
  /** File of the secret. */
  place: string
  value: string
}

/**
 * Reads the secret that signs cookies: on PostgreSQL it is in the database, for SQLite in a file.
 */
function keptSecret(places: readonly string[]): KeptSecret | null {
  try {
    // `statSync` throws if the file exists but cannot be accessed, so that it is never left behind.
    const place = places.find((name) => fs.statSync(name, { throwIfNoEntry: false }) !== undefined)
    if (place === undefined) return null
    return { place, value: fs.readFileSync(place, 'utf8').trim() }
  } catch (error) {
    throw new ConfigError(`DATA_DIR: ${reasonOf(error)}`)
  }
}

const farewell = ({ file, secretLine }: { file: string; secretLine: string }): string[] => [
  'All data was moved and checked against the ledger.',
  secretLine,
  'From now on start the server with SQL_DSN, and keep all other settings.',
  `${file} was not changed. Keep it as a backup; calls that a server books there are not in PostgreSQL.`,
]
