import type { App } from '../app.ts'
import { AppError } from '../app-error.ts'
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import { moveSetting, readOrCreateSetting, readSetting } from '../db/setting-store.ts'
import { dailyBackupLetter } from '../mail/letter.ts'
import { systemName } from '../mail/mailer.ts'
import { notifyRoot } from '../mail/notice.ts'
import { backUp, deleteOldBackups, megabytes, type GivenSettings } from './make-backup.ts'
import { backupFolder, planBackup } from './backup-plan.ts'

/** Interval of the checks whether a backup is due. */
const LOOK_MS = 60_000
/** Seconds after which an incomplete backup is retried. */
const RETRY_SECONDS = SECONDS_PER_HOUR

/**
 * Setting with the start time of the last daily backup; updated with compare-and-set, so that only
 * one process starts it.
 */
const BEGUN_AT = 'daily_backup_begun_at'
/** Setting with the time of the last complete one. */
const DONE_AT = 'daily_backup_done_at'

export interface DailyBackup {
  /** Epoch seconds of the last complete backup; null if there was no backup. */
  lastDone(): Promise<number | null>
  /** Number of failures since this process started. */
  failures(): number
  /** Makes a backup if one is due. Never rejects. */
  look(): Promise<void>
  /** Resolves when no backup is running. */
  stop(): Promise<void>
}

/**
 * Makes a daily backup and keeps the newest `BACKUP_KEEP`; the first one a minute after the first
 * start with this setting. A failure is logged and counted in the metrics, mailed to root once, and
 * retried after an hour.
 */
export function startDailyBackup(app: App, environment: GivenSettings): DailyBackup {
  const { config, database, trace } = app
  let failures = 0
  let isTold = false
  let running = Promise.resolve()

  async function look(): Promise<void> {
    const isDue = await begin(app).catch((error: unknown) => {
      trace.warn({ err: error }, 'could not start the daily backup')
      return false
    })
    if (!isDue) return
    try {
      await make(app, environment)
      isTold = false
    } catch (error) {
      failures += 1
      trace.error({ err: error, folder: backupFolder(config) }, 'the daily backup failed')
      if (!isTold) tellRoot(app)
      isTold = true
    }
  }

  const timer =
    config.BACKUP_KEEP === 0
      ? undefined
      : setInterval(() => {
          running = running.then(look)
        }, LOOK_MS).unref()
  return {
    async lastDone() {
      const done = await readSetting(database.read, DONE_AT)
      return done === null ? null : Number(done)
    },
    failures: () => failures,
    look,
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

/**
 * Claims a due backup for this process. Returns false if none is due or another process has claimed
 * it.
 */
async function begin({ clock, database }: App): Promise<boolean> {
  const nowSeconds = clock.nowSeconds()
  const from = await readOrCreateSetting(database.write, BEGUN_AT, '0')
  const done = Number((await readSetting(database.write, DONE_AT)) ?? 0)
  // A failed backup, or one whose process stopped, is retried sooner.
  const pauseSeconds = done < Number(from) ? RETRY_SECONDS : SECONDS_PER_DAY
  // A start time in the future comes from a clock that was ahead.
  if (Math.abs(nowSeconds - Number(from)) < pauseSeconds) return false
  return moveSetting(database.write, BEGUN_AT, { from, to: String(nowSeconds) })
}

async function make(app: App, environment: GivenSettings): Promise<void> {
  const { clock, config, database, trace } = app
  const folder = backupFolder(config)
  const now = new Date(clock.nowMs())
  const backup = await backUp(planBackup(config, environment, { folder, kind: 'daily', now }))
  const from = await readSetting(database.write, DONE_AT)
  await moveSetting(database.write, DONE_AT, { from, to: String(clock.nowSeconds()) })
  const deleted = deleteOldBackups(folder, config.BACKUP_KEEP)
  const facts = { folder: backup.folder, size: megabytes(backup.bytes), deleted }
  trace.info(facts, 'daily backup made and checked')
  const differences = backup.report?.count ?? 0
  if (differences > 0) {
    trace.error(
      { differences },
      'the ledger of the daily backup has differences: run gatehouse reconcile',
    )
  }
}

function tellRoot(app: App): void {
  app.background.run('mail', 'mail about the daily backup', async () => {
    try {
      await notifyRoot(app, dailyBackupLetter(systemName(app), backupFolder(app.config)))
    } catch (error) {
      const reachesNobody =
        error instanceof AppError && ['root_without_email', 'mail_unset'].includes(error.code)
      if (!reachesNobody) throw error
    }
  })
}
