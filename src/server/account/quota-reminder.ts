import { quotaText } from '../../contract/quota.ts'
import type { App } from '../app.ts'
import type { Settled } from '../ledger/ledger.ts'
import { quotaLetter } from '../mail/letter.ts'
import type { Letter } from '../mail/mail.ts'
import { canMail, mail, systemName } from '../mail/mailer.ts'
import { consoleAddress } from './console-address.ts'
import { findRemindedUsers, moveReminder, type RemindedUser } from './quota-reminder-store.ts'

/**
 * Sends mail to users whose balance falls below the threshold, and again when it is used up. A
 * settled call costs one comparison. Users below the threshold are checked in the background,
 * batched for half a second. The last reminder is stored in a row that is updated with
 * compare-and-set, so that of many calls and processes only one sends the mail. If sending fails,
 * the row is reset and the mail is retried later.
 */

export const ReminderLevel = { none: 0, low: 1, exhausted: 2 } as const
type Level = (typeof ReminderLevel)[keyof typeof ReminderLevel]

/** Minimum seconds between two mails of one kind to one user. */
const REMINDER_PAUSE_SECONDS = 86_400
/** Delay before the first retry of a failed mail; doubles with each retry. */
const RETRY_MS = 600_000
const RETRY_MS_MAX = REMINDER_PAUSE_SECONDS * 1000
/** Interval of checks for due retries. */
const LOOK_MS = 60_000

interface Observation {
  balance: number
  threshold: number
  /** Level of the last reminder. */
  level: number
  /** Points charged by the calls since the last check. */
  charged: number
}

/** Returns the level of the balance, and whether a mail is due. */
export function reminderDue({ balance, threshold, level, charged }: Observation): {
  level: Level
  isNews: boolean
} {
  const now =
    balance <= 0
      ? ReminderLevel.exhausted
      : balance < threshold
        ? ReminderLevel.low
        : ReminderLevel.none
  // The balance was sufficient before these calls, so an earlier reminder no longer counts.
  const wasSufficient = balance + charged >= threshold
  return { level: now, isNews: now > (wasSufficient ? ReminderLevel.none : level) }
}

/** Milliseconds for which users are collected before they are checked. */
const COLLECT_MS = 500
/** Users checked in one statement. */
const LOOK_UP_MAX = 500

/** Subscribes to settled calls and changed balances. */
export function startQuotaReminders(app: App): void {
  const { options, ledger, database, background, clock } = app
  /** Points charged by user. A balance that an admin changed is checked too, but sends no mail. */
  const waiting = new Map<number, { charged: number; mayMail: boolean }>()
  const unsent: Unsent = new Map()
  let isCollecting = false

  const isDue = ({ retryAtMs }: UnsentMail): boolean => clock.monotonicMs() >= retryAtMs

  function look(userId: number, charged: number, mayMail: boolean): void {
    const known = waiting.get(userId)
    const missed = unsent.get(userId)
    waiting.set(userId, {
      charged: charged + (known?.charged ?? 0),
      mayMail: (mayMail && (missed === undefined || isDue(missed))) || known?.mayMail === true,
    })
    if (!isCollecting) collect()
  }

  function collect(): void {
    isCollecting = true
    background.later('mail', 'quota reminders', COLLECT_MS, () => {
      const batch = [...waiting].slice(0, LOOK_UP_MAX)
      for (const [userId] of batch) waiting.delete(userId)
      isCollecting = waiting.size > 0
      if (isCollecting) collect()
      return remind({ ...app, unsent }, new Map(batch))
    })
  }

  ledger.onSettled((userId, { charged, userQuota }: Settled) => {
    const threshold = options.number('QuotaRemindThreshold')
    if (userQuota < threshold && threshold > 0) look(userId, charged, true)
  })
  database.onAnnouncement((message) => {
    const [, id] = /^user:(\d+)$/.exec(message) ?? []
    if (id !== undefined && canMail(app)) look(Number(id), 0, false)
  })
  // A user without balance makes no further call that could trigger the retry.
  setInterval(() => {
    for (const [userId, missed] of unsent) if (isDue(missed)) look(userId, 0, true)
  }, LOOK_MS).unref()
}

/** Failed mails by user. */
type Unsent = Map<number, UnsentMail>

interface UnsentMail {
  waitMs: number
  retryAtMs: number
}

type Reminding = App & { unsent: Unsent }

async function remind(
  app: Reminding,
  seen: ReadonlyMap<number, { charged: number; mayMail: boolean }>,
): Promise<void> {
  if (!canMail(app)) return
  for (const user of await findRemindedUsers(app.database.read, [...seen.keys()])) {
    const { charged, mayMail } = seen.get(user.id) ?? { charged: 0, mayMail: false }
    const threshold = app.options.number('QuotaRemindThreshold')
    const due = reminderDue({ ...user, threshold, charged })
    if (!due.isNews) app.unsent.delete(user.id)
    if (due.isNews ? mayMail : due.level < user.level) await moveOn(app, user, due)
  }
}

async function moveOn(
  app: Reminding,
  user: RemindedUser,
  due: { level: Level; isNews: boolean },
): Promise<void> {
  if (due.isNews && !user.email) return
  const nowSeconds = app.clock.nowSeconds()
  const isExhausted = due.level === ReminderLevel.exhausted
  const lastAt = isExhausted ? user.exhausted_at : user.low_at
  // A last mail in the future was sent by a clock that was ahead.
  const mails = due.isNews && Math.abs(nowSeconds - lastAt) >= REMINDER_PAUSE_SECONDS
  const { low_at, exhausted_at } = user
  const from = { level: user.level, low_at, exhausted_at }
  const to = {
    level: due.level,
    low_at: mails && !isExhausted ? nowSeconds : low_at,
    exhausted_at: mails && isExhausted ? nowSeconds : exhausted_at,
  }
  if (!(await moveReminder(app.database.write, user.id, { from, to }))) return
  if (!mails || !user.email) return
  const lastMs = app.unsent.get(user.id)?.waitMs ?? RETRY_MS / 2
  const waitMs = Math.min(2 * lastMs, RETRY_MS_MAX)
  const moveBack = async (): Promise<void> => {
    app.unsent.set(user.id, { waitMs, retryAtMs: app.clock.monotonicMs() + waitMs })
    // Below the level of this reminder, even if the row has a level from an earlier fall.
    const untold = { ...from, level: Math.min(from.level, due.level - 1) }
    await moveReminder(app.database.write, user.id, { from: to, to: untold })
  }
  const { email } = user
  const letter = reminderLetter(app, user, isExhausted)
  // Each mail is a separate task, so that one failing mailbox does not delay the others.
  const isAccepted = app.background.run('mail', 'a quota reminder', async () => {
    try {
      await mail(app, email, letter)
      app.unsent.delete(user.id)
    } catch (error) {
      await moveBack()
      throw error
    }
  })
  if (!isAccepted) await moveBack()
}

/** Decimals of a money amount; reminders are about small amounts. */
const MONEY_DECIMALS = 4

function reminderLetter(app: App, user: RemindedUser, isExhausted: boolean): Letter {
  const { options } = app
  const display = {
    quotaPerUnit: options.number('QuotaPerUnit'),
    inCurrency: options.flag('DisplayInCurrencyEnabled'),
  }
  return quotaLetter(systemName(app), {
    username: user.username,
    isExhausted,
    quota: quotaText(user.balance, display, MONEY_DECIMALS),
    url: consoleAddress(app, '/topup'),
  })
}
