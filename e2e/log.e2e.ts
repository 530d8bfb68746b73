import { readFile } from 'node:fs/promises'
import type { Browser, BrowserContext, Download, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { launchBrowser } from './browser.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'

/** The log page: what was called, why it cost what it cost, what was said, and taking it along. */

const PASSWORD = 'RootPass1'
const MODEL = 'gpt-4o-mini'
const CALLS = 12

type Upstream = Awaited<ReturnType<typeof startFakeUpstream>>

let browser: Browser
let gatehouse: RunningGatehouse
let upstream: Upstream
let root = ''
let user = ''
let context: BrowserContext
let page: Page
const problems: string[] = []

async function api(method: string, path: string, cookie: string, body?: unknown) {
  const answer = await fetch(`${gatehouse.url}${path}`, {
    method,
    headers: cookie === '' ? {} : { cookie },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { answer, data: Object(text === '' ? {} : JSON.parse(text)).data }
}

async function signIn(username: string): Promise<string> {
  const { answer } = await api('POST', '/api/user/login', '', { username, password: PASSWORD })
  return answer.headers.get('set-cookie')?.split(';')[0] ?? ''
}

async function aToken(cookie: string, name: string, capture: string): Promise<string> {
  const body = { name, unlimited_quota: true, expired_time: -1, capture }
  return `sk-${(await api('POST', '/api/token/', cookie, body)).data.key}`
}

const ask = (key: string, content: string): Promise<Response> =>
  fetch(`${gatehouse.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content }] }),
  })

beforeAll(async () => {
  upstream = await startFakeUpstream()
  gatehouse = await startGatehouse({ env: { INITIAL_ROOT_PASSWORD: PASSWORD } })
  root = await signIn('root')
  await api('POST', '/api/user/', root, { username: 'alice', password: PASSWORD })
  user = await signIn('alice')
  await api('POST', '/api/channel/', root, {
    name: 'a channel',
    type: 1,
    key: 'sk-nothing',
    base_url: upstream.url,
    models: MODEL,
    group: 'default',
  })
  const key = await aToken(root, '记录', 'redacted')
  for (let index = 0; index < CALLS; index += 1) await ask(key, `问题 ${index}，不要说出去`)
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser.close()
  await gatehouse.stop()
  await upstream.close()
})

beforeEach(async () => {
  problems.length = 0
  context = await browser.newContext({ locale: 'zh-CN', acceptDownloads: true })
  context.setDefaultTimeout(15_000)
})

afterEach(async () => {
  await context.close()
  expect(problems).toEqual([])
})

async function open(path: string, as: 'root' | 'alice' = 'root'): Promise<void> {
  const [name = '', value = ''] = (as === 'root' ? root : user).split('=')
  await context.addCookies([{ name, value, url: gatehouse.url }])
  await context.addInitScript((who) => {
    const role = who === 'root' ? 100 : 1
    const signedIn = { id: 1, username: who, display_name: who, role, status: 1 }
    localStorage.setItem('user', JSON.stringify(signedIn))
  }, as as string)
  page = await context.newPage()
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  await page.goto(`${gatehouse.url}${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
}

const textOf = async (download: Download): Promise<string> =>
  readFile(await download.path(), 'utf8')

const rows = () => page.locator('tbody tr')
/** Of the filter that is in the address. */
const shows = async (count: number): Promise<void> => {
  await expect.poll(() => rows().count()).toBe(count)
}

describe('an administrator', () => {
  test('turns pages, and sees sums only when asked for', async () => {
    await open('/log')
    await shows(10)
    await page.getByRole('button', { name: '下一页' }).click()
    // The system's own rows come before the first call.
    await expect.poll(() => page.getByText('第 2 页').count()).toBe(1)
    await page.getByRole('button', { name: '上一页' }).click()
    await page.getByRole('button', { name: /点击查看统计/ }).click()
    await page.getByText(String(CALLS * 18)).waitFor()
    // Another filter hides them again.
    await page.getByLabel('日志类型').selectOption('1')
    await page.getByText('点击查看统计').waitFor()
    expect(await page.getByText(String(CALLS * 18)).count()).toBe(0)
  })

  test('reads why a call cost what it cost, and what was said', async () => {
    await open(`/log?token_name=${encodeURIComponent('记录')}`)
    await rows().first().click()
    const panel = page.getByRole('complementary')
    await panel.getByText('为什么是这个价格').waitFor()
    await panel.getByText('提示 11 × 0.075').waitFor()
    await panel.getByText(`问题 ${CALLS - 1}，不要说出去`).waitFor()
    await panel.getByText('The answer is forty-two.').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => panel.count()).toBe(0)
  })

  test('finds a call by what was said', async () => {
    await open('/log')
    await page.getByLabel('请求内容').fill('问题 7，')
    await page.keyboard.press('Enter')
    await shows(1)
    await page.getByLabel('请求内容').fill('没有人说过')
    await page.keyboard.press('Enter')
    await page.getByText('没有符合筛选条件的记录').waitFor()
    expect(new URL(page.url()).searchParams.get('request')).toBe('没有人说过')
  })

  test('takes the filtered rows along as a table', async () => {
    await open('/log?type=2')
    await page.getByRole('button', { name: '导出', exact: true }).click()
    await page.getByLabel('格式').selectOption('csv')
    await page.getByRole('switch', { name: '包含已记录的请求与响应' }).click()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: '下载文件' }).click()
    const download = await saved
    expect(download.suggestedFilename()).toBe('logs.csv')
    const text = await textOf(download)
    expect(text).toContain('"request","response"')
    expect(text.split('问题 ').length - 1).toBe(CALLS)
  })

  test('is told when an export fails', async () => {
    await open('/log')
    await page.route('**/api/log/export/**', (route) =>
      route.fulfill({ status: 503, json: { success: false, message: '太忙了' } }),
    )
    await page.getByRole('button', { name: '导出', exact: true }).click()
    await page.getByRole('button', { name: '下载文件' }).click()
    await page.getByText('导出数据错误：太忙了').waitFor()
    expect(await page.getByRole('button', { name: '下载文件' }).isEnabled()).toBe(true)
    // The browser itself notes the status.
    problems.length = 0
  })

  // A One API server says nothing about itself and exports nothing.
  test('of a One API server exports page by page', async () => {
    await context.route('**/api/status', async (route) => {
      const answer = await route.fetch()
      const { data, ...rest } = Object(await answer.json())
      const { gatehouse: _ours, ...theirs } = data
      await route.fulfill({ json: { ...rest, data: theirs } })
    })
    await context.route('**/api/log/export/**', (route) => route.abort())
    await open('/log?type=2')
    expect(await page.getByLabel('请求内容').count()).toBe(0)
    await page.getByRole('button', { name: '导出', exact: true }).click()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: '下载文件' }).click()
    const download = await saved
    expect(download.suggestedFilename()).toBe('logs.json')
    expect(JSON.parse(await textOf(download))).toHaveLength(CALLS)
  })
})

test('an ordinary user sees own rows only, and cannot delete any', async () => {
  await open('/log', 'alice')
  await page.getByText('还没有记录').waitFor()
  expect(await page.getByRole('button', { name: '清理历史日志' }).count()).toBe(0)
  expect(await page.getByLabel('用户名').count()).toBe(0)
  await page.getByRole('button', { name: '导出', exact: true }).click()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: '下载文件' }).click()
  expect(JSON.parse(await textOf(await saved))).toEqual([])
})

// The last one: nothing is left afterwards.
test('an administrator deletes what is older than a moment', async () => {
  await open('/log')
  await shows(10)
  await page.getByRole('button', { name: '清理历史日志' }).click()
  const stamp = page.getByLabel('清理到', { exact: true })
  await stamp.fill('不是时间')
  await page.getByRole('button', { name: '删除日志' }).click()
  await page.getByText('请选择有效的时间').waitFor()
  await stamp.fill('2099-01-01 00:00:00')
  await page.getByRole('button', { name: '删除日志' }).click()
  await page.getByText(/已删除 \d+ 条日志/).waitFor()
  await page.getByText('还没有记录').waitFor()
  expect(await gatehouse.reconcile()).toContain('0 differences')
})
