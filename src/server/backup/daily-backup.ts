import type { App } from '../app.ts'
import { AppError } from '../app-error.ts'
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import { moveSetting, readOrCreateSetting, readSetting } from '../db/setting-store.ts'
import { dailyBackupLetter } from '../mail/letter.ts'
import { systemName } from '../mail/mailer.ts'
import { notifyRoot } from '../mail/notice.ts'
import { backUp, deleteOldBackups, megabytes, type GivenSettings } from './make-backup.ts'
import { backupFolder, planBackup } from './backup-plan.ts'

/** How often is looked whether a backup is due. */
const LOOK_MS = 60_000
/** After what time a backup that was not completed is tried again. */
const RETRY_SECONDS = SECONDS_PER_HOUR

/** When a daily backup was begun last: of processes that look at the same time, one moves it. */
const BEGUN_AT = 'daily_backup_begun_at'
/** When one was complete last. */
const DONE_AT = 'daily_backup_done_at'

export interface DailyBackup {
  /** Epoch seconds of the last complete one; null if there is none. */
  lastDone(): Promise<number | null>
  /** How many have failed since this process started. */
  failures(): number
  /** Makes a backup if one is due. Never rejects. */
  look(): Promise<void>
  /** Resolves when none is being made. */
  stop(): Promise<void>
}

/**
 * Makes a backup a day and keeps the newest `BACKUP_KEEP`; the first one a minute after the first
 * start with it. A failure is in the program's output and the metrics, is mailed to root once, and
 * is tried again after an hour.
 */
export function startDailyBackup(app: App, environment: GivenSettings): DailyBackup {
  const { config, database, trace } = app
  let failures = 0
  let isTold = false
  let running = Promise.resolve()

  async function look(): Promise<void> {
    const isDue = await begin(app).catch((error: unknown) => {
      trace.warn({ err: error }, 'a daily backup did not begin')
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

/** Claims the backup that is due for this process. False: none is, or another process has it. */
async function begin({ clock, database }: App): Promise<boolean> {
  const nowSeconds = clock.nowSeconds()
  const from = await readOrCreateSetting(database.write, BEGUN_AT, '0')
  const done = Number((await readSetting(database.write, DONE_AT)) ?? 0)
  // One that failed, or whose process stopped, is begun again sooner.
  const pauseSeconds = done < Number(from) ? RETRY_SECONDS : SECONDS_PER_DAY
  // One of the future was begun by a clock that was ahead.
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
  trace.info(facts, 'a daily backup was made and checked')
  const differences = backup.report?.count ?? 0
  if (differences > 0) {
    trace.error({ differences }, 'the books of the daily backup differ: run gatehouse reconcile')
  }
}

function tellRoot(app: App): void {
  app.background.run('mail', 'a letter about the daily backup', async () => {
    try {
      await notifyRoot(app, dailyBackupLetter(systemName(app), backupFolder(app.config)))
    } catch (error) {
      const reachesNobody =
        error instanceof AppError && ['root_without_email', 'mail_unset'].includes(error.code)
      if (!reachesNobody) throw error
    }
  })
}
