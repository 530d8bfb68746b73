import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Role, UserStatus } from '../../contract/user.ts'
import { randomText } from '../secrets.ts'
import { anAccessToken, aUser, PASSWORD } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

const newAddress = (): string => `${randomText(8)}@example.test`

forEachDatabase('resetting a password', (open) => {
  let server: TestServer
  let mailbox: Mailbox
  beforeAll(async () => {
    server = await startTestServer(open)
    mailbox = await startMailbox()
    await mailThrough(server, mailbox)
    await server.app.options.set('ServerAddress', 'https://gate.example/base/')
  })
  afterAll(async () => {
    await server.close()
    await mailbox.close()
  })

  afterEach(async () => {
    // A reset is also notified.
    await server.app.background.idle()
    mailbox.skipAll()
  })

  const ask = (email: string) =>
    server.call('GET', `/api/reset_password?email=${encodeURIComponent(email)}`)
  const reset = (email: string, token: string) =>
    server.call('POST', '/api/user/reset', { body: { email, token } })
  const signIn = (username: string, password: string) =>
    server.call('POST', '/api/user/login', { body: { username, password } })

  /** Requests a reset and returns the link from the mail. */
  async function linkFor(email: string): Promise<URL> {
    expect((await ask(email)).json).toEqual({ success: true, message: '' })
    const { parsed } = await mailbox.next()
    const [address] = /https:\S+/.exec(parsed.text ?? '') ?? []
    return new URL(address ?? '')
  }
  const tokenOf = (link: URL): string => link.searchParams.get('token') ?? ''

  test('mails a link to the console, and the link sets a new password', async () => {
    const email = `first.last+tag${newAddress()}`
    const user = await aUser(server, { email })
    const link = await linkFor(email)
    expect(link.origin + link.pathname).toBe('https://gate.example/base/user/reset')
    expect(link.searchParams.get('email')).toBe(email)
    expect(tokenOf(link)).toMatch(/^[0-9a-f]{32}$/)
    const answer = await reset(email, tokenOf(link))
    expect(answer.data).toMatch(/^[0-9A-Za-z]{16}$/)
    expect((await signIn(user.username, String(answer.data))).json['success']).toBe(true)
    expect((await signIn(user.username, PASSWORD)).json['success']).toBe(false)
  })

  // Existing access with the old password must end.
  test('ends the sessions and the system access token', async () => {
    const email = newAddress()
    const user = await aUser(server, { email })
    const accessToken = await anAccessToken(server, user.id)
    const self = (as: { cookie: string } | { accessToken: string }) =>
      server.call('GET', '/api/user/self', { as })
    expect((await self(user)).status).toBe(200)
    await reset(email, tokenOf(await linkFor(email)))
    expect((await self(user)).status).toBe(401)
    expect((await self({ accessToken })).json['success']).toBe(false)
  })

  test('a link is valid once, even if it is opened twice in parallel', async () => {
    const email = newAddress()
    await aUser(server, { email })
    const token = tokenOf(await linkFor(email))
    const answers = await Promise.all(Array.from({ length: 5 }, () => reset(email, token)))
    expect(answers.filter(({ json }) => json['success'] === true)).toHaveLength(1)
    expect((await reset(email, token)).message).toContain('重置链接无效或已过期')
  })

  test('a link expires after ten minutes', async () => {
    const email = newAddress()
    await aUser(server, { email })
    const token = tokenOf(await linkFor(email))
    server.clock.advanceSeconds(600)
    expect((await reset(email, token)).message).toContain('重置链接无效或已过期')
  })

  test.each([
    ['no address', { email: '' }, '无效的参数'],
    ['no token', { token: '' }, '无效的参数'],
    ['another token', { token: 'f'.repeat(32) }, '重置链接无效或已过期'],
    ['the address of somebody else', { email: 'other@example.test' }, '重置链接无效或已过期'],
  ])('%s is rejected and changes nothing', async (_what, over, sentence) => {
    const email = newAddress()
    const user = await aUser(server, { email })
    await aUser(server, { email: `x${email}` })
    const token = tokenOf(await linkFor(email))
    const body = { email, token, ...over }
    expect((await reset(body.email, body.token)).message).toContain(sentence)
    expect((await signIn(user.username, PASSWORD)).json['success']).toBe(true)
  })

  test('a link is invalid after five wrong tokens', async () => {
    const email = newAddress()
    await aUser(server, { email })
    const token = tokenOf(await linkFor(email))
    for (let attempt = 0; attempt < 5; attempt += 1) await reset(email, 'f'.repeat(32))
    expect((await reset(email, token)).message).toContain('重置链接无效或已过期')
  })

  test('a code for registration cannot reset a password', async () => {
    const email = newAddress()
    await server.call('GET', `/api/verification?email=${email}`)
    const [code = ''] = /^[2-9A-Z]{6}$/m.exec((await mailbox.next()).parsed.text ?? '') ?? []
    await aUser(server, { email })
    expect((await reset(email, code)).message).toContain('重置链接无效或已过期')
  })

  describe('changes since the link was sent', () => {
    test.each([
      ['was banned', { status: UserStatus.disabled }],
      ['was deleted', { status: UserStatus.deleted }],
      ['became root', { role: Role.root }],
      ['became an administrator', { role: Role.admin }],
      ['got another address', { email: 'another@example.test' }],
    ])('a user who %s gets no new password', async (_what, changes) => {
      const email = newAddress()
      const { id } = await aUser(server, { email })
      const token = tokenOf(await linkFor(email))
      const { write, read } = server.database
      await write.updateTable('users').set(changes).where('id', '=', id).execute()
      const hash = () =>
        read.selectFrom('users').select('password').where('id', '=', id).executeTakeFirst()
      const before = await hash()
      expect((await reset(email, token)).message).toContain('重置链接无效或已过期')
      expect(await hash()).toEqual(before)
    })
  })

  describe('accounts are not revealed', () => {
    // The lookup waits until the response is sent, so its result cannot affect the text or the
    // time.
    test('the response is sent before the lookup', async () => {
      const email = newAddress()
      await aUser(server, { email })
      const { background } = server.app
      const held = Promise.withResolvers<void>()
      for (let place = 0; place < 4; place += 1) background.run('mail', 'held', () => held.promise)
      const known = await ask(email)
      const unknown = await ask(newAddress())
      expect([known.status, known.text]).toEqual([unknown.status, unknown.text])
      expect(known.json).toEqual({ success: true, message: '' })
      const codes = await server.database.read
        .selectFrom('mail_codes')
        .select('address')
        .where('address', '=', email.toLowerCase())
        .execute()
      expect(codes).toEqual([])
      const before = mailbox.mails.length
      held.resolve()
      await background.idle()
      expect(mailbox.mails.slice(before).map(({ receivers }) => receivers)).toEqual([[email]])
      await mailbox.next()
    })

    test.each([
      ['nobody', {}],
      ['a banned user', { status: UserStatus.disabled }],
      ['a deleted user', { status: UserStatus.deleted }],
      // Administrators may set the mail server, so they could read the mail of others.
      ['root', { role: Role.root }],
      ['an administrator', { role: Role.admin }],
    ])('%s gets no mail, and everything else is the same', async (_what, over) => {
      const email = newAddress()
      if (Object.keys(over).length > 0) await aUser(server, { email, ...over })
      const before = mailbox.mails.length
      expect((await ask(email)).json).toEqual({ success: true, message: '' })
      await server.app.background.idle()
      expect(mailbox.mails).toHaveLength(before)
      // Guesses are compared with a stored code, at the same cost.
      const codes = await server.database.read
        .selectFrom('mail_codes')
        .select(['user_id', 'attempts_left'])
        .where('address', '=', email.toLowerCase())
        .execute()
      expect(codes).toEqual([{ user_id: 0, attempts_left: 5 }])
    })

    test('an address of two accounts gets no mail', async () => {
      const email = newAddress()
      await aUser(server, { email })
      await aUser(server, { email })
      const before = mailbox.mails.length
      await ask(email)
      await server.app.background.idle()
      expect(mailbox.mails).toHaveLength(before)
    })
  })

  // An address that becomes equal in lower case may be another person's mailbox.
  test('mail is sent to the stored spelling of the address', async () => {
    const name = `kate-${randomText(6).toLowerCase()}`
    await aUser(server, { email: `${name.toUpperCase()}@example.test` })
    const before = mailbox.mails.length
    await ask(`${name.replace('k', '\u212A')}@example.test`)
    await ask(`${name}@example.test`)
    await server.app.background.idle()
    const receivers = mailbox.mails.slice(before).flatMap((mail) => mail.receivers)
    expect(new Set(receivers)).toEqual(new Set([`${name.toUpperCase()}@example.test`]))
  })
})

forEachDatabase('if only root may change settings', (open) => {
  test.each([Role.root, Role.admin])('role %i can reset the password by mail', async (role) => {
    const server = await startTestServer(open, { OPTIONS_MIN_ROLE: '100' })
    const mailbox = await startMailbox()
    await mailThrough(server, mailbox)
    await aUser(server, { email: 'root@example.test', role })
    await server.call('GET', '/api/reset_password?email=root@example.test')
    const { parsed } = await mailbox.next()
    // Without a configured address, links use the server's own port.
    expect(parsed.text).toMatch(/http:\/\/localhost:\d+\/user\/reset\?email=root%40example\.test/)
    await server.close()
    await mailbox.close()
  })
})
