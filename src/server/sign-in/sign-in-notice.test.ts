import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { randomText } from '../secrets.ts'
import { aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

const WINDOWS =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/153.0 Safari/537.36'
const NEWER = WINDOWS.replace('153.0', '154.0')
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) Version/26.0 Safari/604.1'

forEachDatabase('the notice of a sign-in', (open) => {
  let server: TestServer
  let mailbox: Mailbox
  let user: TestUser
  let email: string
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
  beforeEach(async () => {
    await server.app.options.set('SignInNoticeEnabled', 'true')
    email = `${randomText(8)}@example.test`
    user = await aUser(server, { email })
  })

  async function signIn(userAgent: string): Promise<void> {
    const { json } = await server.call('POST', '/api/user/login', {
      body: { username: user.username, password: PASSWORD },
      headers: { 'user-agent': userAgent },
    })
    expect(json).toMatchObject({ success: true })
    await server.app.background.idle()
  }

  test('is mailed for a new browser or system, in both languages, and once', async () => {
    await signIn(WINDOWS)
    await signIn(NEWER)
    await signIn(IPHONE)
    const { parsed } = await mailbox.next()
    expect(parsed.to?.[0]?.address).toBe(email)
    expect(parsed.subject).toContain('新设备登录提醒')
    expect(parsed.subject).toContain('sign-in from a new device')
    expect(parsed.text).toContain('Safari · iPhone')
    expect(parsed.text).toContain('127.0.0.1')
    expect(parsed.text).toContain('https://gate.example/base/setting')
    await signIn(IPHONE)
    await signIn(WINDOWS)
    // The next email names the next new device, so no other email was sent before it.
    await signIn('curl/8.5.0')
    expect((await mailbox.next()).parsed.text).toContain('curl/8.5.0')
  })

  test('is not mailed while the option is off, and what was seen then is known later', async () => {
    await server.app.options.set('SignInNoticeEnabled', 'false')
    await signIn(WINDOWS)
    await signIn(IPHONE)
    await server.app.options.set('SignInNoticeEnabled', 'true')
    await signIn(IPHONE)
    await signIn('curl/8.5.0')
    expect((await mailbox.next()).parsed.text).toContain('curl/8.5.0')
  })
})
