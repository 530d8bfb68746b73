import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectSandboxed } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

let visit: Visit

beforeAll(async () => {
  visit = await startVisit()
})
afterAll(() => visit.stop())

test('without a link, there is no menu entry and the page explains why', async () => {
  const { page, close, problems } = await visit.open('/chat', visit.root)
  await page.getByText('管理员还没有设置聊天链接').waitFor()
  await settled(page)
  const menu = page.getByRole('navigation', { name: '主菜单' })
  expect(await menu.getByRole('link', { name: '聊天', exact: true }).count()).toBe(0)
  expect(problems).toEqual([])
  await close()
})

test('opens the link in a sandboxed frame', async () => {
  // On this machine plain http is allowed: another port is another origin.
  await visit.setOption('ChatLink', 'http://localhost:9/chat')
  const { page, close } = await visit.open('/token', visit.root)
  await page
    .getByRole('navigation', { name: '主菜单' })
    .getByRole('link', { name: '聊天', exact: true })
    .click()
  await page.waitForURL('**/chat')
  const frame = page.locator('iframe')
  await frame.waitFor()
  await expect.poll(() => frame.getAttribute('src')).toBe('http://localhost:9/chat')
  await expectSandboxed(frame)
  await expect.poll(() => frame.getAttribute('allow')).toBe('clipboard-write')
  await close()
})

test('a link that cannot be framed is shown as a link', async () => {
  await visit.setOption('ChatLink', 'http://chat.example.com/')
  const { page, close } = await visit.open('/chat', visit.root)
  await page.getByText('聊天链接不能在框架中打开').waitFor()
  const link = page.getByRole('link', { name: '在新窗口打开', exact: true })
  await expect.poll(() => link.getAttribute('href')).toBe('http://chat.example.com/')
  expect(await page.locator('iframe').count()).toBe(0)
  await close()
})

test('redirects visitors to the sign-in page', async () => {
  const { page, close } = await visit.open('/chat')
  await page.waitForURL('**/login*')
  await settled(page)
  expect(await page.locator('iframe').count()).toBe(0)
  await close()
})
