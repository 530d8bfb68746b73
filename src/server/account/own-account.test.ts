import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { randomText } from '../secrets.ts'
import { anAccessToken, anAdmin, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

forEachDatabase('the own account', (open) => {
  let server: TestServer
  let mailbox: Mailbox
  let user: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
    mailbox = await startMailbox()
    await mailThrough(server, mailbox)
  })
  afterAll(async () => {
    await server.close()
    await mailbox.close()
  })
  beforeEach(async () => {
    user = await aUser(server)
  })

  const call = (method: string, path: string, body?: unknown) =>
    server.call(method, path, { as: user, body })
  const row = (id = user.id) =>
    server.database.read
      .selectFrom('users')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()

  describe('GET /api/user/aff', () => {
    test('returns the user’s invite code', async () => {
      const { aff_code } = await row()
      expect((await call('GET', '/api/user/aff')).data).toBe(aff_code)
    })

    // Root and users of some adopted databases have no invite code at first.
    test.each(['', null])(
      'creates one if it is %j, the same for all concurrent requests',
      async (aff_code) => {
        // Only one row may contain the empty text.
        const others = server.database.write.updateTable('users').set({ aff_code: null })
        await others.where('aff_code', '=', '').execute()
        const { write } = server.database
        await write.updateTable('users').set({ aff_code }).where('id', '=', user.id).execute()
        const answers = await Promise.all(
          Array.from({ length: 8 }, () => call('GET', '/api/user/aff')),
        )
        const codes = new Set(answers.map(({ data }) => data))
        expect(codes.size).toBe(1)
        expect([...codes][0]).toMatch(/^[0-9A-Za-z]{4,12}$/)
        expect((await row()).aff_code).toBe([...codes][0])
      },
    )
  })

  describe('DELETE /api/user/self', () => {
    test('keeps the row without its name, reports the deletion to the session once, and revokes all access', async () => {
      const accessToken = await anAccessToken(server, user.id)
      expect((await call('DELETE', '/api/user/self')).json).toEqual({ success: true, message: '' })
      const deleted = await row()
      expect(deleted.status).toBe(UserStatus.deleted)
      expect(deleted.username).toMatch(/^deleted_[0-9a-f]{32}$/)
      expect(await call('GET', '/api/user/self')).toMatchObject({
        status: 200,
        message: errorText('user_disabled', 'zh'),
      })
      expect((await call('GET', '/api/user/self')).status).toBe(401)
      const byToken = await server.call('GET', '/api/user/self', { as: { accessToken } })
      expect(byToken.json['success']).toBe(false)
      const body = { username: user.username, password: PASSWORD }
      const signIn = await server.call('POST', '/api/user/login', { body })
      expect(signIn.json['success']).toBe(false)
    })

    test('root cannot delete itself', async () => {
      user = await aUser(server, { role: Role.root })
      expect((await call('DELETE', '/api/user/self')).message).toContain('不能删除超级管理员')
      expect((await row()).status).toBe(UserStatus.enabled)
    })
  })

  describe('PUT /api/user/self', () => {
    test('a new password ends the other sessions, not this one', async () => {
      const other = `session=${await server.app.sessions.start(user.id, false)}`
      const answer = await call('PUT', '/api/user/self', { password: 'password-2' })
      expect(answer.json['success']).toBe(true)
      expect((await call('GET', '/api/user/self')).status).toBe(200)
      const others = await server.call('GET', '/api/user/self', { as: { cookie: other } })
      expect(others.status).toBe(401)
    })

    test('a name that is taken changes nothing, not even the password', async () => {
      const { username } = await aUser(server)
      const { password } = await row()
      const answer = await call('PUT', '/api/user/self', { username, password: 'password-2' })
      expect(answer.message).toContain('已被使用')
      expect((await row()).password).toBe(password)
    })

    test('a wrong old password is rejected; a user without a password needs none', async () => {
      const body = { password: 'password-2', old_password: 'wrong' }
      expect((await call('PUT', '/api/user/self', body)).message).toContain('当前密码不正确')
      const { write } = server.database
      await write.updateTable('users').set({ password: '' }).where('id', '=', user.id).execute()
      expect((await call('PUT', '/api/user/self', body)).json['success']).toBe(true)
    })
  })

  describe('GET /api/oauth/email/bind', () => {
    const bind = (email: string, code: string) =>
      call(
        'GET',
        `/api/oauth/email/bind?email=${encodeURIComponent(email)}&code=${encodeURIComponent(code)}`,
      )
    async function codeFor(email: string): Promise<string> {
      await server.call('GET', `/api/verification?email=${email}`)
      const text = (await mailbox.next()).parsed.text ?? ''
      return /^[2-9A-Z]{6}$/m.exec(text)?.[0] ?? ''
    }

    test('sets the address if the code is right, once', async () => {
      const email = `${randomText(8)}@example.test`
      const code = await codeFor(email)
      const answer = await bind(email, code)
      expect(answer.json).toEqual({ success: true, message: '' })
      expect((await row()).email).toBe(email)
      expect((await bind(email, code)).message).toBe('验证码错误或已过期')
    })

    test.each([
      ['without an address', '', 'AAAAAA', '请输入邮箱地址和验证码'],
      ['without a code', 'a@example.test', '', '请输入邮箱地址和验证码'],
      ['with another code', 'a@example.test', 'AAAAAA', '验证码错误或已过期'],
      ['with two addresses', 'a@example.test,b@example.test', 'AAAAAA', '邮箱地址无效'],
    ])('%s: rejected', async (_what, email, code, sentence) => {
      await server.call('GET', '/api/verification?email=a@example.test')
      await mailbox.next()
      expect((await bind(email, code)).message).toContain(sentence)
      expect((await row()).email).toBe('')
    })

    test('an address that was taken meanwhile is rejected', async () => {
      const email = `${randomText(8)}@example.test`
      const code = await codeFor(email)
      await aUser(server, { email: email.toUpperCase() })
      expect((await bind(email, code)).message).toBe('该邮箱地址已被其他账户使用')
      expect((await row()).email).toBe('')
    })

    test('requires a session', async () => {
      const answer = await server.call('GET', '/api/oauth/email/bind?email=a@b.c&code=AAAAAA')
      expect(answer.status).toBe(401)
    })

    // Otherwise a link or an image on any page could bind its author's mailbox.
    test('a link on another site binds nothing', async () => {
      const email = `${randomText(8)}@example.test`
      const code = await codeFor(email)
      const answer = await server.call('GET', `/api/oauth/email/bind?email=${email}&code=${code}`, {
        as: user,
        headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
      })
      expect(answer.status).toBe(403)
      expect((await row()).email).toBe('')
    })
  })
})

forEachDatabase('POST /api/mail/test', (open) => {
  let server: TestServer
  let mailbox: Mailbox
  let admin: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
    mailbox = await startMailbox()
    await mailThrough(server, mailbox)
    admin = await anAdmin(server)
  })
  afterAll(async () => {
    await server.close()
    await mailbox.close()
  })
  afterEach(() => server.app.options.set('MessagePusherAddress', ''))
  const send = (body: unknown, as = admin) => server.call('POST', '/api/mail/test', { as, body })

  test('sends to the given address, or to the caller’s own', async () => {
    expect((await send({ email: 'someone@example.test' })).json['success']).toBe(true)
    expect((await mailbox.next()).receivers).toEqual(['someone@example.test'])
    admin = await aUser(server, { role: Role.admin, email: 'admin@example.test' })
    await send({})
    expect((await mailbox.next()).receivers).toEqual(['admin@example.test'])
  })

  test('rejects a caller without an address who gives no recipient', async () => {
    admin = await anAdmin(server)
    expect((await send({})).message).toContain('您的账户没有绑定邮箱，请填写收件人')
    expect((await send({ email: ' ' })).message).toContain('请填写收件人')
    expect((await send({ email: 'nobody' })).message).toContain('邮箱地址无效')
  })

  test('sends a notice to root', async () => {
    expect((await send({ notice: true })).message).toContain('超级管理员没有绑定邮箱')
    await server.database.write
      .updateTable('users')
      .set({ email: 'root@example.test' })
      .where('role', '=', Role.root)
      .execute()
    expect((await send({ notice: true })).json['success']).toBe(true)
    expect((await mailbox.next()).receivers).toEqual(['root@example.test'])
  })

  test('sends a notice to the message pusher if it is configured', async () => {
    const pushed: unknown[] = []
    let answer = '{"success":true,"message":""}'
    const pusher = http.createServer((request, response) => {
      let text = ''
      request.on('data', (part: Buffer) => (text += part.toString()))
      request.on('end', () => {
        pushed.push(JSON.parse(text))
        response.end(answer)
      })
    })
    await new Promise<void>((resolve) => pusher.listen(0, '127.0.0.1', resolve))
    // A server that listens on TCP has an address object.
    const { port } = pusher.address() as AddressInfo
    await server.app.options.set('MessagePusherAddress', `http://127.0.0.1:${port}/push`)
    await server.app.options.set('MessagePusherToken', 'token-of-the-pusher')
    const before = mailbox.mails.length
    expect((await send({ notice: true })).json['success']).toBe(true)
    expect(pushed).toMatchObject([
      { title: 'Gatehouse 测试邮件', token: 'token-of-the-pusher', channel: '' },
    ])
    expect(mailbox.mails).toHaveLength(before)

    answer = '{"success":false,"message":"no such token: token-of-the-pusher"}'
    const refused = await send({ notice: true })
    expect(refused.message).toContain('消息推送没有成功')
    expect(refused.text).not.toContain('token-of-the-pusher')
    await new Promise((resolve) => pusher.close(resolve))
    expect((await send({ notice: true })).message).toContain('消息推送没有成功')
  })

  test('requires permission to change the settings', async () => {
    const strict = await startTestServer(open, { OPTIONS_MIN_ROLE: '100' })
    const as = await anAdmin(strict)
    const body = { email: 'a@example.test' }
    const answer = await strict.call('POST', '/api/mail/test', { as, body })
    expect(answer.message).toContain('权限不足')
    await strict.close()
  })
})
