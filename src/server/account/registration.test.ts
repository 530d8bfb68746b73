import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { randomText } from '../secrets.ts'
import { updateUser } from '../user/user-store.ts'

const PASSWORD = 'password-1'

forEachDatabase('registering', (open) => {
  let server: TestServer
  let mailbox: Mailbox
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
    await options({
      RegisterEnabled: 'true',
      PasswordRegisterEnabled: 'true',
      EmailVerificationEnabled: 'false',
      EmailDomainRestrictionEnabled: 'false',
      QuotaForNewUser: '0',
      QuotaForInvitee: '0',
      QuotaForInviter: '0',
      DisplayInCurrencyEnabled: 'false',
    })
  })

  async function options(values: Record<string, string>): Promise<void> {
    for (const [key, value] of Object.entries(values)) await server.app.options.set(key, value)
  }
  const register = (body: unknown) => server.call('POST', '/api/user/register', { body })
  const signIn = (username: string, password = PASSWORD) =>
    server.call('POST', '/api/user/login', { body: { username, password } })
  const rowOf = (username: string) =>
    server.database.read
      .selectFrom('users')
      .selectAll()
      .where('username', '=', username)
      .executeTakeFirst()
  const logsOf = async (userId: number) => {
    const rows = await server.database.read
      .selectFrom('logs')
      .select(['type', 'content', 'username'])
      .where('user_id', '=', userId)
      .orderBy('id')
      .execute()
    return rows
  }
  const askForCode = (email: string) =>
    server.call('GET', `/api/verification?email=${encodeURIComponent(email)}`)
  async function codeFor(email: string): Promise<string> {
    expect((await askForCode(email)).message).toBe('')
    const { parsed } = await mailbox.next()
    const [code] = /^[2-9A-HJ-NP-Z]{6}$/m.exec(parsed.text ?? '') ?? []
    if (code === undefined) throw new Error(`no code in: ${parsed.text}`)
    return code
  }

  test('creates an ordinary account with a first token, without signing in', async () => {
    const username = randomText(12)
    const answer = await register({ username, password: PASSWORD, password2: 'ignored' })
    expect(answer.json).toEqual({ success: true, message: '' })
    expect(answer.headers['set-cookie']).toBeUndefined()
    const row = await rowOf(username)
    expect(row).toMatchObject({
      display_name: username,
      role: 1,
      status: 1,
      quota: 0,
      group: 'default',
      email: '',
      inviter_id: 0,
    })
    expect(row?.password).toMatch(/^\$2[aby]\$/)
    expect(row?.aff_code).toMatch(/^[0-9A-Za-z]{4}$/)
    const tokens = await server.database.read
      .selectFrom('tokens')
      .selectAll()
      .where('user_id', '=', row?.id ?? 0)
      .execute()
    expect(tokens).toMatchObject([
      { name: 'default', unlimited_quota: true, expired_time: -1, remain_quota: -1, status: 1 },
    ])
    expect((await signIn(username)).json['success']).toBe(true)
  })

  test('unknown body members are ignored', async () => {
    const username = randomText(12)
    const extra = { role: 100, status: 2, quota: 1e9, group: 'vip', id: 1, email: 'a@b.c' }
    await register({ username, password: PASSWORD, ...extra })
    expect(await rowOf(username)).toMatchObject({
      role: 1,
      status: 1,
      quota: 0,
      group: 'default',
      email: '',
    })
  })

  describe('refuses', () => {
    test.each([
      ['without a name', { username: '' }, '无效的参数'],
      ['without a password', { password: '' }, '无效的参数'],
      ['a name of 13 characters', { username: 'abcdefghijklm' }, '用户名最多 12 个字符'],
      ['a name that begins with a space', { username: ' abc' }, '用户名不能以空格'],
      ['a name with an invisible character', { username: 'ab\u200bc' }, '用户名不能以空格'],
      ['what may be another person’s address', { username: 'vi@qq.com' }, '用户名不能以空格'],
      ['a password of 7 characters', { password: '1234567' }, '密码至少 8 位'],
      ['a password of 73 bytes', { password: 'p'.repeat(73) }, '密码过长，请缩短（最多 72 字节'],
      ['a number for a name', { username: 12 }, '无效'],
      ['a display name of 21 characters', { display_name: 'd'.repeat(21) }, '最多 20 个字符'],
      ['an address of 51 characters', { email: `${'a'.repeat(45)}@b.com` }, '邮箱'],
    ])('%s', async (_what, body, sentence) => {
      const username = randomText(10)
      const answer = await register({ username, password: PASSWORD, ...body })
      expect(answer.status).toBe(200)
      expect(answer.json['success']).toBe(false)
      expect(answer.message).toContain(sentence)
      expect(await rowOf(username)).toBeUndefined()
    })

    test('a name that is taken', async () => {
      const { username } = await aUser(server)
      const answer = await register({ username, password: PASSWORD })
      expect(answer.message).toContain('已被使用')
    })

    test.each([
      ['RegisterEnabled', '管理员关闭了新用户注册'],
      ['PasswordRegisterEnabled', '管理员关闭了密码注册'],
    ])('every request while %s is off', async (option, sentence) => {
      await options({ [option]: 'false' })
      const username = randomText(10)
      expect((await register({ username, password: PASSWORD })).message).toContain(sentence)
      expect(await rowOf(username)).toBeUndefined()
    })
  })

  test('of 50 parallel requests for one name one succeeds, with one bonus and one token', async () => {
    await options({ QuotaForNewUser: '7' })
    const username = randomText(12)
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => register({ username, password: PASSWORD })),
    )
    const made = answers.filter(({ json }) => json['success'] === true)
    expect(made).toHaveLength(1)
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    const id = (await rowOf(username))?.id ?? 0
    expect(await rowOf(username)).toMatchObject({ quota: 7 })
    const tokens = await server.database.read
      .selectFrom('tokens')
      .select('id')
      .where('user_id', '=', id)
      .execute()
    expect(tokens).toHaveLength(1)
  })

  describe('points', () => {
    test('for new users, invited users and their inviter, each with a log row', async () => {
      await options({ QuotaForNewUser: '100', QuotaForInvitee: '20', QuotaForInviter: '3' })
      const inviter = await aUser(server, { quota: 1000 })
      const { data: aff_code } = await server.call('GET', '/api/user/aff', { as: inviter })
      const username = randomText(12)
      await register({ username, password: PASSWORD, aff_code })
      const row = await rowOf(username)
      expect(row).toMatchObject({ quota: 120, inviter_id: inviter.id })
      expect(await rowOf(inviter.username)).toMatchObject({ quota: 1003 })
      expect(await logsOf(row?.id ?? 0)).toEqual([
        { type: 4, content: '新用户注册赠送 100 点额度', username },
        { type: 4, content: '使用邀请码赠送 20 点额度', username },
      ])
      expect(await logsOf(inviter.id)).toEqual([
        { type: 4, content: '邀请用户赠送 3 点额度', username: inviter.username },
      ])
    })

    test.each(['', 'nobody-has-this', null])(
      'an invite code %j brings no bonus',
      async (aff_code) => {
        await options({ QuotaForNewUser: '0', QuotaForInvitee: '20', QuotaForInviter: '3' })
        const username = randomText(12)
        expect((await register({ username, password: PASSWORD, aff_code })).message).toBe('')
        const row = await rowOf(username)
        expect(row).toMatchObject({ quota: 0, inviter_id: 0 })
        expect(await logsOf(row?.id ?? 0)).toEqual([])
      },
    )

    test('no bonus and no log row if the amounts are 0', async () => {
      const inviter = await aUser(server)
      const { data: aff_code } = await server.call('GET', '/api/user/aff', { as: inviter })
      const username = randomText(12)
      await register({ username, password: PASSWORD, aff_code })
      const row = await rowOf(username)
      expect(row).toMatchObject({ inviter_id: inviter.id })
      expect(await logsOf(row?.id ?? 0)).toEqual([])
      expect(await logsOf(inviter.id)).toEqual([])
    })
  })

  describe('with a mailed code', () => {
    beforeEach(() => options({ EmailVerificationEnabled: 'true' }))
    const withCode = (over: Record<string, unknown>) =>
      register({ username: randomText(12), password: PASSWORD, ...over })

    test('the account has the verified address', async () => {
      const email = `${randomText(8)}@example.test`
      const username = randomText(12)
      const verification_code = await codeFor(email)
      expect((await withCode({ username, email, verification_code })).message).toBe('')
      expect(await rowOf(username)).toMatchObject({ email })
      expect((await signIn(email)).data).toMatchObject({ username })
    })

    test('case and whitespace of address and code are ignored', async () => {
      const email = `${randomText(8)}@example.test`
      const code = await codeFor(email.toUpperCase())
      const verification_code = ` ${code.slice(0, 3)} ${code.slice(3).toLowerCase()}\n`
      expect((await withCode({ email: ` ${email} `, verification_code })).message).toBe('')
    })

    test('a code is valid once', async () => {
      const email = `${randomText(8)}@example.test`
      const verification_code = await codeFor(email)
      await withCode({ email, verification_code })
      const again = await withCode({ email, verification_code })
      expect(again.message).toBe('验证码错误或已过期')
    })

    test('an address that was taken meanwhile is rejected, and its code stays valid', async () => {
      const email = `${randomText(8)}@example.test`
      const username = randomText(12)
      const verification_code = await codeFor(email)
      const { id } = await aUser(server, { email: email.toUpperCase() })
      const refused = await withCode({ username, email, verification_code })
      expect(refused.message).toBe('该邮箱地址已被其他账户使用')
      expect(await rowOf(username)).toBeUndefined()
      await updateUser(server.database.write, id, { email: '' })
      expect((await withCode({ username, email, verification_code })).message).toBe('')
    })

    test('of ten parallel requests with one code one succeeds', async () => {
      const email = `${randomText(8)}@example.test`
      const verification_code = await codeFor(email)
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => withCode({ email, verification_code })),
      )
      expect(answers.filter(({ json }) => json['success'] === true)).toHaveLength(1)
    })

    test('a name that is taken does not use up the code', async () => {
      const email = `${randomText(8)}@example.test`
      const { username } = await aUser(server)
      const verification_code = await codeFor(email)
      for (let attempt = 0; attempt < 7; attempt += 1) {
        const refused = await withCode({ username, email, verification_code })
        expect(refused.message).toContain('已被使用')
      }
      expect((await withCode({ email, verification_code })).message).toBe('')
    })

    test.each([
      ['no address', { email: '' }, '请输入邮箱地址和验证码'],
      ['no code', { verification_code: '' }, '请输入邮箱地址和验证码'],
      ['no mailbox', { email: 'a b' }, '邮箱地址无效'],
      ['another code', { verification_code: 'AAAAAA' }, '验证码错误或已过期'],
      ['a code of another address', { email: 'other@example.test' }, '验证码错误或已过期'],
      ['a very long code', { verification_code: 'A'.repeat(10_000) }, '验证码错误或已过期'],
    ])('%s is rejected', async (_what, over, sentence) => {
      const email = `${randomText(8)}@example.test`
      const verification_code = await codeFor(email)
      expect((await withCode({ email, verification_code, ...over })).message).toContain(sentence)
    })

    test('a code expires after ten minutes', async () => {
      const email = `${randomText(8)}@example.test`
      const verification_code = await codeFor(email)
      server.clock.advanceSeconds(600)
      expect((await withCode({ email, verification_code })).message).toBe('验证码错误或已过期')
    })

    test('a new code replaces the old one', async () => {
      const email = `${randomText(8)}@example.test`
      const first = await codeFor(email)
      const second = await codeFor(email)
      const withFirst = await withCode({ email, verification_code: first })
      expect(withFirst.message).toBe('验证码错误或已过期')
      expect((await withCode({ email, verification_code: second })).message).toBe('')
    })

    // Six characters are few: a guesser must not have more than five attempts.
    test('after five wrong guesses, also parallel ones, the right code is rejected', async () => {
      const email = `${randomText(8)}@example.test`
      const verification_code = await codeFor(email)
      const guesses = Array.from({ length: 20 }, () =>
        withCode({ email, verification_code: 'AAAAAA' }),
      )
      await Promise.all(guesses)
      expect((await withCode({ email, verification_code })).message).toBe('验证码错误或已过期')
    })

    test('the database contains only slow hashes of codes', async () => {
      const email = `${randomText(8)}@example.test`
      const code = await codeFor(email)
      const rows = await server.database.read.selectFrom('mail_codes').selectAll().execute()
      expect(JSON.stringify(rows)).not.toContain(code)
      expect(rows.every(({ code_hash }) => /^\$2[aby]\$/.test(code_hash))).toBe(true)
    })
  })

  describe('requesting a code', () => {
    let owner: TestUser
    beforeAll(async () => {
      owner = await aUser(server, { email: 'Owner@example.test' })
    })

    // Otherwise anyone could find out which addresses have an account.
    test('the response for an address in use is the same; only its mailbox gets a notice', async () => {
      const known = await askForCode('oWNER@example.test')
      const told = (await mailbox.next()).parsed
      const unknown = await askForCode('nobody@example.test')
      await mailbox.next()
      expect([known.status, known.text]).toEqual([unknown.status, unknown.text])
      expect(told.text).toContain('已属于一个账户')
      expect(told.text).not.toContain(owner.username)
      expect(told.text).not.toMatch(/^[2-9A-HJ-NP-Z]{6}$/m)
    })

    test('uses the caller’s language', async () => {
      await server.call('GET', '/api/verification?email=someone@example.test', {
        headers: { 'accept-language': 'en' },
      })
      expect((await mailbox.next()).parsed.subject).toBe('Gatehouse: verify your email address')
    })

    test.each([
      ['', '邮箱地址无效'],
      ['no-address', '邮箱地址无效'],
      ['a@b.c,d@e.f', '邮箱地址无效'],
      ['a@b.c\r\nBcc: d@e.f', '邮箱地址无效'],
      [`${'a'.repeat(50)}@b.c`, '邮箱地址无效'],
    ])('rejects %j', async (email, sentence) => {
      const before = mailbox.mails.length
      expect((await askForCode(email)).message).toContain(sentence)
      expect(mailbox.mails).toHaveLength(before)
    })

    test.each([
      ['a@allowed.test', true],
      ['a@ALLOWED.test', true],
      ['a+tag@also.test', true],
      ['a@sub.allowed.test', false],
      ['a@notallowed.test', false],
      ['a@allowed.test.evil.test', false],
      ['allowed.test@evil.test', false],
    ])('with a list of domains, %s is allowed: %s', async (email, may) => {
      await options({
        EmailDomainWhitelist: 'Allowed.test, also.test',
        EmailDomainRestrictionEnabled: 'true',
      })
      const answer = await askForCode(email)
      expect(answer.json['success']).toBe(may)
      if (may) await mailbox.next()
      else expect(answer.message).toContain('Allowed.test、also.test')
    })
  })
})

forEachDatabase('mail that cannot be sent', (open) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())

  test('reports a missing mail server', async () => {
    const answer = await server.call('GET', '/api/verification?email=a@example.test')
    expect(answer.message).toContain('没有设置邮件服务器')
  })

  test('reports the failure without revealing settings', async () => {
    const mailbox = await startMailbox()
    await mailThrough(server, mailbox)
    await mailbox.close()
    const answer = await server.call('GET', '/api/verification?email=a@example.test')
    expect(answer.message).toBe('邮件没有发出：无法连接邮件服务器')
  })
})

forEachDatabase('mails to one address', (open) => {
  test('are limited to five an hour, independent of other addresses', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1000' })
    const mailbox = await startMailbox()
    await mailThrough(server, mailbox)
    const ask = (email: string) => server.call('GET', `/api/verification?email=${email}`)
    for (let mail = 0; mail < 5; mail += 1) {
      expect((await ask('a@example.test')).json['success']).toBe(true)
    }
    expect((await ask('A@example.test')).message).toContain('发往该地址的邮件过多')
    expect((await ask('b@example.test')).json['success']).toBe(true)
    expect(mailbox.mails).toHaveLength(6)
    await server.close()
    await mailbox.close()
  })
})
