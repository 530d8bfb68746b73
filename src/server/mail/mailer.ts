import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { oneLine } from './mail-address.ts'
import { mailFailureText, mailSettings, type EmailMessage } from './mail.ts'
import { MailFailed, sendMail } from './send-mail.ts'

type MailParts = Pick<App, 'options' | 'egress' | 'trace'>

/** Name of the system at the beginning and end of emails. */
export const systemName = ({ options }: Pick<App, 'options'>): string =>
  oneLine(options.text('SystemName'))

export const canMail = ({ options }: Pick<App, 'options'>): boolean =>
  mailSettings(options) !== null

/** Time as emails show it, because the time zone of the reader is unknown. */
export const mailTime = (nowSeconds: number): string =>
  `${new Date(nowSeconds * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/**
 * Sends one email to one address and waits for the mail server's reply. Throws `mail_unset` or
 * `mail_failed`; details only go to the trace.
 */
export async function mail(app: MailParts, to: string, message: EmailMessage): Promise<void> {
  const settings = mailSettings(app.options)
  if (settings === null) throw new AppError('mail_unset')
  try {
    await sendMail(app.egress, settings, { to, message })
  } catch (error) {
    if (!(error instanceof MailFailed)) throw error
    app.trace.warn({ failure: error.failure, ...error.facts }, 'could not send an email')
    const { zh, en } = mailFailureText[error.failure]
    throw new AppError('mail_failed', { problemZh: zh, problemEn: en })
  }
}
