import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { oneLine } from './mail-address.ts'
import { mailFailureText, mailSettings, type Letter } from './mail.ts'
import { MailFailed, sendMail } from './send-mail.ts'

type MailParts = Pick<App, 'options' | 'egress' | 'trace'>

/** Name of the system at the beginning and end of letters. */
export const systemName = ({ options }: Pick<App, 'options'>): string =>
  oneLine(options.text('SystemName'))

export const canMail = ({ options }: Pick<App, 'options'>): boolean =>
  mailSettings(options) !== null

/**
 * Sends one letter to one address and waits for the mail server's reply. Throws `mail_unset` or
 * `mail_failed`; details only go to the trace.
 */
export async function mail(app: MailParts, to: string, letter: Letter): Promise<void> {
  const settings = mailSettings(app.options)
  if (settings === null) throw new AppError('mail_unset')
  try {
    await sendMail(app.egress, settings, { to, letter })
  } catch (error) {
    if (!(error instanceof MailFailed)) throw error
    app.trace.warn({ failure: error.failure, ...error.facts }, 'could not send an email')
    const { zh, en } = mailFailureText[error.failure]
    throw new AppError('mail_failed', { problemZh: zh, problemEn: en })
  }
}
