import Sqlite from 'better-sqlite3'
import fs from 'node:fs'
import path from 'node:path'

/**
 * Makes the file and its folder, where they are not there. Only their owner can read them: there
 * are keys inside. SQLite gives its other files the mode of this one. Throws when it cannot be
 * written.
 */
export function makeSqliteFile(file: string): void {
  fs.mkdirSync(path.dirname(path.resolve(file)), { recursive: true, mode: 0o700 })
  fs.closeSync(fs.openSync(file, 'a', 0o600))
}

/** A database that was deleted, or replaced, while it was open. */
export class FileGone extends Error {
  constructor() {
    super('the database file was deleted or replaced')
  }
}

/**
 * Remembers which file a path leads to. What is answered throws `FileGone` once it is another one:
 * who has the old one open reads and writes it as before, and all of it is lost at the end.
 */
export function watchFile(file: string): () => void {
  const identity = (): string => {
    const found = fs.statSync(file, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? '' : `${found.dev}:${found.ino}`
  }
  const opened = identity()
  return () => {
    if (identity() !== opened) throw new FileGone()
  }
}

/** What a server that is just stopping gets to finish. */
const STOPPING_MS = 5000

/**
 * Takes a database for one server: a second one would take the calls of the first for those of a
 * dead process and close them. Answers how to give it back, or null while another server has it.
 * The system gives it back too when the process dies, however that happens.
 *
 * What is locked is a file beside the database, so that commands and SQL tools can be used while
 * the server runs.
 */
export function takeSqliteFile(file: string): (() => void) | null {
  const beside = `${file}-server`
  makeSqliteFile(beside)
  const lock = new Sqlite(beside, { timeout: STOPPING_MS })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_BUSY') return null
    throw error
  }
  return () => lock.close()
}
