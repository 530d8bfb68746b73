import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import type { TestServer } from './test-app.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './test-certificate.ts'

/** A real mail server on a free loopback port that stores received mails. */
export interface Mailbox {
  port: number
  /** All mails so far, oldest first. */
  mails: ReceivedMail[]
  /** Returns the next unread mail; waits for it. */
  next(): Promise<ReceivedMail>
  /** Marks all mails so far as read. */
  skipAll(): void
  /** Number of connections opened. */
  connections(): number
  close(): Promise<void>
}

export interface ReceivedMail {
  /** Envelope addresses, which may differ from the headers. */
  sender: string
  receivers: string[]
  /** Raw message. */
  raw: string
  parsed: Email
  /** Whether it was received over TLS. */
  isEncrypted: boolean
  /** Authenticated user; empty without authentication. */
  account: string
}

export interface MailboxSettings {
  /** Default `none`: without TLS. */
  encryption?: 'none' | 'starttls' | 'tls'
  /** Required if given. */
  account?: { user: string; password: string }
  /** Recipients that are rejected. */
  refuses?: RegExp
  /** Listens on another address than 127.0.0.1. */
  host?: string
}

/** Maximum time a test waits for a mail. */
const WAIT_MS = 60_000

export async function startMailbox(settings: MailboxSettings = {}): Promise<Mailbox> {
  const { encryption = 'none', account } = settings
  const mails: ReceivedMail[] = []
  const waiting: ((mail: ReceivedMail) => void)[] = []
  let taken = 0
  let connections = 0
  const keep = (mail: ReceivedMail): void => {
    mails.push(mail)
    const waiter = waiting.shift()
    if (waiter === undefined) return
    taken += 1
    waiter(mail)
  }
  const server = new SMTPServer({
    secure: encryption === 'tls',
    key: TEST_CERTIFICATE_KEY,
    cert: TEST_CERTIFICATE,
    authOptional: account === undefined,
    allowInsecureAuth: true,
    disabledCommands: encryption === 'starttls' ? [] : ['STARTTLS'],
    disableReverseLookup: true,
    onConnect(_session, done) {
      connections += 1
      done()
    },
    onAuth({ username, password }, _session, done) {
      if (username === account?.user && password === account?.password)
        done(null, { user: username })
      else done(new Error(`no entry for ${username} with ${password}`))
    },
    onRcptTo({ address }, _session, done) {
      done(
        settings.refuses?.test(address) === true ? new Error(`no such mailbox ${address}`) : null,
      )
    },
    onData(stream, session, done) {
      void (async () => {
        try {
          keep(await receive(stream, session))
          done()
        } catch (error) {
          done(error instanceof Error ? error : new Error(String(error)))
        }
      })()
    },
  })
  // Some tests disconnect.
  server.on('error', () => {})
  await new Promise<void>((resolve) =>
    server.listen(0, settings.host ?? '127.0.0.1', () => resolve()),
  )
  // A server that listens on TCP has an address object.
  const { port } = server.server.address() as AddressInfo
  return {
    port,
    mails,
    next() {
      const mail = mails[taken]
      if (mail !== undefined) {
        taken += 1
        return Promise.resolve(mail)
      }
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('no mail came')), WAIT_MS)
        waiting.push((arrived) => {
          clearTimeout(timer)
          resolve(arrived)
        })
      })
    },
    skipAll() {
      taken = mails.length
    },
    connections: () => connections,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function receive(
  stream: AsyncIterable<unknown>,
  session: {
    secure: boolean
    user?: unknown
    envelope: { mailFrom: false | { address: string }; rcptTo: { address: string }[] }
  },
): Promise<ReceivedMail> {
  const parts: Buffer[] = []
  for await (const part of stream) {
    // The stream has no encoding, so its parts are buffers.
    parts.push(part as Buffer)
  }
  const raw = Buffer.concat(parts)
  const { mailFrom, rcptTo } = session.envelope
  return {
    sender: mailFrom === false ? '' : mailFrom.address,
    receivers: rcptTo.map(({ address }) => address),
    raw: raw.toString('utf8'),
    parsed: await PostalMime.parse(raw),
    isEncrypted: session.secure,
    account: String(session.user ?? ''),
  }
}

/** Configures the server to send mail through this mailbox. */
export async function mailThrough(
  { app }: Pick<TestServer, 'app'>,
  { port }: Pick<Mailbox, 'port'>,
): Promise<void> {
  await app.options.set('SMTPServer', '127.0.0.1')
  await app.options.set('SMTPPort', String(port))
  await app.options.set('SMTPFrom', 'system@example.test')
}
