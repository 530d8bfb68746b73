import fs from 'node:fs'
import path from 'node:path'
import { ConfigError, type Config } from '../config.ts'
import { openBare } from '../db/database.ts'
import { moveDatabase } from '../move/move-database.ts'
import { openSource } from '../move/source-store.ts'
import { configuredFile, mustBeThere, reasonOf, taken } from './open.ts'

/** Copies a SQLite database of ours into an empty PostgreSQL database; the file stays as it is. */
export async function move(config: Config): Promise<void> {
  const file = configuredFile(config)
  mustBeThere({ engine: 'sqlite', path: file })
  if (config.SQL_DSN === undefined) {
    throw new ConfigError('SQL_DSN: name the PostgreSQL database to move to, there or by --to')
  }
  const secret = keptSecret(config, file)
  const giveBack = taken(file, 'stop it, then move the file')
  try {
    await moveInto(config.SQL_DSN, { file, secret })
  } finally {
    giveBack()
  }
  for (const line of farewell({ file, secret })) say(line)
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

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
    throw new ConfigError(`SQLITE_PATH: ${file} cannot be moved: ${reasonOf(error)}`)
  }
}

/** What signs cookies: on PostgreSQL it is in the database, beside SQLite in a file. */
function keptSecret(config: Config, file: string): string | null {
  const kept = [path.dirname(file), config.DATA_DIR]
    .map((folder) => path.join(folder, 'session-secret'))
    .find((name) => fs.existsSync(name))
  if (kept === undefined) return null
  try {
    return fs.readFileSync(kept, 'utf8').trim()
  } catch (error) {
    throw new ConfigError(`DATA_DIR: ${reasonOf(error)}`)
  }
}

const farewell = ({ file, secret }: { file: string; secret: string | null }): string[] => [
  'Everything is moved, and recomputed from the ledger.',
  secret === null
    ? 'There was no file session-secret: without SESSION_SECRET everybody signs in again.'
    : 'The session secret is in the database now: whoever is signed in stays so.',
  'From now on start the server with SQL_DSN, and all other settings as they are.',
  `${file} is as it was. Keep it as a backup; what a server books there is not in PostgreSQL.`,
]
