import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMailbox, type Mailbox } from '../src/server/test/mailbox.ts'
import { clipboard, expectAt, expectSeen } from './expect-page.ts'
import { startVisit, type Visit } from './visit.ts'

/** /reset and /user/reset: from a forgotten password to a new one, with a real mail. */

const EMAIL = 'forgetful@example.com'

let visit: Visit
let mailbox: Mailbox
let page: Page
let link = ''
let newPassword = ''

beforeAll(async () => {
  mailbox = await startMailbox()
  visit = await startVisit()
  await visit.setOption('SMTPServer', '127.0.0.1')
  await visit.setOption('SMTPPort', String(mailbox.port))
  await visit.setOption('SMTPAccount', 'gate@example.com')
  await visit.setOption('ServerAddress', visit.gatehouse.url)
  const { user } = await visit.person('forgetful')
  await visit.api('PUT', '/api/user/', { id: user.id, email: EMAIL })
  ;({ page } = await visit.open('/reset'))
})
afterAll(async () => {
  await visit.stop()
  await mailbox.close()
})

test('requires an address', async () => {
  await page.getByRole('button', { name: '提交', exact: true }).click()
  await expectSeen(page.locator('form').getByText('请输入邮箱地址'))
})

test('a rejected address does not lock the button', async () => {
  await page.getByLabel('邮箱地址').fill('not an address')
  await page.getByRole('button', { name: '提交', exact: true }).click()
  await expectSeen(page.locator('form').getByText(/^邮箱地址无效/))
  await expect
    .poll(() => page.getByRole('button', { name: '提交', exact: true }).isEnabled())
    .toBe(true)
})

test('an invalid link offers another one, also after a reload', async () => {
  const other = await visit.open('/user/reset?email=a@example.com&token=wrong')
  const submit = other.page.getByRole('button', { name: '提交', exact: true })
  for (const turn of ['first', 'reloaded']) {
    if (turn === 'reloaded') await other.page.reload()
    await submit.click()
    await expectSeen(other.page.locator('form').getByText('重置链接无效或已过期，请重新申请'))
  }
  await other.page.getByRole('link', { name: '重新申请重置', exact: true }).click()
  await expectAt(other.page, '**/reset')
  await other.close()
})

test('mails a link, and again only after thirty seconds', async () => {
  await page.getByLabel('邮箱地址').fill(EMAIL)
  await Promise.all([
    expectSeen(page.getByRole('button', { name: /^重试（(30|2\d) 秒）$/, disabled: true })),
    expectSeen(page.getByText('重置邮件发送成功，请检查邮箱！')),
    page.getByRole('button', { name: '提交', exact: true }).click(),
  ])
  const { parsed } = await mailbox.next()
  link = /https?:\/\/\S+\/user\/reset\?\S+/.exec(parsed.text ?? '')?.[0] ?? ''
  expect(link).toContain(encodeURIComponent(EMAIL))
})

test('the link does not stay in the address bar', async () => {
  await page.goto(link)
  await expectSeen(page.getByRole('heading', { name: '密码重置确认' }))
  await expect.poll(() => page.getByLabel('邮箱地址').inputValue()).toBe(EMAIL)
  await expect.poll(() => page.url()).toBe(`${visit.gatehouse.url}/user/reset`)
})

test('shows and copies the new password, then disables the button', async () => {
  await page.getByRole('button', { name: '提交', exact: true }).click()
  await expectSeen(page.getByText('新密码已复制到剪贴板'))
  newPassword = await page.getByLabel('新密码').inputValue()
  expect(newPassword.length).toBeGreaterThanOrEqual(12)
  expect(await clipboard(page)).toBe(newPassword)
  const done = page.getByRole('button', { name: '密码重置完成', exact: true })
  await expect.poll(() => done.isDisabled()).toBe(true)
})

test('the new password works', async () => {
  await page.getByRole('link', { name: '返回登录', exact: true }).click()
  await page.getByLabel('用户名或邮箱').fill('forgetful')
  await page.getByLabel('密码', { exact: true }).fill(newPassword)
  await page.getByRole('button', { name: '登录', exact: true }).click()
  await expectAt(page, '**/token')
})

test('the link can be used once', async () => {
  const { page: again } = await visit.open(new URL(link).pathname + new URL(link).search)
  await again.getByRole('button', { name: '提交', exact: true }).click()
  await expectSeen(again.getByRole('main').getByRole('alert').getByText('重置链接'))
  await again.context().close()
})

test('an incomplete link is rejected', async () => {
  const { page: half } = await visit.open('/user/reset?email=a@example.com')
  await expectSeen(half.getByText('链接不完整，请完整打开邮件中的链接，或重新申请重置'))
  await expect
    .poll(() => half.getByRole('button', { name: '提交', exact: true }).isDisabled())
    .toBe(true)
  await half.context().close()
})
