import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchBrowser, WAIT_MS } from './browser.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'

/** The built manual and the API reference, as a server shows them. */

const PASSWORD = 'RootPass1'
const ROOT = resolve(import.meta.dirname, '..')
/** Installing VitePress and building on a slow machine. */
const BUILD_LIMIT_MS = 600_000

let browser: Browser
let gatehouse: RunningGatehouse

beforeAll(async () => {
  const { status, stderr } = spawnSync(process.execPath, ['tools/docs.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, expect.anything()])
  gatehouse = await startGatehouse({
    env: { GLOBAL_WEB_RATE_LIMIT: '0', INITIAL_ROOT_PASSWORD: PASSWORD },
  })
  browser = await launchBrowser()
}, BUILD_LIMIT_MS)

afterAll(async () => {
  await browser.close()
  await gatehouse.stop()
})

/** Opens a page and collects its errors, warnings and requests to other servers. */
async function openPage(colorScheme: 'light' | 'dark', width: number) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } })
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    // Chromium warns if a machine takes seconds to use a file that it has preloaded.
    if (/preloaded .*but not used/.test(message.text())) return
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  })
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol.startsWith('http') && origin !== new URL(gatehouse.url).origin) {
      problems.push(`asked ${request.url()}`)
    }
  })
  return { page, problems }
}

const isWide = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(
    'document.documentElement.scrollWidth > document.documentElement.clientWidth',
  )

describe.each([
  ['light', 1440],
  ['dark', 390],
] as const)('%s, %i pixels wide', (scheme, width) => {
  let opened: Awaited<ReturnType<typeof openPage>>
  beforeAll(async () => {
    opened = await openPage(scheme, width)
  })
  afterAll(() => opened.page.context().close())

  test.each([
    ['docs/', '自己部署的大模型接口网关'],
    ['docs/en/', 'A self-hosted gateway for AI-model APIs'],
    ['docs/errors.html', '错误代码'],
    ['docs/en/billing.html', 'Prices and billing'],
    ['docs/providers/', '渠道类型'],
    ['docs/settings.html', '设置与命令'],
    ['docs/en/changelog.html', '0.2.0'],
  ])('%s', async (path, text) => {
    const { page, problems } = opened
    problems.splice(0)
    await page.goto(`${gatehouse.url}/${path}`)
    await page.getByRole('heading', { name: text }).first().waitFor()
    expect(problems).toEqual([])
    expect(await isWide(page)).toBe(false)
  })
})

/** Its page, which takes seconds to draw. */
async function openReference(
  scheme: 'light' | 'dark',
  width: number,
  { query = '', language }: { query?: string; language?: 'zh' | 'en' },
) {
  const { page, problems } = await openPage(scheme, width)
  page.setDefaultTimeout(2 * WAIT_MS)
  if (language) await page.addInitScript(`localStorage.setItem('language', '${language}')`)
  await page.goto(`${gatehouse.url}/api/docs${query}`)
  await page.getByText('/api/status').first().waitFor({ state: 'attached' })
  return { page, problems }
}

test.each([
  ['light', 1440, 'zh', 'Gatehouse 管理接口', '请求示例'],
  ['dark', 390, 'en', 'Gatehouse management API', 'Request samples'],
] as const)('the API reference: %s, %i pixels wide, console in %s', async (...row) => {
  const [scheme, width, language, title, label] = row
  const { page, problems } = await openReference(scheme, width, { language })
  await page.getByRole('heading', { name: title }).waitFor()
  await page.getByText(label).first().waitFor({ state: 'attached' })
  const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
  expect(background).toBe(scheme === 'dark' ? 'rgb(20, 23, 26)' : 'rgb(255, 255, 255)')
  expect(await isWide(page)).toBe(false)
  if (language === 'zh') {
    await page.getByPlaceholder('搜索').fill('兑换码')
    await page.locator('[data-role="search:results"]').getByText('一个兑换码').waitFor()
  }
  expect(problems).toEqual([])
  await page.context().close()
})

test('the manual leads to the API reference in its language', async () => {
  const { page } = await openPage('light', 1440)
  for (const [path, query] of [
    ['docs/api.html', ''],
    ['docs/en/api.html', '?language=en'],
  ]) {
    await page.goto(`${gatehouse.url}/${path}`)
    const link = page.getByRole('link', { name: '/api/docs' })
    const address = new URL((await link.getAttribute('href')) ?? '', page.url())
    expect(address.href).toBe(`${gatehouse.url}/api/docs${query}`)
  }
  await page.context().close()
  const reference = await openReference('light', 1440, { query: '?language=en' })
  await reference.page.getByRole('heading', { name: 'Gatehouse management API' }).waitFor()
  await reference.page.context().close()
})

test('finds Chinese words, and goes to the same page in the other language', async () => {
  const { page, problems } = await openPage('light', 1440)
  await page.goto(`${gatehouse.url}/docs/proxy.html`)
  // The button is there before the script that serves it.
  await expect
    .poll(() => page.evaluate<boolean>("document.querySelector('#app')?.__vue_app__ !== undefined"))
    .toBe(true)
  await page.getByRole('button', { name: '搜索' }).click()
  await page.locator('#localsearch-input').fill('每日备份')
  await page.locator('#localsearch-list').getByText('备份与恢复').first().waitFor()
  await page.locator('#localsearch-input').fill('不存在的词语组合')
  await page.getByText('没有找到').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: '切换语言' }).hover()
  await page.getByRole('link', { name: 'English' }).first().click()
  await page.getByRole('heading', { name: 'Reverse proxy and TLS', level: 1 }).waitFor()
  expect(problems).toEqual([])
  await page.context().close()
})

test('the console links each page to its chapter, in the language of the console', async () => {
  const { page, problems } = await openPage('light', 1440)
  await page.goto(`${gatehouse.url}/login`)
  await page.getByLabel('用户名或邮箱').fill('root')
  await page.getByLabel('密码', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: '登录', exact: true }).click()
  await page.getByRole('heading', { name: '令牌' }).waitFor()
  const expectChapter = async (path: string, chapter: string, name = '使用手册') => {
    await page.goto(gatehouse.url + path)
    await expect.poll(() => page.getByRole('link', { name }).getAttribute('href')).toBe(chapter)
  }
  await expectChapter('/channel/add', '/docs/channels.html')
  await expectChapter('/setting?tab=model', '/docs/models.html')
  await page.evaluate("localStorage.setItem('language', 'en')")
  await expectChapter('/log', '/docs/en/monitoring.html', 'Manual')
  await page.goto(`${gatehouse.url}/docs/en/monitoring.html`)
  await page.getByRole('heading', { name: 'Monitoring and logs', level: 1 }).waitFor()
  expect(problems).toEqual([])
  await page.context().close()
})
