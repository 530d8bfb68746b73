import { EgressRefused, type Egress } from '../egress/egress.ts'
import { isMailAddress, type MailAddress } from './mail-address.ts'
import { mailSecurity, type Letter, type MailFailure, type MailSettings } from './mail.ts'

/** A mail could not be sent. `facts` are for the trace and contain no secrets. */
export class MailFailed extends Error {
  readonly failure: MailFailure
  readonly facts: Readonly<Record<string, unknown>>

  constructor(failure: MailFailure, facts: Readonly<Record<string, unknown>>) {
    super(`could not send the email: ${failure}`)
    this.failure = failure
    this.facts = facts
  }
}

/** Total time limit, from the name lookup to the server's last reply. */
const SEND_TIMEOUT_MS = 25_000
const GREETING_TIMEOUT_MS = 10_000
const SILENCE_TIMEOUT_MS = 15_000

/**
 * Sends one letter for one recipient to the mail server. The egress opens the connection; the
 * library only uses it. Throws `MailFailed`.
 */
export async function sendMail(
  egress: Egress,
  settings: MailSettings,
  { to, letter, timeoutMs = SEND_TIMEOUT_MS }: { to: string; letter: Letter; timeoutMs?: number },
): Promise<void> {
  const { host, port, account, password, from } = settings
  // The library would split a text that looks like several addresses.
  if (!isMailAddress(to)) throw new MailFailed('refused', { code: 'not one address' })
  // Loaded on demand: the library takes five megabytes, and many installations send no mail.
  const { createTransport } = await import('nodemailer')
  const signal = AbortSignal.timeout(timeoutMs)
  const socket = await egress.connect({ host, port }).catch((error: unknown) => {
    throw new MailFailed(error instanceof EgressRefused ? 'address' : 'connection', factsOf(error))
  })
  const security = mailSecurity(port, socket.remoteAddress ?? '')
  const transport = createTransport({
    host,
    port,
    connection: socket,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ...(account !== '' && password !== '' ? { auth: { user: account, pass: password } } : {}),
    greetingTimeout: GREETING_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const receiver: MailAddress = { name: '', address: to }
  try {
    await transport.sendMail({
      from,
      to: [receiver],
      envelope: { from: from.address, to: [to] },
      subject: letter.subject,
      text: letter.text,
      html: letter.html,
      // Asks mail programs not to reply automatically.
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal,
    })
  } catch (error) {
    throw new MailFailed(signal.aborted ? 'timeout' : failureOf(error), factsOf(error))
  } finally {
    transport.close()
    socket.destroy()
  }
}

/** Error codes of the library. */
const FAILURES: Record<string, MailFailure> = {
  EAUTH: 'sign_in',
  ENOAUTH: 'sign_in',
  ETLS: 'encryption',
  EENVELOPE: 'refused',
  EMESSAGE: 'refused',
  ETIMEDOUT: 'timeout',
}
/** Node's error codes for certificates and handshakes. */
const ENCRYPTION_CODES = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO\b/

function failureOf(error: unknown): MailFailure {
  const { code, originalCode } = factsOf(error)
  if (ENCRYPTION_CODES.test(`${String(code)} ${String(originalCode)}`)) return 'encryption'
  return FAILURES[String(code)] ?? 'connection'
}

/** Returns codes and numbers only, because a server's reply may repeat what it was sent. */
function factsOf(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return {}
  const { code, originalCode, responseCode, timeoutType }: MailErrorFacts = error
  return { code, originalCode, responseCode, timeoutType }
}

interface MailErrorFacts extends Error {
  code?: unknown
  originalCode?: unknown
  responseCode?: unknown
  timeoutType?: unknown
}
