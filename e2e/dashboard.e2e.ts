import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startFakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { launchBrowser } from './browser.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'

/** The overview: what was used, by what and by whom. */

const PASSWORD = 'RootPass1'
const MODELS = ['gpt-4o-mini', 'gpt-4o']
const CALLS = 3

type Upstream = Awaited<ReturnType<typeof startFakeUpstream>>

let browser: Browser
let gatehouse: RunningGatehouse
let upstream: Upstream
let root = ''
let user = ''
let context: BrowserContext
let page: Page
const problems: string[] = []

async function post(path: string, cookie: string, body: unknown) {
  const answer = await fetch(`${gatehouse.url}${path}`, {
    method: 'POST',
    headers: cookie === '' ? {} : { cookie },
    body: JSON.stringify(body),
  })
  return { answer, json: Object(await answer.json()) }
}

async function signIn(username: string): Promise<string> {
  const { answer } = await post('/api/user/login', '', { username, password: PASSWORD })
  return answer.headers.get('set-cookie')?.split(';')[0] ?? ''
}

beforeAll(async () => {
  upstream = await startFakeUpstream()
  gatehouse = await startGatehouse({ env: { INITIAL_ROOT_PASSWORD: PASSWORD } })
  root = await signIn('root')
  await post('/api/user/', root, { username: 'alice', password: PASSWORD })
  user = await signIn('alice')
  await post('/api/channel/', root, {
    name: 'a channel',
    type: 1,
    key: 'sk-nothing',
    base_url: upstream.url,
    models: MODELS.join(','),
    group: 'default',
  })
  const token = { name: '编辑器', unlimited_quota: true, expired_time: -1 }
  const { json } = await post('/api/token/', root, token)
  for (const model of MODELS) {
    for (let call = 0; call < CALLS; call += 1) {
      await fetch(`${gatehouse.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer sk-${json.data.key}` },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
      })
    }
  }
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser.close()
  await gatehouse.stop()
  await upstream.close()
})

beforeEach(async () => {
  problems.length = 0
  context = await browser.newContext({ locale: 'zh-CN' })
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

const totals = (label: string) => page.locator('div').filter({ hasText: new RegExp(`^${label}`) })
const cells = async (row: string): Promise<string[]> =>
  page.getByRole('row', { name: row }).getByRole('cell').allTextContents()

test('the menu leads to it, and it tells what was used', async () => {
  await open('/log')
  await page.getByRole('link', { name: '概览' }).first().click()
  await page.getByRole('heading', { name: '概览' }).waitFor()
  expect(await totals('请求数').last().textContent()).toContain(String(MODELS.length * CALLS))
  await page.locator('.recharts-bar-rectangle').first().waitFor({ state: 'attached' })
  const [requests, prompt, completion] = await cells('gpt-4o-mini')
  expect([requests, prompt, completion]).toEqual(['3', '33', '21'])
})

test('the chart is a table too, and the address remembers what was chosen', async () => {
  await open('/dashboard')
  await page.getByLabel('指标').selectOption('requests')
  await page.getByLabel('分类').selectOption('user')
  await page.getByRole('button', { name: '24 小时' }).click()
  await expect.poll(() => new URL(page.url()).searchParams.get('range')).toBe('24h')
  await page.reload()
  await page.getByRole('heading', { name: '用户排行' }).waitFor()
  expect(await cells('root')).toContain(String(MODELS.length * CALLS))
  await page.getByLabel('分类').selectOption('model')
  await page.getByRole('button', { name: '显示表格' }).click()
  await expect.poll(() => page.getByRole('columnheader', { name: 'gpt-4o-mini' }).count()).toBe(1)
  const table = page.getByRole('table').first()
  await expect.poll(() => table.getByRole('row').count()).toBe(25)
})

test('an ordinary user has own figures only, and none of others to choose', async () => {
  await open('/dashboard', 'alice')
  await page.getByText('这段时间没有调用').waitFor()
  await page.getByRole('link', { name: '查看令牌' }).waitFor()
  expect(await page.getByText('gpt-4o-mini').count()).toBe(0)
})

// A One API server has a week of one's own by model.
test('of a One API server shows the week it tells of', async () => {
  await context.route('**/api/status', async (route) => {
    const answer = await route.fetch()
    const { data, ...rest } = Object(await answer.json())
    const { gatehouse: _ours, ...theirs } = data
    await route.fulfill({ json: { ...rest, data: theirs } })
  })
  await open('/dashboard')
  await page.getByText('我的用量').waitFor()
  expect((await cells('gpt-4o-mini'))[0]).toBe('3')
  expect(await page.getByRole('button', { name: '30 天' }).count()).toBe(0)
})
