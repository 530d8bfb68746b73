import { networkInterfaces } from 'node:os'
import net, { type AddressInfo } from 'node:net'
import tls from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { addressClass } from '../egress/address-class.ts'
import { createEgress, type Egress } from '../egress/egress.ts'
import { startMailbox, type Mailbox, type MailboxSettings } from '../test/mailbox.ts'
import { TEST_CERTIFICATE } from '../test/test-certificate.ts'
import type { MailSettings } from './mail.ts'
import { MailFailed, sendMail } from './send-mail.ts'

const LETTER = { subject: 'Subject', text: 'text', html: '<p>html</p>' }
const PASSWORD = 'the-credential-of-the-mail-server'

let egress: Egress
let boxes: Mailbox[] = []
beforeEach(() => {
  egress = createEgress({ allowPrivate: true })
})
afterEach(async () => {
  await egress.close()
  for (const box of boxes.splice(0)) await box.close()
})

async function aMailbox(settings?: MailboxSettings): Promise<Mailbox> {
  const box = await startMailbox(settings)
  boxes.push(box)
  return box
}

const settingsFor = (port: number, over: Partial<MailSettings> = {}): MailSettings => ({
  host: '127.0.0.1',
  port,
  account: '',
  password: '',
  from: { name: 'System', address: 'system@example.test' },
  ...over,
})

/** Result of a mail: `sent`, or the failure. */
async function outcome(settings: MailSettings, to = 'reader@example.test') {
  try {
    await sendMail(egress, settings, { to, letter: LETTER })
    return 'sent'
  } catch (error) {
    if (!(error instanceof MailFailed)) throw error
    // Contains nothing from the server's replies or our requests.
    expect(JSON.stringify([error.message, error.facts])).not.toContain(PASSWORD)
    return error.failure
  }
}

/** Trusts the test certificate while `work` runs. */
async function trusting<T>(work: () => Promise<T>): Promise<T> {
  const usual = tls.getCACertificates()
  tls.setDefaultCACertificates([...usual, TEST_CERTIFICATE])
  try {
    return await work()
  } finally {
    tls.setDefaultCACertificates(usual)
  }
}

test('a letter arrives unchanged, for one recipient, from the system', async () => {
  const box = await aMailbox()
  expect(await outcome(settingsFor(box.port))).toBe('sent')
  const { parsed, sender, receivers } = await box.next()
  expect({ sender, receivers }).toEqual({
    sender: 'system@example.test',
    receivers: ['reader@example.test'],
  })
  expect(parsed).toMatchObject({
    subject: 'Subject',
    from: { name: 'System', address: 'system@example.test' },
    to: [{ name: '', address: 'reader@example.test' }],
  })
  expect(parsed.text?.trim()).toBe('text')
  expect(parsed.html?.trim()).toBe('<p>html</p>')
  expect(parsed.headers).toContainEqual(
    expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }),
  )
})

describe('names, subjects and addresses cannot add headers or recipients', () => {
  const attack = 'x\r\nBcc: evil@example.test\r\n\r\nbody'

  test('the name of the system, and the subject', async () => {
    const box = await aMailbox()
    const settings = settingsFor(box.port, {
      from: { name: attack, address: 'system@example.test' },
    })
    const letter = { ...LETTER, subject: attack }
    await sendMail(egress, settings, { to: 'reader@example.test', letter })
    const { receivers, parsed } = await box.next()
    expect(receivers).toEqual(['reader@example.test'])
    expect(parsed.bcc ?? []).toEqual([])
    expect(parsed.text?.trim()).toBe('text')
  })

  test.each([
    attack,
    'reader@example.test\r\nRCPT TO:<evil@example.test>',
    'reader@example.test>\r\nRCPT TO:<evil@example.test',
    'reader@example.test, evil@example.test',
    'Reader <evil@example.test>',
  ])('the recipient %j', async (to) => {
    const box = await aMailbox()
    expect(await outcome(settingsFor(box.port), to)).toBe('refused')
    expect(box.connections()).toBe(0)
  })
})

describe('encryption', () => {
  test('STARTTLS is used if offered, and its certificate must be trusted', async () => {
    const box = await aMailbox({ encryption: 'starttls' })
    expect(await outcome(settingsFor(box.port))).toBe('encryption')
    expect(box.mails).toEqual([])
    expect(await trusting(() => outcome(settingsFor(box.port)))).toBe('sent')
    expect(await box.next()).toMatchObject({ isEncrypted: true })
  })

  test('a certificate for another name is not trusted', async () => {
    const box = await aMailbox({ encryption: 'starttls', host: '127.0.0.2' })
    const settings = settingsFor(box.port, { host: '127.0.0.2' })
    expect(await trusting(() => outcome(settings))).toBe('encryption')
    expect(box.mails).toEqual([])
  })

  test('port 465 uses implicit TLS', async () => {
    const box = await aMailbox({ encryption: 'tls' })
    // Tests cannot listen on that port, so the connection is redirected.
    const usual = egress
    egress = { ...usual, connect: ({ host }) => usual.connect({ host, port: box.port }) }
    expect(await outcome(settingsFor(465))).toBe('encryption')
    expect(await trusting(() => outcome(settingsFor(465)))).toBe('sent')
    expect(await box.next()).toMatchObject({ isEncrypted: true })
  })

  /** Addresses of this machine; those that are not loopback count as remote. */
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ address }) => addressClass(address) !== 'forbidden')
    .map(({ address, internal }) => [address, internal ? 'sent' : 'encryption'] as const)

  test.each(addresses)('a server without TLS on %s: %s', async (host, expected) => {
    const box = await aMailbox({ host, account: { user: 'u', password: PASSWORD } })
    const settings = settingsFor(box.port, { host, account: 'u', password: PASSWORD })
    expect(await outcome(settings)).toBe(expected)
    expect(box.mails).toHaveLength(expected === 'sent' ? 1 : 0)
  })
})

describe('the account', () => {
  const account = { user: 'system', password: PASSWORD }

  test('is sent over TLS', async () => {
    const box = await aMailbox({ encryption: 'starttls', account })
    const settings = settingsFor(box.port, { account: account.user, password: PASSWORD })
    expect(await trusting(() => outcome(settings))).toBe('sent')
    expect(await box.next()).toMatchObject({ isEncrypted: true, account: 'system' })
  })

  test('that is rejected is reported without details', async () => {
    // This server repeats the password in its reply.
    const box = await aMailbox({ account: { user: 'system', password: 'another' } })
    const settings = settingsFor(box.port, { account: account.user, password: PASSWORD })
    expect(await outcome(settings)).toBe('sign_in')
  })
})

describe('failures', () => {
  test('a recipient that the server rejects', async () => {
    const box = await aMailbox({ refuses: /reader/ })
    expect(await outcome(settingsFor(box.port))).toBe('refused')
  })

  test('a closed port', async () => {
    const box = await startMailbox()
    await box.close()
    expect(await outcome(settingsFor(box.port))).toBe('connection')
  })

  test('a host name that does not resolve', async () => {
    expect(await outcome(settingsFor(25, { host: 'nowhere.invalid' }))).toBe('connection')
  })

  test.each(['169.254.169.254', '0.0.0.0'])('%s is never connected to', async (host) => {
    expect(await outcome(settingsFor(25, { host }))).toBe('address')
  })

  test('private addresses require the operator’s permission', async () => {
    const box = await aMailbox()
    await egress.close()
    egress = createEgress({ allowPrivate: false })
    expect(await outcome(settingsFor(box.port))).toBe('address')
    expect(await outcome(settingsFor(box.port, { host: 'localhost' }))).toBe('address')
    expect(box.connections()).toBe(0)
  })

  test('a server that does not respond times out', async () => {
    const server = net.createServer(() => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // A server that listens on TCP has an address object.
    const { port } = server.address() as AddressInfo
    const sent = sendMail(egress, settingsFor(port), {
      to: 'reader@example.test',
      letter: LETTER,
      timeoutMs: 200,
    })
    await expect(sent).rejects.toMatchObject({ failure: 'timeout' })
    // The connection is closed.
    await new Promise((resolve) => server.close(resolve))
  })

  test('a server that is not a mail server', async () => {
    const server = net.createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // A server that listens on TCP has an address object.
    const { port } = server.address() as AddressInfo
    expect(await outcome(settingsFor(port))).toBe('connection')
    server.close()
  })
})
