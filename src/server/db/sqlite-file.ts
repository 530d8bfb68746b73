import Sqlite from 'better-sqlite3'
import fs from 'node:fs'
import path from 'node:path'

/**
 * Creates the file and its folder if missing. Only their owner can read them, because they contain
 * keys. SQLite gives its other files the same mode. Throws if the file cannot be written.
 */
export function makeSqliteFile(file: string): void {
  fs.mkdirSync(folderOf(file), { recursive: true, mode: 0o700 })
  fs.closeSync(fs.openSync(file, 'a', 0o600))
}

/**
 * Returns why this user cannot open a database file, as a text to follow a colon, or null if no
 * reason is visible from outside. SQLite itself only reports "unable to open".
 */
export function fileTrouble(file: string, { readonly }: { readonly: boolean }): string | null {
  const trouble = folderTrouble(file)
  if (trouble !== null) return trouble
  const found = fs.statSync(file, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return 'it is a folder'
  if (found !== undefined) {
    if (!mayDo(file, fs.constants.R_OK)) return `this user may not read it${ownersOf(file)}`
    if (!readonly && !mayDo(file, fs.constants.W_OK)) {
      return `this user may not write it${ownersOf(file)}`
    }
  }
  const folder = folderOf(file)
  if (!mayDo(folder, fs.constants.W_OK)) {
    return `this user may not write in the folder ${folder}, where SQLite keeps additional files${ownersOf(folder)}`
  }
  return isDiskFull(folder) ? `no space is left on the disk of ${folder}` : null
}

/** SQLite creates a file of this size beside the database, also to read. */
const SHARED_MEMORY_BYTES = 32 * 1024

function isDiskFull(folder: string): boolean {
  const { bavail, bsize } = fs.statfsSync(folder)
  return bavail * bsize < SHARED_MEMORY_BYTES
}

/** States the numeric ids, because user names do not exist inside container volumes. */
function ownersOf(place: string): string {
  const own = process.getuid?.()
  return own === undefined
    ? ''
    : ` (it belongs to user ${fs.statSync(place).uid}, this is user ${own})`
}

/** Returns why the folder of a file cannot be used, or null. */
export function folderTrouble(file: string): string | null {
  const folder = folderOf(file)
  try {
    const found = fs.statSync(folder, { throwIfNoEntry: false })
    if (found === undefined) return `folder not found: ${folder}`
    if (!found.isDirectory()) return `${folder} is not a folder`
    fs.accessSync(folder, fs.constants.X_OK)
    return null
  } catch {
    return `this user may not enter the folder ${folder}`
  }
}

const folderOf = (file: string): string => path.dirname(path.resolve(file))

function mayDo(place: string, mode: number): boolean {
  try {
    fs.accessSync(place, mode)
    return true
  } catch {
    return false
  }
}

/** The database was deleted or replaced while it was open. */
export class FileGone extends Error {
  constructor() {
    super('the database file was deleted or replaced')
  }
}

/**
 * Returns a check that throws `FileGone` if the path leads to another file than now. A process that
 * has the old file open continues to use it, and loses all data at the end.
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

/** Milliseconds a stopping server gets to finish. */
const STOPPING_MS = 5000

/**
 * Locks a database for one server. A second server would treat the calls of the first as those of a
 * dead process and close them. Returns a function that releases the lock, or null if another server
 * holds it. The operating system releases it when the process dies for any reason.
 *
 * The lock is on a file beside the database, so that commands and SQL tools can be used while the
 * server runs.
 */
export function takeSqliteFile(file: string, waitMs = STOPPING_MS): (() => void) | null {
  const beside = `${file}-server`
  makeSqliteFile(beside)
  const lock = new Sqlite(beside, { timeout: waitMs })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_BUSY') return null
    throw error
  }
  return () => lock.close()
}
