import { quotaText } from '../../contract/quota.ts'
import type { App } from '../app.ts'
import type { Settled } from '../ledger/ledger.ts'
import { quotaLetter } from '../mail/letter.ts'
import { canMail, mail, systemName } from '../mail/mailer.ts'
import { consoleAddress } from './console-address.ts'
import { findRemindedUsers, moveReminder, type RemindedUser } from './quota-reminder-store.ts'

/**
 * Mail to users whose balance falls below the threshold, and when it is used up. A settled call
 * costs one comparison; whoever ends below is looked at in the background, together with others of
 * the same second. What was told is a row, moved on by compare-and-set, so that of many calls and
 * many processes one mails.
 */

export const ReminderLevel = { none: 0, low: 1, exhausted: 2 } as const
type Level = (typeof ReminderLevel)[keyof typeof ReminderLevel]

/** Seconds between two mails of one kind to one user, however often the balance goes up and down. */
const REMINDER_PAUSE_SECONDS = 86_400

interface Observation {
  balance: number
  threshold: number
  /** What the user was told last. */
  level: number
  /** Points that the calls took that brought us here. */
  charged: number
}

/** What the balance calls for, and whether it is news. */
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
  // It was sufficient just before: whatever was told earlier was about another time.
  const wasSufficient = balance + charged >= threshold
  return { level: now, isNews: now > (wasSufficient ? ReminderLevel.none : level) }
}

/** How long users are collected before they are looked at. */
const COLLECT_MS = 500
/** Users looked at in one statement. */
const LOOK_UP_MAX = 500

/** Listens to settled calls and to changed balances. */
export function startQuotaReminders(app: App): void {
  const { options, ledger, database, background } = app
  /** Points charged by user; a balance that somebody changed is looked at too, but for no mail. */
  const waiting = new Map<number, { charged: number; mayMail: boolean }>()
  let isCollecting = false

  function look(userId: number, charged: number, mayMail: boolean): void {
    const known = waiting.get(userId)
    waiting.set(userId, {
      charged: charged + (known?.charged ?? 0),
      mayMail: mayMail || known?.mayMail === true,
    })
    if (!isCollecting) collect()
  }

  function collect(): void {
    isCollecting = true
    background.later('quota reminders', COLLECT_MS, () => {
      const batch = [...waiting].slice(0, LOOK_UP_MAX)
      for (const [userId] of batch) waiting.delete(userId)
      isCollecting = waiting.size > 0
      if (isCollecting) collect()
      return remind(app, new Map(batch))
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
}

async function remind(
  app: App,
  seen: ReadonlyMap<number, { charged: number; mayMail: boolean }>,
): Promise<void> {
  if (!canMail(app)) return
  for (const user of await findRemindedUsers(app.database.read, [...seen.keys()])) {
    const { charged, mayMail } = seen.get(user.id) ?? { charged: 0, mayMail: false }
    const threshold = app.options.number('QuotaRemindThreshold')
    const due = reminderDue({ ...user, threshold, charged })
    if (due.isNews ? mayMail : due.level < user.level) await moveOn(app, user, due)
  }
}

async function moveOn(
  app: App,
  user: RemindedUser,
  due: { level: Level; isNews: boolean },
): Promise<void> {
  if (due.isNews && !user.email) return
  const nowSeconds = app.clock.nowSeconds()
  const isExhausted = due.level === ReminderLevel.exhausted
  const lastAt = isExhausted ? user.exhausted_at : user.low_at
  // A mail of the future was sent by a clock that was ahead.
  const mails = due.isNews && Math.abs(nowSeconds - lastAt) >= REMINDER_PAUSE_SECONDS
  const { low_at, exhausted_at } = user
  const from = { level: user.level, low_at, exhausted_at }
  const to = {
    level: due.level,
    low_at: mails && !isExhausted ? nowSeconds : low_at,
    exhausted_at: mails && isExhausted ? nowSeconds : exhausted_at,
  }
  if (!(await moveReminder(app.database.write, user.id, { from, to }))) return
  if (mails && user.email) await mailReminder(app, user, isExhausted)
}

/** Decimals of an amount of money: reminders are about small ones. */
const MONEY_DECIMALS = 4

async function mailReminder(app: App, user: RemindedUser, isExhausted: boolean): Promise<void> {
  const { options } = app
  const display = {
    quotaPerUnit: options.number('QuotaPerUnit'),
    inCurrency: options.flag('DisplayInCurrencyEnabled'),
  }
  const letter = quotaLetter(systemName(app), {
    username: user.username,
    isExhausted,
    quota: quotaText(user.balance, display, MONEY_DECIMALS),
    url: consoleAddress(app, '/topup'),
  })
  // Each in its own turn: one mailbox that does not take mail must not keep others waiting.
  app.background.run('a quota reminder', () => mail(app, user.email ?? '', letter))
}
