import fs from 'node:fs'
import path from 'node:path'
import { settings } from '../config.ts'
import { openBare } from '../db/database.ts'
import { checkPages, copySqlite } from '../db/sqlite-copy-store.ts'
import { reconcile, type ReconcileReport } from '../ledger/reconcile.ts'

/**
 * Makes backups. A backup is a folder that only its owner can read. It gets its final name only
 * after it is complete and checked.
 */
export const DATABASE_FILE = 'gatehouse.db'
export const SECRET_FILE = 'session-secret'
const SETTINGS_FILE = 'settings.env'

export type GivenSettings = Readonly<Record<string, string | undefined>>

export interface BackupPlan {
  /** SQLite file of the server; null on PostgreSQL, whose rows are saved by `pg_dump`. */
  file: string | null
  /** Secret that signs cookies; null if it is in the database. */
  secret: string | null
  /** Environment of the server; only its settings are saved. */
  environment: GivenSettings
  /** Parent folder of the backup. */
  folder: string
  kind: BackupKind
  now: Date
}

/** Only daily backups are ever deleted by the server. */
export type BackupKind = 'manual' | 'daily'

export interface Backup {
  folder: string
  bytes: number
  /** Result of `reconcile` on the copy; null without a database in it. */
  report: ReconcileReport | null
}

/** The disk has too little space for a copy. */
export class NoRoom extends Error {}

const PREFIX: Record<BackupKind, string> = { manual: 'gatehouse-', daily: 'gatehouse-daily-' }
const UNFINISHED = /^\.gatehouse-.*\.part$/
/** An unfinished backup that has not changed for this time was interrupted. */
const BROKEN_OFF_MS = 24 * 60 * 60 * 1000

/** Time in the name of a backup: UTC, sortable. */
export const stampOf = (now: Date): string =>
  `${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`

/** Makes a backup beside a running server. If it fails, throws and leaves nothing behind. */
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

/** Reconciles the ledger of a SQLite file that no server uses. */
export async function reconcileFile(file: string): Promise<ReconcileReport> {
  const { db, close } = await openBare({ engine: 'sqlite', path: file }, { readonly: true })
  try {
    return await reconcile({ engine: 'sqlite', heavy: db })
  } finally {
    await close()
  }
}

/** Deletes the oldest daily backups beyond `keep`; others stay. Returns the deleted names. */
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

/** Maximum size of a copy in bytes: the file plus its write-ahead log. */
export const bytesOf = (file: string): number =>
  [file, `${file}-wal`]
    .map((name) => fs.statSync(name, { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0)

/** Throws `NoRoom` if a folder's disk has less than this many bytes for this user. */
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

/** Writes a file that only its owner can read, and flushes it to disk. */
export function writeSecretFile(file: string, text: string): void {
  const handle = fs.openSync(file, 'wx', 0o600)
  try {
    fs.writeFileSync(handle, text)
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}

/** Flushes a folder to disk, so that a new name in it survives a power failure. */
export function syncFolder(folder: string): void {
  // Windows cannot open folders.
  if (process.platform === 'win32') return
  const handle = fs.openSync(folder, 'r')
  try {
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}

/** Returns the configured settings as a `.env` file. */
function settingsText(environment: GivenSettings): string {
  const lines = Object.keys(settings).flatMap((name) => {
    const value = environment[name]
    if (value === undefined || value === '') return []
    // A copy of the database must not lie beside the key of its secrets.
    if (name === 'SECRETS_KEY') return [`# ${name}: not saved; keep it in another place`]
    if (/[\r\n]/.test(value)) return [`# ${name}: skipped, because its value has line breaks`]
    return [`${name}=${quoted(value)}`]
  })
  return ['# Settings of the server at the time of this backup.', ...lines, ''].join('\n')
}

/** Quotes a value so that `readEnvFile` reads it back. */
const quoted = (value: string): string =>
  value.includes("'") ? (value.includes('"') ? value : `"${value}"`) : `'${value}'`
