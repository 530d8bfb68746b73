import Sqlite from 'better-sqlite3'
import fs from 'node:fs'
import path from 'node:path'

/**
 * Makes the file and its folder, where they are not there. Only their owner can read them: there
 * are keys inside. SQLite gives its other files the mode of this one. Throws when it cannot be
 * written.
 */
export function makeSqliteFile(file: string): void {
  fs.mkdirSync(folderOf(file), { recursive: true, mode: 0o700 })
  fs.closeSync(fs.openSync(file, 'a', 0o600))
}

/**
 * What is in the way of this user who opens a database file, in words that follow a colon; null:
 * nothing that is seen from outside. SQLite itself says of all that, at most, that it is unable.
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
  if (mayDo(folder, fs.constants.W_OK)) return null
  return `this user may not write in the folder ${folder}, where SQLite has files beside it${ownersOf(folder)}`
}

/** Whose a file or folder is, by number: a volume of containers knows no names. */
function ownersOf(place: string): string {
  const own = process.getuid?.()
  return own === undefined
    ? ''
    : ` (it belongs to user ${fs.statSync(place).uid}, this is user ${own})`
}

/** The same for what lies above a file. */
export function folderTrouble(file: string): string | null {
  const folder = folderOf(file)
  try {
    const found = fs.statSync(folder, { throwIfNoEntry: false })
    if (found === undefined) return `there is no folder ${folder}`
    if (!found.isDirectory()) return `${folder} is no folder`
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
