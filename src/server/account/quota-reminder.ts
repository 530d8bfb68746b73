import { quotaText } from '../../contract/quota.ts'
import type { App } from '../app.ts'
import type { Settled } from '../ledger/ledger.ts'
import { quotaLetter } from '../mail/letter.ts'
import type { Letter } from '../mail/mail.ts'
import { canMail, mail, systemName } from '../mail/mailer.ts'
import { consoleAddress } from './console-address.ts'
import { findRemindedUsers, moveReminder, type RemindedUser } from './quota-reminder-store.ts'

/**
 * Mail to users whose balance falls below the threshold, and when it is used up. A settled call
 * costs one comparison; whoever ends below is looked at in the background, together with others of
 * the same second. What was told is a row, moved on by compare-and-set, so that of many calls and
 * many processes one mails. A mail that does not leave moves it back, and is tried again
 * later.
 */

export const ReminderLevel = { none: 0, low: 1, exhausted: 2 } as const
type Level = (typeof ReminderLevel)[keyof typeof ReminderLevel]

/** Seconds between two mails of one kind to one user, however often the balance goes up and down. */
const REMINDER_PAUSE_SECONDS = 86_400
/** When a mail that did not leave is tried again: after twice as long each time. */
const RETRY_MS = 600_000
const RETRY_MS_MAX = REMINDER_PAUSE_SECONDS * 1000
/** How often is looked whether one is due. */
const LOOK_MS = 60_000

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
  const { options, ledger, database, background, clock } = app
  /** Points charged by user; a balance that somebody changed is looked at too, but for no mail. */
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
  // Whoever has used everything up makes no further call that could bring it about.
  setInterval(() => {
    for (const [userId, missed] of unsent) if (isDue(missed)) look(userId, 0, true)
  }, LOOK_MS).unref()
}

/** Mails that did not leave, by user. */
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
  if (!mails || !user.email) return
  const lastMs = app.unsent.get(user.id)?.waitMs ?? RETRY_MS / 2
  const waitMs = Math.min(2 * lastMs, RETRY_MS_MAX)
  const moveBack = async (): Promise<void> => {
    app.unsent.set(user.id, { waitMs, retryAtMs: app.clock.monotonicMs() + waitMs })
    // Below what was to be told, whatever the row said of an earlier time.
    const untold = { ...from, level: Math.min(from.level, due.level - 1) }
    await moveReminder(app.database.write, user.id, { from: to, to: untold })
  }
  const { email } = user
  const letter = reminderLetter(app, user, isExhausted)
  // Each in its own turn: one mailbox that does not take mail must not keep others waiting.
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

/** Decimals of an amount of money: reminders are about small ones. */
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
