import fs from 'node:fs'
import path from 'node:path'
import type { Config } from '../config.ts'
import { configuredFile } from '../database-file.ts'
import { SECRET_FILE, type BackupKind, type BackupPlan, type GivenSettings } from './make-backup.ts'

/** Folder of the backups. */
export const backupFolder = (config: Config): string =>
  config.BACKUP_DIR ?? path.join(config.DATA_DIR, 'backups')

/** Returns what a backup of the server with these settings contains. */
export function planBackup(
  config: Config,
  environment: GivenSettings,
  { folder, kind, now }: { folder: string; kind: BackupKind; now: Date },
): BackupPlan {
  const isSqlite = config.SQL_DSN === undefined
  return {
    file: isSqlite ? configuredFile(config) : null,
    secret: isSqlite ? (config.SESSION_SECRET ?? storedSecret(config)) : null,
    environment,
    folder,
    kind,
    now,
  }
}

/** The session secret that a server on SQLite has generated; null before its first start. */
function storedSecret(config: Config): string | null {
  const file = path.join(config.DATA_DIR, SECRET_FILE)
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : null
}
