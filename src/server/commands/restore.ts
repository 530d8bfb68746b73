import fs from 'node:fs'
import path from 'node:path'
import {
  bytesOf,
  DATABASE_FILE,
  megabytes,
  mustHaveRoom,
  reconcileFile,
  SECRET_FILE,
  stampOf,
  syncFolder,
  writeSecretFile,
} from '../backup/make-backup.ts'
import { systemClock } from '../clock.ts'
import { ConfigError, type Config } from '../config.ts'
import { configuredFile } from '../database-file.ts'
import { checkPages, copySqlite } from '../db/sqlite-copy-store.ts'
import { reasonOf, taken } from './open.ts'
import { ageOfOurs } from './open-ours.ts'

/** Files of a backup. */
interface Source {
  database: string
  /** Null if the backup is only a database file. */
  secret: string | null
}

/**
 * Restores a backup to the configured location: a folder made by `backupCommand`, or a SQLite file.
 * Existing files are kept in a folder beside it. Throws `ConfigError` without any change if the
 * backup is damaged or a server uses the data.
 */
export async function restore(config: Config, from: string): Promise<void> {
  if (config.SQL_DSN !== undefined) {
    throw new ConfigError('SQL_DSN: restore PostgreSQL with pg_restore (docs/manual/en/backup.md)')
  }
  const target = configuredFile(config)
  const source = sourceOf(from)
  if (path.resolve(source.database) === path.resolve(target)) {
    throw new ConfigError(`${from} is the configured database, not a backup of it`)
  }
  const found = await checked(source.database)
  const giveBack = taken(target, 'stop it, then restore')
  try {
    const aside = await putInPlace(config, { source, target })
    say(`restored ${target} (${megabytes(fs.statSync(target).size)}) from ${from}; ${found}`)
    if (aside !== null) say(`the replaced files are in ${aside}`)
  } catch (error) {
    throw new ConfigError(`nothing was restored: ${reasonOf(error)}`)
  } finally {
    giveBack()
  }
  sayOfSecret(config, source.secret)
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

function sourceOf(from: string): Source {
  const found = fs.statSync(from, { throwIfNoEntry: false })
  if (found === undefined) throw new ConfigError(`backup not found: ${from}`)
  if (!found.isDirectory()) return { database: from, secret: null }
  const database = path.join(from, DATABASE_FILE)
  try {
    const names = fs.readdirSync(from)
    if (!names.includes(DATABASE_FILE)) {
      throw new ConfigError(`${from} is not a backup: it contains no ${DATABASE_FILE}`)
    }
    const secret = path.join(from, SECRET_FILE)
    return {
      database,
      secret: names.includes(SECRET_FILE) ? fs.readFileSync(secret, 'utf8').trim() : null,
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${from} cannot be read: ${reasonOf(error)}`)
  }
}

/** Checks a backup. Returns a text about its ledger. */
async function checked(file: string): Promise<string> {
  const age = await ageOfOurs(file)
  try {
    await checkPages(file)
  } catch (error) {
    throw new ConfigError(`${file} is damaged: ${reasonOf(error)}`)
  }
  if (age === 'older') return 'it is from an older version and will be migrated at the next start'
  const { count } = await reconcileFile(file)
  return count === 0
    ? 'its ledger balances'
    : `its ledger has ${count} differences (gatehouse reconcile)`
}

/** Returns the folder with the replaced files; null if there were no files. */
async function putInPlace(
  config: Config,
  { source, target }: { source: Source; target: string },
): Promise<string | null> {
  const folder = path.dirname(path.resolve(target))
  mustHaveRoom(folder, bytesOf(source.database))
  const secretFile = path.join(config.DATA_DIR, SECRET_FILE)
  // A server with a configured secret does not use the file.
  const secret = config.SESSION_SECRET === undefined ? source.secret : null
  const [freshDatabase, freshSecret] = [`${target}.restoring`, `${secretFile}.restoring`]
  const removeFresh = (): void => {
    for (const file of [freshDatabase, freshSecret]) fs.rmSync(file, { force: true })
  }
  removeFresh()
  try {
    await copySqlite(source.database, freshDatabase)
    if (secret !== null) {
      fs.mkdirSync(config.DATA_DIR, { recursive: true, mode: 0o700 })
      writeSecretFile(freshSecret, secret)
    }
    const aside = path.join(folder, `before-restore-${stampOf(new Date(systemClock.nowMs()))}`)
    const isKept = keepAside(target, secret === null ? null : secretFile, aside)
    try {
      fs.renameSync(freshDatabase, target)
    } catch (error) {
      if (isKept) putBack(target, aside)
      throw error
    }
    if (secret !== null) fs.renameSync(freshSecret, secretFile)
    syncFolder(folder)
    return isKept ? aside : null
  } catch (error) {
    removeFresh()
    throw error
  }
}

/**
 * Moves the files that a restore replaces aside. Returns false if there are no files. The
 * write-ahead log belongs to the old file and would corrupt the new one. The secret may be on
 * another disk, so it is copied.
 */
function keepAside(target: string, secretFile: string | null, aside: string): boolean {
  const files = ['', '-wal', '-shm']
    .map((end) => `${target}${end}`)
    .filter((one) => fs.existsSync(one))
  const hasSecret = secretFile !== null && fs.existsSync(secretFile)
  if (files.length === 0 && !hasSecret) return false
  fs.mkdirSync(aside, { mode: 0o700 })
  if (hasSecret) fs.copyFileSync(secretFile, path.join(aside, SECRET_FILE))
  for (const file of files) fs.renameSync(file, path.join(aside, path.basename(file)))
  return true
}

/** Reverts `keepAside` for the database. */
function putBack(target: string, aside: string): void {
  for (const name of fs.readdirSync(aside).filter((one) => one !== SECRET_FILE)) {
    fs.renameSync(path.join(aside, name), path.join(path.dirname(target), name))
  }
}

function sayOfSecret(config: Config, secret: string | null): void {
  if (secret !== null && config.SESSION_SECRET !== undefined && config.SESSION_SECRET !== secret) {
    say('SESSION_SECRET differs from the one in the backup: all users must sign in again')
  }
  if (secret === null && config.SESSION_SECRET === undefined) {
    say(
      `the backup has no ${SECRET_FILE}: if the secret here is a different one, all users must sign in again`,
    )
  }
}
