import fs from 'node:fs'
import path from 'node:path'
import { settings } from '../config.ts'
import { openBare } from '../db/database.ts'
import { checkPages, copySqlite } from '../db/sqlite-copy-store.ts'
import { reconcile, type ReconcileReport } from '../ledger/reconcile.ts'

/**
 * A backup is a folder that only its owner can read. It has its final name only when it is complete
 * and checked.
 */
export const DATABASE_FILE = 'gatehouse.db'
export const SECRET_FILE = 'session-secret'
const SETTINGS_FILE = 'settings.env'

export type GivenSettings = Readonly<Record<string, string | undefined>>

export interface BackupPlan {
  /** SQLite file of the server; null on PostgreSQL, whose rows are saved by `pg_dump`. */
  file: string | null
  /** Signs cookies; null if it is in the database. */
  secret: string | null
  /** Environment of the server; its settings go along, other variables do not. */
  environment: GivenSettings
  /** Where the backup's own folder is made. */
  folder: string
  kind: BackupKind
  now: Date
}

/** Only daily backups are ever deleted by the server. */
export type BackupKind = 'manual' | 'daily'

export interface Backup {
  folder: string
  bytes: number
  /** What `reconcile` says of the copy; null without a database in it. */
  report: ReconcileReport | null
}

/** The disk has no room for a copy. */
export class NoRoom extends Error {}

const PREFIX: Record<BackupKind, string> = { manual: 'gatehouse-', daily: 'gatehouse-daily-' }
const UNFINISHED = /^\.gatehouse-.*\.part$/
/** A backup that has not grown for so long was broken off. */
const BROKEN_OFF_MS = 24 * 60 * 60 * 1000

/** Time of a backup as its name has it: UTC, sorted by name. */
export const stampOf = (now: Date): string =>
  `${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`

/** Makes a backup beside a running server. Throws, and leaves nothing, when it cannot be made. */
export async function backUp(plan: BackupPlan): Promise<Backup> {
  const name = `${PREFIX[plan.kind]}${stampOf(plan.now)}`
  const folder = path.join(plan.folder, name)
  const unfinished = path.join(plan.folder, `.${name}.part`)
  fs.mkdirSync(plan.folder, { recursive: true, mode: 0o700 })
  removeBrokenOff(plan.folder, plan.now)
  if (plan.file !== null) mustHaveRoom(plan.folder, bytesOf(plan.file))
  fs.mkdirSync(unfinished, { mode: 0o700 })
  try {
    writeSecretFile(path.join(unfinished, SETTINGS_FILE), settingsText(plan.environment))
    if (plan.secret !== null) writeSecretFile(path.join(unfinished, SECRET_FILE), plan.secret)
    const report = plan.file === null ? null : await copyAndCheck(plan.file, unfinished)
    syncFolder(unfinished)
    fs.renameSync(unfinished, folder)
    syncFolder(plan.folder)
    return { folder, bytes: sizeOf(folder), report }
  } catch (error) {
    fs.rmSync(unfinished, { recursive: true, force: true })
    throw error
  }
}

async function copyAndCheck(file: string, folder: string): Promise<ReconcileReport> {
  const copy = path.join(folder, DATABASE_FILE)
  await copySqlite(file, copy)
  await checkPages(copy)
  return reconcileFile(copy)
}

/** Recomputes the books of a SQLite file that no server uses. */
export async function reconcileFile(file: string): Promise<ReconcileReport> {
  const { db, close } = await openBare({ engine: 'sqlite', path: file }, { readonly: true })
  try {
    return await reconcile({ engine: 'sqlite', heavy: db })
  } finally {
    await close()
  }
}

/** Deletes the oldest daily backups beyond `keep`; others stay. Answers the names of the deleted. */
export function deleteOldBackups(folder: string, keep: number): string[] {
  const daily = fs.readdirSync(folder).filter((name) => name.startsWith(PREFIX.daily))
  const old = daily.toSorted().slice(0, Math.max(0, daily.length - keep))
  for (const name of old) fs.rmSync(path.join(folder, name), { recursive: true, force: true })
  return old
}

function removeBrokenOff(folder: string, now: Date): void {
  for (const name of fs.readdirSync(folder).filter((one) => UNFINISHED.test(one))) {
    const place = path.join(folder, name)
    if (now.getTime() - fs.statSync(place).mtimeMs < BROKEN_OFF_MS) continue
    fs.rmSync(place, { recursive: true, force: true })
  }
}

/** Bytes that a copy may take: the file, and what its write-ahead log adds to it. */
export const bytesOf = (file: string): number =>
  [file, `${file}-wal`]
    .map((name) => fs.statSync(name, { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0)

/** Throws `NoRoom` when a folder's disk has less than so many bytes for this user. */
export function mustHaveRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = fs.statfsSync(folder)
  const free = bavail * bsize
  if (free >= bytes) return
  throw new NoRoom(
    `${folder} has ${megabytes(free)} free, and the copy may take ${megabytes(bytes)}`,
  )
}

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const sizeOf = (folder: string): number =>
  fs.readdirSync(folder).reduce((sum, name) => sum + fs.statSync(path.join(folder, name)).size, 0)

/** Writes a file that only its owner can read, and waits until it is on the disk. */
export function writeSecretFile(file: string, text: string): void {
  const handle = fs.openSync(file, 'wx', 0o600)
  try {
    fs.writeFileSync(handle, text)
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}

/** A new name survives a power cut only once its folder is on the disk. */
export function syncFolder(folder: string): void {
  // Windows does not open folders.
  if (process.platform === 'win32') return
  const handle = fs.openSync(folder, 'r')
  try {
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}

/** The settings that are set, in the form of a `.env` file. */
function settingsText(environment: GivenSettings): string {
  const lines = Object.keys(settings).flatMap((name) => {
    const value = environment[name]
    if (value === undefined || value === '') return []
    if (/[\r\n]/.test(value)) return [`# ${name}: left out, its value has line breaks`]
    return [`${name}=${quoted(value)}`]
  })
  return ['# Settings of the server at the time of this backup.', ...lines, ''].join('\n')
}

/** As `readEnvFile` reads it back. */
const quoted = (value: string): string =>
  value.includes("'") ? (value.includes('"') ? value : `"${value}"`) : `'${value}'`
