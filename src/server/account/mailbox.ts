import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import type { Queries } from '../db/database.ts'
import { canMail } from '../mail/mailer.ts'
import { isEmailOfOthers } from '../user/user-store.ts'
import { addressKeyOf, addressRefusal } from './email.ts'
import { checkMailCode, type RightCode } from './mail-code.ts'

/** Allowed domains of new addresses, comma-separated; null for any domain. */
const allowedDomains = ({ options }: App): string | null =>
  options.flag('EmailDomainRestrictionEnabled') ? options.text('EmailDomainWhitelist') : null

/**
 * Checks whether this kind of mail may be sent to an address now. The errors reveal nothing about
 * accounts: `email_invalid`, `email_domain_not_allowed`, `mail_unset`, `too_many_mails`.
 */
export async function mayMailTo(
  app: App,
  purpose: 'verify' | 'reset',
  email: string,
): Promise<void> {
  refuse(addressRefusal(email, purpose === 'verify' ? allowedDomains(app) : null))
  if (!canMail(app)) throw new AppError('mail_unset')
  const { mail } = app.rateLimits
  const key = `${purpose}:${addressKeyOf(email)}`
  if (await mail.take(key)) return
  const waitSeconds = await mail.waitSeconds(key)
  throw new AppError('too_many_mails', { minutes: Math.max(1, Math.ceil(waitSeconds / 60)) })
}

/**
 * Checks that the caller has access to the mailbox. Throws `email_code_needed`, `email_invalid`,
 * `email_domain_not_allowed`, `email_code_wrong`.
 */
export async function proveMailbox(
  app: App,
  { email, code, caller }: { email: string; code: string; caller: string },
): Promise<RightCode> {
  if (email === '' || code === '') throw new AppError('email_code_needed')
  refuse(addressRefusal(email, allowedDomains(app)))
  return checkMailCode(app, { purpose: 'verify', email, code, caller }, 'email_code_wrong')
}

/** Throws `email_taken` if another user has the address. */
export async function refuseTakenAddress(
  trx: Queries,
  email: string,
  userId: number,
): Promise<void> {
  if (await isEmailOfOthers(trx, email, userId)) throw new AppError('email_taken')
}
