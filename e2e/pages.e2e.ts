import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchBrowser } from './browser.ts'
import { ROOT_PAGES, VISITOR_PAGES } from './page-list.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'

/**
 * Every page, light and dark, on a phone and on a wide screen: readable by everyone, nothing
 * broken, nothing that the content policy forbids.
 */

const PASSWORD = 'RootPass1'
const SCREENS = [
  { width: 360, height: 740, scheme: 'light' },
  { width: 360, height: 740, scheme: 'dark' },
  { width: 1440, height: 900, scheme: 'light' },
  { width: 1440, height: 900, scheme: 'dark' },
] as const
let browser: Browser
let gatehouse: RunningGatehouse
let cookie = ''

async function post(path: string, body: unknown): Promise<Response> {
  return fetch(`${gatehouse.url}${path}`, {
    method: 'POST',
    headers: cookie === '' ? {} : { cookie },
    body: JSON.stringify(body),
  })
}

beforeAll(async () => {
  gatehouse = await startGatehouse({ env: { INITIAL_ROOT_PASSWORD: PASSWORD } })
  const login = await post('/api/user/login', { username: 'root', password: PASSWORD })
  cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  for (let index = 1; index <= 12; index += 1) {
    await post('/api/token/', { name: `编辑器插件 ${index}`, remain_quota: index * 90_000 })
    await post('/api/user/', { username: `user${index}`, password: PASSWORD })
    await post('/api/redemption/', { name: `活动 ${index}`, quota: index * 100_000, count: 1 })
    await post('/api/channel/', {
      name: `上游 ${index}`,
      type: index,
      key: 'sk-nothing',
      base_url: 'http://127.0.0.1:9',
      models: 'gpt-4o-mini,gpt-4o',
      group: index % 2 === 0 ? 'default,vip' : 'default',
    })
  }
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser.close()
  await gatehouse.stop()
})

async function open(
  screen: (typeof SCREENS)[number],
  isSignedIn: boolean,
): Promise<{ context: BrowserContext; page: Page; problems: string[] }> {
  const { width, height, scheme } = screen
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    locale: 'zh-CN',
    reducedMotion: 'reduce',
  })
  if (isSignedIn) {
    const [name = '', value = ''] = cookie.split('=')
    await context.addCookies([{ name, value, url: gatehouse.url }])
    await context.addInitScript(() => {
      const user = { id: 1, username: 'root', display_name: 'Root User', role: 100, status: 1 }
      localStorage.setItem('user', JSON.stringify(user))
    })
  }
  const page = await context.newPage()
  const problems: string[] = []
  // What the content policy forbids, whether or not the console complains of it.
  await page.exposeFunction('reportForbidden', (what: string) => problems.push(what))
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { violatedDirective, blockedURI } = event
      Object(window).reportForbidden(`${violatedDirective}: ${blockedURI}`)
    })
  })
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  return { context, page, problems }
}

/** What axe finds, in words that tell where. */
async function violations(page: Page): Promise<string[]> {
  const { violations: found } = await new AxeBuilder({ page }).analyze()
  return found.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
}

describe.each(SCREENS)('$width px, $scheme', (screen) => {
  test.each([
    ...VISITOR_PAGES.map(({ path }) => ({ path, who: 'a visitor' })),
    ...ROOT_PAGES.map(({ path }) => ({ path, who: 'root' })),
  ])('$path for $who', async ({ path, who }) => {
    const { context, page, problems } = await open(screen, who === 'root')
    try {
      await page.goto(`${gatehouse.url}${path}`, { waitUntil: 'networkidle' })
      await page.locator('h1').first().waitFor()
      expect(await violations(page)).toEqual([])
      expect(problems).toEqual([])
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect(overflow).toBe(0)
    } finally {
      await context.close()
    }
  })
})
