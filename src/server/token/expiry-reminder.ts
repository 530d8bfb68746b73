import type { App } from '../app.ts'
import { consoleAddress } from '../account/console-address.ts'
import { SECONDS_PER_DAY } from '../clock.ts'
import { tokenExpiryEmail } from '../mail/email-messages.ts'
import { canMail, mail, systemName } from '../mail/mailer.ts'
import { expiringTokens, moveExpiryReminder, type ExpiringToken } from './expiry-reminder-store.ts'

/**
 * Mails owners of tokens that expire within `TokenExpiryReminderDays`, once for each expiry. The
 * reminded expiry is stored with compare-and-set, so that of several processes one sends the mail.
 * It is taken back if sending fails; the next check tries again.
 */

/** Interval of the checks. */
const LOOK_MS = 3_600_000

export function startExpiryReminders(app: App): { stop(): void } {
  const timer = setInterval(() => {
    app.background.run('mail', 'token expiry reminders', () => remindOfExpiry(app))
  }, LOOK_MS).unref()
  return { stop: () => clearInterval(timer) }
}

/** Sends the reminders that are due. */
export async function remindOfExpiry(app: App): Promise<void> {
  const { database, options, clock } = app
  const days = options.number('TokenExpiryReminderDays')
  if (days === 0 || !canMail(app)) return
  const nowSeconds = clock.nowSeconds()
  const until = nowSeconds + days * SECONDS_PER_DAY
  for (const token of await expiringTokens(database.heavy, { from: nowSeconds, until })) {
    await remind(app, token)
  }
}

async function remind(app: App, token: ExpiringToken): Promise<void> {
  const { database, clock, background } = app
  const { id, expired_time, gh_expiry_reminded: before } = token
  const isMine = await moveExpiryReminder(database.write, id, { from: before, to: expired_time })
  if (!isMine) return
  const takeBack = async (): Promise<void> => {
    await moveExpiryReminder(database.write, id, { from: expired_time, to: before })
  }
  const days = Math.max(1, Math.ceil((expired_time - clock.nowSeconds()) / SECONDS_PER_DAY))
  const message = tokenExpiryEmail(systemName(app), {
    username: token.username,
    tokenName: token.name || `#${id}`,
    days,
    url: consoleAddress(app, '/token'),
  })
  const isAccepted = background.run('mail', 'a token expiry reminder', async () => {
    try {
      await mail(app, token.email, message)
    } catch (error) {
      await takeBack()
      throw error
    }
  })
  if (!isAccepted) await takeBack()
}
