import { join, resolve } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startOneApi, type OneApiServer } from '../tools/one-api/one-api-server.ts'
import { launchBrowser, WAIT_MS } from './browser.ts'
import { expectAt, expectSeen } from './expect-page.ts'
import { ROOT_PAGES } from './page-list.ts'
import { settled, watchCalls } from './settled.ts'

/** The console with a One API server, without our extensions. */

const ROOT = resolve(import.meta.dirname, '..')

let server: OneApiServer
let browser: Browser

/** One signed-in window per user, to reuse its cache. */
const windows: Partial<Record<string, BrowserContext>> = {}

beforeAll(async () => {
  server = await startOneApi(join(ROOT, 'dist/console'))
  browser = await launchBrowser()
  for (const username of ['root', 'userone']) windows[username] = await signIn(username)
})
afterAll(async () => {
  await browser.close()
  await server.close()
})

/** Signs in through the form. */
async function signIn(username: string): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: 'zh-CN', reducedMotion: 'reduce' })
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  await page.goto(`${server.url}/login`)
  await page.getByLabel('用户名或邮箱').fill(username)
  await page.getByLabel('密码', { exact: true }).fill('RootPass1')
  await page.getByRole('button', { name: '登录', exact: true }).click()
  await page.getByRole('heading', { name: '令牌' }).waitFor()
  await page.close()
  return context
}

interface Opened {
  page: Page
  problems: string[]
}

/** Opens a path in the window of a signed-in user. */
async function open(username: 'root' | 'userone', path: string): Promise<Opened> {
  const page = await windows[username]?.newPage()
  if (page === undefined) throw new Error(`${username} has no window`)
  watchCalls(page)
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  server.calls.length = 0
  await page.goto(server.url + path)
  return { page, problems }
}

const sentTo = (method: string, path: string) =>
  server.calls.filter((call) => call.method === method && call.path === path)

describe('every page of root', () => {
  // Existing rows.
  const ids: Readonly<Record<string, number>> = { channel: 6, token: 9, user: 3 }
  const addresses = [...ROOT_PAGES, { path: '/about' }].map(({ path }) =>
    path.replace(/^\/(\w+)\/edit\/1$/, (_, noun: string) => `/${noun}/edit/${ids[noun] ?? 1}`),
  )
  test.each(addresses)('%s opens', async (path) => {
    const { page, problems } = await open('root', path)
    await settled(page)
    expect(await page.getByText('页面出错').count()).toBe(0)
    expect(problems).toEqual([])
    expect(sentTo('GET', '/api/user/token')).toEqual([])
    expect(sentTo('GET', '/api/user/logout')).toEqual([])
    await page.close()
  })
})

test('rows with NULLs are shown and can be edited', async () => {
  const { page } = await open('root', '/channel')
  const row = page.getByRole('row').filter({ hasText: 'ancient' })
  await row.waitFor()
  await expect.poll(() => row.textContent()).toContain('999')
  await row.getByRole('link', { name: '编辑', exact: true }).click()
  await page.getByRole('heading', { name: '编辑渠道' }).waitFor()
  await expect
    .poll(() => page.getByRole('textbox', { name: '名称', exact: true }).inputValue())
    .toBe('ancient')
  await page.close()
})

test('an edit of a channel sends only changed fields, with lists as strings', async () => {
  const { page } = await open('root', '/channel/edit/5')
  await page.getByRole('textbox', { name: '名称', exact: true }).fill('renamed')
  await page.getByRole('button', { name: '保存', exact: true }).click()
  await page.getByRole('heading', { name: '渠道', exact: true }).waitFor()
  expect(sentTo('PUT', '/api/channel').map(({ body }) => body)).toEqual([
    { id: 5, name: 'renamed' },
  ])
  await page.close()
})

test('an edit of a user sends the previously displayed quota', async () => {
  const { page } = await open('root', '/user/edit/3')
  await page.getByLabel('显示名称').fill('User One')
  await page.getByRole('button', { name: '保存', exact: true }).click()
  await page.getByRole('heading', { name: '管理用户' }).waitFor()
  const [sent] = sentTo('PUT', '/api/user')
  expect(sent?.body).toMatchObject({ id: 3, display_name: 'User One', quota: 0 })
  await page.close()
})

test('an option is sent as a string', async () => {
  const { page } = await open('root', '/setting?tab=operation')
  await page.getByLabel('失败重试次数').fill('3')
  await page.getByRole('button', { name: '保存通用设置', exact: true }).click()
  await expect.poll(() => sentTo('PUT', '/api/option').length).toBe(1)
  expect(sentTo('PUT', '/api/option')[0]?.body).toEqual({ key: 'RetryTimes', value: '3' })
  await page.close()
})

test('an unknown log type is shown by its number', async () => {
  const { page } = await open('root', '/log')
  await expectSeen(page.getByText('类型 9'))
  await page.close()
})

test('all own log rows are shown although they all have the id 0', async () => {
  const { page, problems } = await open('userone', '/log')
  const rows = page.getByRole('table').getByRole('row')
  await expect.poll(() => rows.count(), { timeout: WAIT_MS }).toBeGreaterThan(2)
  const first = rows.nth(1)
  await first.getByRole('button').first().click()
  await page.getByRole('complementary').waitFor()
  expect(problems).toEqual([])
  await page.close()
})

test('statistics contain only quota if the server does not sum tokens', async () => {
  const { page } = await open('root', '/log')
  await page.getByText('点击查看统计').click()
  await page.getByText('点击查看统计').waitFor({ state: 'detached' })
  await settled(page)
  expect(sentTo('GET', '/api/log/stat')).not.toEqual([])
  expect(await page.getByText('提示 tokens').count()).toBe(0)
  await page.close()
})

test('an export is built from pages, without the missing endpoint', async () => {
  const { page } = await open('root', '/log')
  await page.getByRole('button', { name: '导出', exact: true }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: '下载文件', exact: true }).click(),
  ])
  expect(download.suggestedFilename()).toBe('logs.json')
  expect(server.calls.filter(({ path }) => path.includes('export'))).toEqual([])
  await page.close()
})

describe('failures', () => {
  test('an error shows the server’s message', async () => {
    const { page } = await open('userone', '/token')
    server.answerOnce('/api/token/9', {
      status: 200,
      body: JSON.stringify({ success: false, message: '数据库忙' }),
    })
    const row = page.getByRole('row').filter({ hasText: 'past' })
    await row.getByRole('button', { name: '删除', exact: true }).click()
    await page.getByRole('button', { name: '删除令牌', exact: true }).click()
    await expectSeen(page.getByText('数据库忙'))
    await page.close()
  })

  test.each([
    [429, '错误：请求次数过多，请稍后再试！'],
    [500, '错误：服务器内部错误，请联系管理员！'],
  ])('an error %i without a message gets one', async (status, sentence) => {
    const { page } = await open('userone', '/token')
    const row = page.getByRole('row').filter({ hasText: '第三个令牌' })
    await row.waitFor()
    await settled(page)
    server.answerOnce('/api/token', { status, body: '' })
    await row.getByRole('button', { name: '禁用', exact: true }).click()
    await expectSeen(page.getByText(sentence))
    await page.close()
  })

  test('only 401 leads to the sign-in page', async () => {
    const context = await signIn('userone')
    const page = await context.newPage()
    watchCalls(page)
    await page.goto(`${server.url}/token`)
    await settled(page)
    await context.clearCookies()
    // A background request may redirect before the button is clicked.
    await Promise.race([
      page.getByRole('button', { name: '刷新', exact: true }).click(),
      page.waitForURL('**/login?expired=true'),
    ])
    await expectAt(page, '**/login?expired=true')
    await context.close()
  })
})

describe('the settings', () => {
  test('for root only', async () => {
    const { page } = await open('root', '/setting')
    const tabs = page.getByRole('navigation', { name: '设置' }).getByRole('link')
    await tabs.filter({ hasText: '运营设置' }).waitFor()
    await expect.poll(() => tabs.allTextContents()).toContain('系统设置')
    await page.close()
  })

  test('an ordinary user has personal settings', async () => {
    const { page } = await open('userone', '/setting')
    await settled(page)
    expect(await page.getByText('运营设置').count()).toBe(0)
    await page.close()
  })
})
