import type { LiveOptions } from '../option/live-options.ts'
import { oneLine, senderAddress, type MailAddress } from './mail-address.ts'

/** Settings of the mail server, from the current options. */
export interface MailSettings {
  host: string
  port: number
  /** Empty if the server requires no authentication. */
  account: string
  password: string
  from: MailAddress
}

export interface Letter {
  subject: string
  text: string
  html: string
}

/** Returns the settings, or null if no server or no sender is set. */
export function mailSettings(options: Pick<LiveOptions, 'text' | 'number'>): MailSettings | null {
  const host = options.text('SMTPServer').trim()
  const account = options.text('SMTPAccount').trim()
  const from = senderAddress(options.text('SMTPFrom').trim() || account)
  if (host === '' || from === null) return null
  return {
    host,
    port: options.number('SMTPPort'),
    account,
    password: options.text('SMTPToken'),
    from: { name: oneLine(options.text('SystemName')), address: from },
  }
}

/** Port with implicit TLS. */
const IMPLICIT_TLS_PORT = 465

export type MailSecurity = 'tls' | 'starttls' | 'starttls_if_offered'

/**
 * Returns how the connection to an address is protected. Plain text is only allowed to this machine
 * itself; certificates are always verified.
 */
export function mailSecurity(port: number, remoteAddress: string): MailSecurity {
  if (port === IMPLICIT_TLS_PORT) return 'tls'
  const isLoopback = /^(::ffff:)?127\.|^::1$/.test(remoteAddress)
  return isLoopback ? 'starttls_if_offered' : 'starttls'
}

/** Reason of a failed mail for the user. The server's reply is not repeated. */
export type MailFailure =
  | 'address'
  | 'connection'
  | 'encryption'
  | 'sign_in'
  | 'refused'
  | 'timeout'

export const mailFailureText: Record<MailFailure, { zh: string; en: string }> = {
  address: {
    zh: '不允许连接该邮件服务器的地址',
    en: 'the address of the mail server is not allowed',
  },
  connection: { zh: '无法连接邮件服务器', en: 'the mail server cannot be reached' },
  encryption: {
    zh: '邮件服务器不支持加密连接，或其证书不受信任',
    en: 'the mail server does not encrypt, or its certificate is not trusted',
  },
  sign_in: {
    zh: '邮件服务器拒绝了账户或凭证',
    en: 'the mail server refused the account or its credential',
  },
  refused: {
    zh: '邮件服务器拒绝了发件人、收件人或邮件',
    en: 'the mail server refused the sender, the recipient or the email',
  },
  timeout: { zh: '邮件服务器未及时响应', en: 'the mail server did not respond in time' },
}
