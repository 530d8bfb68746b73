import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startMailbox, type Mailbox } from '../src/server/test/mailbox.ts'
import type { FakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import {
  startWechatProvider,
  type WechatProvider,
} from '../tools/sign-in-providers/wechat-provider.ts'
import { callModel, connectUpstream, makeKey } from './call-model.ts'
import { clipboard, expectAt, expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Person, type Visit } from './visit.ts'

/** 设置 → 个人设置: profile, available models, and account actions. */

let visit: Visit
let mailbox: Mailbox
let helper: WechatProvider
let upstream: FakeUpstream
let person: Person
let page: Page

beforeAll(async () => {
  visit = await startVisit()
  mailbox = await startMailbox()
  helper = await startWechatProvider()
  await visit.setOption('SMTPServer', '127.0.0.1')
  await visit.setOption('SMTPPort', String(mailbox.port))
  await visit.setOption('SMTPAccount', 'gate@example.com')
  await visit.setOption('WeChatServerAddress', helper.url)
  await visit.setOption('WeChatServerToken', helper.token)
  await visit.setOption('WeChatAuthEnabled', 'true')
  upstream = await connectUpstream(visit, ['gpt-4o', 'gpt-4o-mini'])
  person = await visit.person('personal')
  await visit.ask(visit.root, 'PUT /api/user/', { id: person.user.id, quota: 5_000_000 })
  await visit.setOption('ModelPrice', '{"gpt-4o": 0.25}')
  const key = await makeKey(visit, person)
  for (const model of ['gpt-4o', 'gpt-4o']) await callModel(visit, key, { model })
  ;({ page } = await visit.open('/setting', person))
  await expectSeen(page.getByRole('heading', { name: '账户', exact: true }))
})
afterAll(async () => {
  await visit.stop()
  await Promise.all([mailbox.close(), helper.close(), upstream.close()])
})

// The page stays open, and sends what needs a proof of identity.
beforeEach(() => visit.keepProven(person))

const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
const callAs = async (headers: Record<string, string>) => {
  const answer = await fetch(`${visit.gatehouse.url}/api/user/self`, { headers })
  return Object(await answer.json())
}

test('the card shows the user', async () => {
  const calls = async () => (await callAs({ cookie: person.cookie })).data.request_count
  await expect.poll(calls).toBe(2)
  await page.reload()
  await expectSeen(page.getByText('personal', { exact: true }))
  await expectSeen(page.getByText('普通用户'))
  const facts = page.locator('dl').filter({ hasText: '剩余额度' }).locator('div')
  await expect
    .poll(async () => (await facts.allInnerTexts()).map((fact) => fact.split('\n')))
    .toEqual([
      ['ID', String(person.user.id)],
      ['剩余额度', '$9.50'],
      ['历史消耗', '$0.50'],
      ['请求次数', '2'],
      ['分组', 'default'],
    ])
})

test('a click copies the name of a model', async () => {
  await press('gpt-4o-mini')
  await expectSeen(page.getByText('已复制：gpt-4o-mini'))
  expect(await clipboard(page)).toBe('gpt-4o-mini')
})

test('a system access token can be generated, shown, copied and used', async () => {
  await press('生成系统访问令牌')
  await expectSeen(page.getByText('系统访问令牌已生成并复制到剪贴板'))
  const field = page.getByLabel('系统访问令牌')
  const token = await field.inputValue()
  expect(await clipboard(page)).toBe(token)
  await expect.poll(() => field.getAttribute('readonly')).not.toBeNull()
  expect((await callAs({ authorization: token })).data).toMatchObject({ username: 'personal' })
  // An existing token is not replaced with one click, even after a reload.
  await press('生成系统访问令牌')
  await press('取消')
  await page.reload()
  await press('生成系统访问令牌')
  await expectSeen(page.getByText('重新生成系统访问令牌？现有令牌会立即失效'))
  expect((await callAs({ authorization: token })).success).toBe(true)
  await press('重新生成')
  await expect.poll(() => field.inputValue()).not.toBe(token)
  expect((await callAs({ authorization: token })).success).toBe(false)
})

test('the invite link leads to registration with the user’s code', async () => {
  const token = await page.getByLabel('系统访问令牌').inputValue()
  await press('复制邀请链接')
  await expectSeen(page.getByText('邀请链接已复制到剪贴板'))
  const link = new URL(await clipboard(page))
  expect(link.origin + link.pathname).toBe(`${visit.gatehouse.url}/register`)
  expect(link.searchParams.get('aff')).toMatch(/^[0-9A-Za-z]{4,}$/)
  await expect.poll(() => page.getByLabel('邀请链接').inputValue()).toBe(link.href)
  // The token, which cannot be shown again, stays visible.
  await expect.poll(() => page.getByLabel('系统访问令牌').inputValue()).toBe(token)
})

test('with reduced motion, the spinner of a busy button stays centered', async () => {
  let answer = () => {}
  const held = new Promise<void>((done) => {
    answer = done
  })
  await page.route('**/api/user/aff', async (route) => {
    await held
    await route.continue()
  })
  const button = page.getByRole('button', { name: '复制邀请链接', exact: true })
  await button.click()
  const middle = async (of: Locator) => {
    const { x, y, width, height } = (await of.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    return [x + width / 2, y + height / 2].map(Math.round)
  }
  const wheel = button.locator('.mantine-Button-loader')
  await wheel.waitFor()
  const [wheelAt, buttonAt] = [await middle(wheel), await middle(button)]
  answer()
  await wheel.waitFor({ state: 'detached' })
  await page.unroute('**/api/user/aff')
  expect(wheelAt).toEqual(buttonAt)
})

test('without a clipboard, it can be copied manually', async () => {
  await page.evaluate(() => {
    Object.defineProperty(navigator.clipboard, 'writeText', {
      configurable: true,
      value: () => Promise.reject(new Error('no')),
    })
    document.execCommand = () => false
  })
  await press('复制邀请链接')
  await expectSeen(page.getByText('无法复制到剪贴板，请手动复制'))
  await expect.poll(() => page.getByLabel('邀请链接').inputValue()).toContain('/register?aff=')
})

describe('account linking', () => {
  test('an email address: validation, thirty seconds of delay, a real code', async () => {
    const opener = page.getByRole('button', { name: '绑定邮箱地址', exact: true })
    const dialog = page.getByRole('dialog', { name: '绑定邮箱地址' })
    await opener.press('Enter')
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await opener.and(page.locator(':focus')).waitFor()
    await opener.click()
    await dialog.getByRole('button', { name: '确认绑定', exact: true }).click()
    await expectSeen(dialog.locator('form').getByText('请输入验证码'))
    // An error disappears when its field is corrected; the other one stays.
    await dialog.getByRole('textbox', { name: '邮箱地址', exact: true }).fill('x')
    await expect.poll(() => dialog.locator('form').getByText('请输入邮箱地址').count()).toBe(0)
    // A rejected address does not lock the button for thirty seconds.
    await dialog.getByRole('button', { name: '获取验证码', exact: true }).click()
    await expectSeen(dialog.locator('form').getByText('邮箱地址无效'))
    await expectSeen(dialog.getByRole('button', { name: '获取验证码', exact: true }))
    await dialog
      .getByRole('textbox', { name: '邮箱地址', exact: true })
      .fill('personal@example.com')
    await dialog.getByRole('button', { name: '获取验证码', exact: true }).click()
    await expectSeen(dialog.getByRole('button', { name: /^(30|2\d) 秒后可重发$/, disabled: true }))
    const { parsed } = await mailbox.next()
    // The dialog repeats the toast's message, which stays.
    await expectSeen(dialog.locator('form').getByText('验证码发送成功，请检查您的邮箱！'))
    await dialog.getByRole('banner').or(dialog.locator('header')).getByRole('button').click()
    await press('绑定邮箱地址')
    await expectSeen(dialog.getByRole('button', { name: /^\d+ 秒后可重发$/, disabled: true }))
    await dialog
      .getByRole('textbox', { name: '邮箱地址', exact: true })
      .fill('personal@example.com')
    const code = /验证码是：\s*(\S+)/.exec(parsed.text ?? '')?.[1] ?? ''
    await dialog.getByRole('textbox', { name: '验证码', exact: true }).fill('wrong')
    await dialog.getByRole('button', { name: '确认绑定', exact: true }).click()
    await expectSeen(dialog.getByText('验证码错误或已过期'))
    await dialog.getByRole('textbox', { name: '验证码', exact: true }).fill(code)
    await dialog.getByRole('button', { name: '确认绑定', exact: true }).click()
    await expectSeen(page.getByText('邮箱绑定成功！'))
    await expectSeen(page.getByText('personal@example.com'))
  })

  test('WeChat: with the code that the public account sent', async () => {
    await press('绑定微信账户')
    const dialog = page.getByRole('dialog', { name: '绑定微信账户' })
    helper.codes.set('bind01', 'wx_personal')
    await dialog.getByRole('textbox', { name: '验证码', exact: true }).fill('bind01')
    await dialog.getByRole('button', { name: '绑定', exact: true }).click()
    await expectSeen(page.getByText('微信账户绑定成功！'))
    await expectSeen(page.getByText('wx_personal'))
  })
})

test('the profile is one click away, and changes are saved', async () => {
  await page.getByRole('link', { name: '更新个人信息', exact: true }).click()
  await expectAt(page, '**/user/edit')
  await page.getByLabel('显示名称').fill('本人')
  await press('保存')
  await expectSeen(page.getByText('用户信息更新成功！'))
  const stored = async () => (await callAs({ cookie: person.cookie })).data
  await expect.poll(stored).toMatchObject({ display_name: '本人' })
})

test('an emptied display name becomes the username', async () => {
  await page.getByLabel('显示名称').fill('')
  await press('保存')
  const stored = async () => (await callAs({ cookie: person.cookie })).data.display_name
  await expect.poll(() => page.getByLabel('显示名称').inputValue()).toBe(person.user.username)
  await expect.poll(stored).toBe(person.user.username)
  await page.getByLabel('显示名称').fill('本人')
  await press('保存')
  await expect.poll(stored).toBe('本人')
})

test('leaving asks about an unsaved profile, not about a saved one', async () => {
  const elsewhere = page
    .getByRole('navigation', { name: '主菜单' })
    .getByRole('link', { name: '充值', exact: true })
  await page.getByLabel('显示名称').fill('not saved')
  await elsewhere.click()
  const question = page.getByRole('dialog', { name: '离开此页？' })
  await question.getByRole('button', { name: '留在此页', exact: true }).click()
  await expect.poll(() => page.getByLabel('显示名称').inputValue()).toBe('not saved')
  await page.getByLabel('显示名称').fill('本人')
  await elsewhere.click()
  await expectAt(page, '**/topup')
  await page.goBack()
  await page.getByLabel('显示名称').fill('not saved either')
  await press('取消')
  await expectAt(page, '**/token')
})

test('on a phone, linked accounts are fully readable beside long labels', async () => {
  const email = 'somebody@company.example.com'
  const opened = await visit.open('/about', person, { width: 390, language: 'en' })
  await opened.page.route('**/api/user/self', async (route) => {
    const { data, ...rest } = Object(await (await route.fetch()).json())
    await route.fulfill({ json: { ...rest, data: { ...data, email } } })
  })
  await opened.page.goto(`${visit.gatehouse.url}/setting`)
  const bound = opened.page.getByText(email, { exact: true })
  await expectSeen(bound)
  expect(await bound.evaluate((it) => it.scrollWidth > it.clientWidth)).toBe(false)
  await opened.close()
})

describe('deleting the own account', () => {
  const dialog = () => page.getByRole('dialog', { name: '删除个人账户' })

  test('requires the exact account name', async () => {
    await page.goto(`${visit.gatehouse.url}/setting`)
    await press('删除个人账户')
    for (const typed of ['', 'Personal', 'personal ']) {
      await dialog().getByRole('textbox').fill(typed)
      await dialog().getByRole('button', { name: '确认删除', exact: true }).click()
      await expectSeen(dialog().getByText('请输入您的账户名以确认删除！'))
    }
    await dialog().getByRole('button', { name: '取消', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    expect((await callAs({ cookie: person.cookie })).success).toBe(true)
  })

  test('removes the account and its session', async () => {
    const refused: string[] = []
    page.on('response', (answer) => answer.status() === 401 && refused.push(answer.url()))
    await press('删除个人账户')
    await dialog().getByRole('textbox').fill('personal')
    await dialog().getByRole('button', { name: '确认删除', exact: true }).click()
    await expectSeen(page.getByText('账户已删除！'))
    await expectAt(page, '**/login')
    await settled(page)
    expect(refused).toEqual([])
    expect((await callAs({ cookie: person.cookie })).success).toBe(false)
  })

  test('is unavailable for root, with the reason', async () => {
    const { page: roots } = await visit.open('/setting', visit.root)
    const button = roots.getByRole('button', { name: '删除个人账户', exact: true })
    await expectSeen(button)
    await expect.poll(() => button.isDisabled()).toBe(true)
    await expect.poll(() => button.getAttribute('title')).toBe('超级管理员不能删除自己的账户')
    const wechat = roots.getByRole('button', { name: '绑定微信账户', exact: true })
    await expect.poll(() => wechat.getAttribute('title')).toBe('超级管理员不能绑定第三方账户')
    await roots.context().close()
  })
})
