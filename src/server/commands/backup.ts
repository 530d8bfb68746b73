import {
  backUp,
  megabytes,
  NoRoom,
  type Backup,
  type GivenSettings,
} from '../backup/make-backup.ts'
import { backupFolder, planBackup } from '../backup/backup-plan.ts'
import { systemClock } from '../clock.ts'
import { ConfigError, type Config } from '../config.ts'
import { reasonOf } from './open.ts'
import { openOurs } from './open-ours.ts'

/**
 * Makes a backup beside a running server; `to` is the parent folder. Returns whether the ledger of
 * the copy balances. Throws `ConfigError` if the backup fails.
 */
export async function backupCommand(
  config: Config,
  environment: GivenSettings,
  to = backupFolder(config),
): Promise<boolean> {
  // Rejects databases of One API and of other versions.
  await (await openOurs(config)).close()
  const plan = planBackup(config, environment, {
    folder: to,
    kind: 'manual',
    now: new Date(systemClock.nowMs()),
  })
  const backup = await backUp(plan).catch((error: unknown) => {
    const advice =
      error instanceof NoRoom ? '; free some space, or choose another folder with --to' : ''
    throw new ConfigError(`no backup was made: ${reasonOf(error)}${advice}`)
  })
  for (const line of linesOf(backup)) process.stdout.write(`${line}\n`)
  return (backup.report?.count ?? 0) === 0
}

function linesOf({ folder, bytes, report }: Backup): string[] {
  const saved = `${folder} (${megabytes(bytes)})`
  if (report === null) {
    return [
      `settings saved: ${saved}`,
      'The database is PostgreSQL and is not in this backup; save it with: pg_dump -Fc -f gatehouse.dump "$SQL_DSN"',
    ]
  }
  if (report.count === 0) return [`backup saved and checked: ${saved}; its ledger balances`]
  return [
    ...report.differences,
    `backup saved: ${saved}; its ledger has ${report.count} differences, as the database has (gatehouse reconcile)`,
  ]
}
