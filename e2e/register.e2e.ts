import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startMailbox, type Mailbox, type ReceivedMail } from '../src/server/test/mailbox.ts'
import {
  startHumanCheckProvider,
  type HumanCheckProvider,
} from '../tools/sign-in-providers/human-check-provider.ts'
import { expectAt, expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

/** /register: validation, invitation, email code, human check. */

const PASSWORD = 'password-1'

let visit: Visit
let mailbox: Mailbox
let check: HumanCheckProvider
let page: Page

beforeAll(async () => {
  check = await startHumanCheckProvider()
  mailbox = await startMailbox()
  visit = await startVisit({ env: { TURNSTILE_BASE_URL: check.url } })
  await visit.setOption('ServerAddress', visit.gatehouse.url)
  await visit.setOption('SMTPServer', '127.0.0.1')
  await visit.setOption('SMTPPort', String(mailbox.port))
  await visit.setOption('SMTPAccount', 'gate@example.com')
  await visit.setOption('EmailDomainRestrictionEnabled', 'false')
})
afterAll(async () => {
  await visit.stop()
  await Promise.all([mailbox.close(), check.close()])
})

const open = async (path = '/register') => {
  await page?.context().close()
  ;({ page } = await visit.open(path))
  await expectSeen(page.getByRole('heading', { name: /^注册/ }))
}
beforeEach(() => open())

const fill = async (fields: { username?: string; password?: string; password2?: string }) => {
  const { username = '', password = PASSWORD, password2 = password } = fields
  await page.getByLabel('用户名').fill(username)
  await page.getByLabel('密码', { exact: true }).fill(password)
  await page.getByLabel('确认密码').fill(password2)
}
const submit = () =>
  page.getByRole('main').getByRole('button', { name: '注册', exact: true }).click()
const codeIn = ({ parsed }: ReceivedMail) => /验证码是：\s*(\S+)/.exec(parsed.text ?? '')?.[1] ?? ''
const toast = (text: string) => page.locator('[role=alert],[role=status]').getByText(text).first()
const userNamed = async (username: string): Promise<Record<string, unknown> | undefined> => {
  const { data } = await visit.api('GET', `/api/user/search?keyword=${username}`)
  return [data].flat().map(Object)[0]
}

describe('validation', () => {
  test('the fields mention the limits', async () => {
    const hint = (label: string) =>
      page.getByLabel(label, { exact: true }).getAttribute('placeholder')
    await expect.poll(() => hint('用户名')).toContain('最多 12 个字符')
    await expect.poll(() => hint('密码')).toContain('最短 8 位，最长 20 位')
  })

  test.each([
    [
      'a short password',
      { username: 'short1', password: '1234567' },
      '密码长度不得小于 8 位！',
      '密码',
    ],
    [
      'two different passwords',
      { username: 'differ1', password2: 'password-2' },
      '两次输入的密码不一致',
      '确认密码',
    ],
    ['no name', {}, '请输入用户名', '用户名'],
  ])(
    '%s: shows a toast, marks the field, and sends nothing',
    async (_what, fields, sentence, label) => {
      let sent = 0
      await page.route('**/api/user/register**', (route) => {
        sent += 1
        return route.abort()
      })
      await fill(fields)
      await submit()
      await expectSeen(page.getByRole('alert').getByText(sentence))
      await expect
        .poll(() => page.getByLabel(label, { exact: true }).getAttribute('aria-invalid'))
        .toBe('true')
      expect(sent).toBe(0)
    },
  )

  test('the server rejects a taken username', async () => {
    await fill({ username: 'root' })
    await submit()
    await expectSeen(page.getByRole('main').getByRole('alert').getByText('已被使用'))
    expect(page.url()).toContain('/register')
  })
})

test('a success leads to the sign-in page with a message', async () => {
  await fill({ username: 'newcomer' })
  await submit()
  // The toast disappears soon.
  await Promise.all([expectSeen(toast('注册成功！')), expectAt(page, '**/login')])
  expect(await userNamed('newcomer')).toMatchObject({ role: 1, status: 1 })
})

test('an invitation is stored and applies later', async () => {
  const { data: code } = await visit.api('GET', '/api/user/aff')
  await visit.setOption('QuotaForInvitee', '700')
  await open(`/register?aff=${String(code)}`)
  await expect.poll(() => page.evaluate(() => localStorage.getItem('aff'))).toBe(code)
  await page.goto(`${visit.gatehouse.url}/login`)
  await page.getByRole('main').getByRole('link', { name: '注册', exact: true }).click()
  // The sign-in page has name and password fields too, and stays visible until the form has loaded.
  await page.getByRole('heading', { name: /^注册/ }).waitFor()
  await fill({ username: 'invited' })
  await submit()
  await expectAt(page, '**/login')
  expect(await userNamed('invited')).toMatchObject({ inviter_id: 1, quota: 700 })
})

describe('with an email code', () => {
  beforeAll(() => visit.setOption('EmailVerificationEnabled', 'true'))
  afterAll(() => visit.setOption('EmailVerificationEnabled', 'false'))
  const ask = () => page.getByRole('button', { name: '获取验证码', exact: true })

  test('requesting a code without an address sends nothing', async () => {
    const sent: string[] = []
    await page.route('**/api/verification**', (route) => {
      sent.push(new URL(route.request().url()).searchParams.get('email') ?? '')
      return route.abort()
    })
    await ask().click()
    // It can be requested again immediately, and this is the first one that is sent.
    await page.getByLabel('邮箱地址').fill('first@example.com')
    await ask().click()
    await expect.poll(() => sent).toEqual(['first@example.com'])
  })

  test('the code arrives by email; a new one is available after thirty seconds; a wrong code is rejected', async () => {
    await fill({ username: 'mailed' })
    await page.getByLabel('邮箱地址').fill('mailed@example.com')
    await Promise.all([
      expectSeen(page.getByRole('button', { name: /^(30|2\d) 秒后可重发$/, disabled: true })),
      expectSeen(toast('验证码发送成功，请检查您的邮箱！')),
      ask().click(),
    ])
    const mail = await mailbox.next()
    expect(mail.receivers).toEqual(['mailed@example.com'])
    await page.getByLabel('验证码', { exact: true }).fill('no-code')
    await submit()
    await page
      .getByRole('main')
      .getByRole('alert')
      .getByText('验证码错误或已过期')
      .first()
      .waitFor()
    await page.getByLabel('验证码', { exact: true }).fill(codeIn(mail))
    await submit()
    await expectAt(page, '**/login')
    expect(await userNamed('mailed')).toMatchObject({ email: 'mailed@example.com' })
  })
})

describe('the human check', () => {
  const scripts = () => page.locator('script[src*="turnstile"]').count()
  const policy = async () => {
    const answer = await fetch(`${visit.gatehouse.url}/register`)
    return answer.headers.get('content-security-policy') ?? ''
  }

  const isHuman = () => page.getByRole('button', { name: 'I am human (site-key)', exact: true })
  const NOT_YET = '人机验证尚未完成，请过几秒再试'
  const turnOn = async () => {
    await visit.setOption('TurnstileSiteKey', check.siteKey)
    await visit.setOption('TurnstileSecretKey', check.secretKey)
    await visit.setOption('TurnstileCheckEnabled', 'true')
  }

  test('while off, its script is neither loaded nor allowed', async () => {
    await settled(page)
    expect(await scripts()).toBe(0)
    expect(await policy()).not.toContain(check.url)
  })

  test('while on, the user is asked to wait until it is solved', async () => {
    await turnOn()
    expect(await policy()).toContain(check.url)
    await open()
    await expectSeen(isHuman())
    await fill({ username: 'human' })
    await submit()
    await expectSeen(toast(NOT_YET))
    expect(await userNamed('human')).toBeUndefined()
    await isHuman().click()
    await submit()
    await expectAt(page, '**/login')
    expect(await userNamed('human')).toMatchObject({ username: 'human' })
  })

  test('while on, codes and links are mailed only after it is solved', async () => {
    await turnOn()
    const asker = await visit.person('asker')
    const mailTo = async (receiver: string, button: string): Promise<ReceivedMail> => {
      const ask = page.getByRole('button', { name: button, exact: true })
      await page.getByRole('textbox', { name: '邮箱地址', exact: true }).fill(receiver)
      await ask.click()
      await expectSeen(page.getByText(NOT_YET))
      await isHuman().click()
      await ask.click()
      const mail = await mailbox.next()
      expect(mail.receivers).toEqual([receiver])
      return mail
    }
    await visit.setOption('EmailVerificationEnabled', 'true')
    await open()
    await mailTo('visitor@example.com', '获取验证码')
    await visit.setOption('EmailVerificationEnabled', 'false')

    await page.context().close()
    ;({ page } = await visit.open('/setting', asker))
    await page.getByRole('button', { name: '绑定邮箱地址', exact: true }).click()
    const code = codeIn(await mailTo('asker@example.com', '获取验证码'))
    await page.getByRole('textbox', { name: '验证码', exact: true }).fill(code)
    await page.getByRole('button', { name: '确认绑定', exact: true }).click()
    await expectSeen(page.getByText('邮箱绑定成功！'))

    await page.context().close()
    ;({ page } = await visit.open('/reset'))
    const { parsed } = await mailTo('asker@example.com', '提交')
    expect(parsed.text).toContain('/user/reset?')
  })

  test('reports a script that fails to load', async () => {
    await page.context().close()
    ;({ page } = await visit.open('/login'))
    await page.route('**/turnstile/**', (route) => route.abort())
    await page.goto(`${visit.gatehouse.url}/register`)
    await expectSeen(page.getByText('人机验证加载失败，请检查网络后刷新页面'))
  })
})

test('closed registration is reported before any input, and offered nowhere', async () => {
  await visit.setOption('RegisterEnabled', 'false')
  const other = await visit.open('/register')
  await expectSeen(other.page.getByText('管理员关闭了新用户注册'))
  expect(await other.page.getByLabel('用户名').count()).toBe(0)
  await other.page.goto(`${visit.gatehouse.url}/login`)
  await other.page.getByRole('heading', { name: /^登录/ }).waitFor()
  const offers = () => other.page.getByRole('link', { name: '注册', exact: true }).count()
  await expect.poll(offers).toBe(0)
  await other.page.goto(visit.gatehouse.url)
  await other.page.getByRole('main').getByRole('link', { name: '登录', exact: true }).waitFor()
  await expect.poll(offers).toBe(0)
  await other.close()
  await visit.setOption('RegisterEnabled', 'true')
})

test('a signed-in user is redirected', async () => {
  const amy = await visit.person('ledon')
  for (const path of ['/login', '/register']) {
    const { page: theirs, close } = await visit.open(path, amy)
    await expectAt(theirs, '**/token')
    await close()
  }
})
