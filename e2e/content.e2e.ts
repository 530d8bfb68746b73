import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hostileMarkup } from './hostile-markup.ts'
import { expectSandboxed, expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { closeToasts, startVisit, type Visit, type VisitedPage } from './visit.ts'

/** Content written by operators: home, about, notice and footer, benign and hostile. */

let visit: Visit
/** One window for all read-only pages, to reuse its cache. */
let visitor: VisitedPage
const foreign = http.createServer((_request, response) => {
  response
    .setHeader('content-type', 'text/html; charset=utf-8')
    .end('<title>foreign</title><h1>别处</h1>')
})
// A server that listens on TCP has an address object.
const foreignUrl = () => `http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`

beforeAll(async () => {
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve))
  visit = await startVisit()
  visitor = await visit.open('/about')
})
afterAll(async () => {
  await visit.stop()
  foreign.close()
})

async function openAgain(path: string): Promise<VisitedPage> {
  // Otherwise content stored by an earlier visit is shown until the server responds.
  await visitor.page.evaluate(() => localStorage.clear())
  visitor.problems.splice(0)
  await visitor.page.goto(`${visit.gatehouse.url}${path}`)
  return visitor
}

describe.each([
  { what: 'home', path: '/', key: 'HomePageContent', name: '首页' },
  { what: 'about', path: '/about', key: 'About', name: '关于' },
])('$what', ({ path, key, name }) => {
  test('shows the default page without content', async () => {
    const { page, problems } = await openAgain(path)
    await page.getByRole('heading', { level: 1, name: /Gatehouse|关于/ }).waitFor()
    expect(problems).toEqual([])
  })

  test('renders markdown and HTML', async () => {
    await visit.setOption(
      key,
      '## 你好\n\n一 **二** <u style="color: #0000ff">三</u>\n\n| a | b |\n|---|---|\n| 1 | 2 |',
    )
    const { page, problems } = await openAgain(path)
    await page.getByRole('heading', { level: 2, name: '你好' }).waitFor()
    await expect.poll(() => page.locator('strong').textContent()).toBe('二')
    expect(await page.locator('u').evaluate((u) => getComputedStyle(u).color)).toBe(
      'rgb(0, 0, 255)',
    )
    await expect.poll(() => page.getByRole('cell').allTextContents()).toEqual(['1', '2'])
    expect(problems).toEqual([])
  })

  test('stays visible when a refresh fails', async () => {
    const { page, problems } = await openAgain(path)
    await page.getByRole('heading', { level: 2, name: '你好' }).waitFor()
    await settled(page)
    await page.route('**/api/**', (route) => route.abort())
    // Simulates returning to the window a minute later.
    await page.evaluate(() => {
      const now = Date.now
      Date.now = () => now() + 60_000
      document.dispatchEvent(new Event('visibilitychange'))
      window.dispatchEvent(new Event('visibilitychange'))
    })
    await page.getByText('错误：无法连接服务器，请检查网络后重试').waitFor()
    expect(await page.getByRole('heading', { level: 2, name: '你好' }).count()).toBe(1)
    await page.unroute('**/api/**')
    // The browser logs the failed request itself.
    problems.length = 0
  })

  test('shows a link in a sandboxed frame', async () => {
    await visit.setOption(key, foreignUrl())
    const { page, problems } = await openAgain(path)
    const frame = page.locator('iframe')
    await frame.contentFrame().getByText('别处').waitFor()
    await expect.poll(() => frame.getAttribute('title')).toBe(name)
    await expectSandboxed(frame)
    expect(problems).toEqual([])
  })

  test.each(['javascript:alert(1)', 'http://example.com/', '//example.com', 'file:///etc/passwd'])(
    '%s is not framed',
    async (text) => {
      await visit.setOption(key, text)
      const { page } = await openAgain(path)
      await page.locator('article').waitFor()
      expect(await page.locator('iframe').count()).toBe(0)
    },
  )

  test('our own address is not framed: it could escape the sandbox', async () => {
    await visit.setOption(key, `${visit.gatehouse.url}/token`)
    const { page } = await openAgain(path)
    await page.locator('article').waitFor()
    expect(await page.locator('iframe').count()).toBe(0)
    await visit.setOption(key, '')
  })
})

describe('the notice', () => {
  test('is shown once per text, until it is closed', async () => {
    await visit.setOption('Notice', '今晚 **维护**')
    const { page, close, problems } = await visit.open('/')
    const notice = page.getByRole('status').filter({ hasText: '今晚 维护' })
    await notice.waitFor()
    await expect.poll(() => notice.locator('strong').textContent()).toBe('维护')
    // Not closed, so it is shown again.
    await page.reload()
    await notice.waitFor()
    await notice.getByRole('button', { name: '关闭', exact: true }).click()
    await notice.waitFor({ state: 'detached' })
    await page.reload()
    await settled(page)
    expect(await notice.count()).toBe(0)
    // A new text is a new notice.
    await visit.setOption('Notice', '维护结束')
    await page.reload()
    await page.getByText('维护结束').waitFor()
    expect(problems).toEqual([])
    await close()
    await visit.setOption('Notice', '')
  })

  test.each([390, 1280])('can be read from its first to its last line at %i px', async (width) => {
    const lines = Array.from({ length: 40 }, (_, at) => `- 第 ${at + 1} 条`)
    await visit.setOption('Notice', `## 更新\n\n${lines.join('\n')}`)
    const { page, close } = await visit.open('/', undefined, { width, height: 700 })
    const notice = page.getByRole('status').filter({ hasText: '第 40 条' })
    await notice.waitFor()
    /** Whether nothing covers or clips an element of the notice. */
    const isShown = (element: Locator) =>
      element.evaluate((shown) => {
        const { left, top, height } = shown.getBoundingClientRect()
        const above = document.elementFromPoint(left + 4, top + height / 2)
        return above !== null && shown.contains(above)
      })
    const closing = notice.getByRole('button', { name: '关闭', exact: true })
    await expect.poll(() => isShown(notice.getByRole('heading', { name: '更新' }))).toBe(true)
    await notice.getByRole('heading', { name: '更新' }).hover()
    await expect
      .poll(async () => {
        await page.mouse.wheel(0, 3000)
        return isShown(notice.getByText('第 40 条'))
      })
      .toBe(true)
    expect(await isShown(closing)).toBe(true)
    await close()
    await visit.setOption('Notice', '')
  })
})

test('suggests a hard refresh if the server has another version', async () => {
  const { data } = await visit.api('GET', '/api/status')
  const { page, close } = await visit.open('/about')
  await page.route('**/api/status', (route) =>
    route.fulfill({
      json: { success: true, message: '', data: { ...Object(data), version: 'v9.9.9' } },
    }),
  )
  await page.reload()
  await page.getByText('新版本可用：v9.9.9，请使用快捷键 Shift + F5 刷新页面').waitFor()
  await expect.poll(() => page.getByRole('contentinfo').textContent()).toContain('v9.9.9')
  await close()
})

test('an open page picks up new settings and versions', async () => {
  const { data } = await visit.api('GET', '/api/status')
  const { page, close } = await visit.open('/token', visit.root)
  await settled(page)
  const root = page.getByRole('link', { name: /^余额 / })
  await expect.poll(() => root.textContent()).toBe('$1,000,000,000.00')
  const news = { ...Object(data), version: 'v9.9.9', display_in_currency: false }
  await page.route('**/api/status', (route) =>
    route.fulfill({ json: { success: true, message: '', data: news } }),
  )
  const lookAgain = () =>
    page.evaluate(() => {
      const now = Date.now
      Date.now = () => now() + 600_000
      document.dispatchEvent(new Event('visibilitychange'))
    })
  await lookAgain()
  const told = page.getByText('新版本可用：v9.9.9')
  await expectSeen(told)
  await expect.poll(() => root.textContent()).toBe('500000.0B')
  // It is shown only once.
  await closeToasts(page)
  await expect.poll(() => told.count()).toBe(0)
  const asked = page.waitForResponse('**/api/status')
  await lookAgain()
  await asked
  await settled(page)
  expect(await told.count()).toBe(0)
  await close()
})

test('reports an unreachable server', async () => {
  const { page, close } = await visit.open('/about')
  await page.route('**/api/status', (route) => route.abort())
  await page.reload()
  await page.getByText('无法正常连接至服务器！').waitFor()
  await expect.poll(() => page.getByRole('heading', { level: 1 }).isVisible()).toBe(true)
  await close()
})

describe('the footer', () => {
  /** Whether a click at the center of an element would hit it. */
  const reaches = (page: Page, selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => {
        const { left, top, width, height } = element.getBoundingClientRect()
        const hit = document.elementFromPoint(left + width / 2, top + height / 2)
        return hit !== null && (element.contains(hit) || hit.contains(element))
      })

  test.each([
    ['fixed', '<div style="position:fixed;inset:0;z-index:99999;background:red">x</div>'],
    [
      'fixed, shouted',
      '<DIV STYLE="POSITION: FIXED; TOP:0; LEFT:0; WIDTH:100vw; HEIGHT:100vh">x</DIV>',
    ],
    ['fixed, escaped', '<div style="p\\6fsition:fixed;inset:0">x</div>'],
    ['moved up', '<div style="margin-top:-3000px;height:3000px;background:red">x</div>'],
    [
      'moved by transform',
      '<div style="transform:translateY(-90vh) scale(50);background:red">x</div>',
    ],
    ['moved by translate', '<div style="translate:0 -90vh;scale:50;background:red">x</div>'],
    ['floating', '<div style="float:left;width:300vw;height:100vh;margin:-90vh -100vw">x</div>'],
    ['a shadow', '<div style="box-shadow:0 0 0 9999px red">x</div>'],
    ['an outline', '<div style="outline:9999px solid red">x</div>'],
    ['our own classes', '<div class="mantine-Modal-overlay m_9814e45f" style="opacity:1">x</div>'],
    ['a style sheet', '<style>header,main{display:none}</style><div>x</div>'],
    [
      'an overlaying link',
      '<a href="https://evil.example" style="position:absolute;inset:-9999px">x</a>',
    ],
  ])('the footer cannot cover the page: %s', async (_what, html) => {
    await visit.setOption('Footer', html)
    const { page, problems } = await openAgain('/about')
    await page.getByRole('contentinfo').getByText('x').first().waitFor({ state: 'attached' })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await settled(page)
    expect(await reaches(page, 'header a')).toBe(true)
    expect(await reaches(page, 'main h1')).toBe(true)
    expect(problems).toEqual([])
    await visit.setOption('Footer', '')
  })

  test('shows name and version by default', async () => {
    const { page } = await openAgain('/about')
    const footer = page.getByRole('contentinfo')
    await expect.poll(() => footer.textContent()).toMatch(/Gatehouse v\d/)
  })
})

describe('hostile markup', () => {
  beforeAll(async () => {
    const { page, context } = visitor
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        const { effectiveDirective, blockedURI } = event
        Object.assign(window, { violation: `${effectiveDirective} ${blockedURI}` })
      })
    })
    // Answers requests for images, whose hosts do not exist. Not with `page.route`, which disables
    // the cache for everything else.
    const session = await context.newCDPSession(page)
    session.on('Fetch.requestPaused', ({ requestId }) => {
      void session.send('Fetch.fulfillRequest', { requestId, responseCode: 204 })
    })
    await session.send('Fetch.enable', { patterns: [{ urlPattern: 'https:*' }] })
  })
  afterAll(() => visit.setOption('About', ''))

  test.each(hostileMarkup)('$0', async (_what, markup) => {
    await visit.setOption('About', markup)
    const { page, problems } = await openAgain('/about')
    await page.locator('article, iframe').first().waitFor({ state: 'attached' })
    // Waits for anything that would run by itself.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)))
    const found = await page.evaluate(() => ({
      ran: 'ran' in window,
      violation: 'violation' in window ? window.violation : null,
      address: location.pathname,
      base: document.baseURI,
      scripts: document.querySelectorAll(
        'article :is(script, iframe, object, embed, base, meta, link, style, form)',
      ).length,
      handlers: [...document.querySelectorAll('article *')].flatMap((element) =>
        element.getAttributeNames().filter((name) => name.startsWith('on')),
      ),
      links: [...document.querySelectorAll('article a')]
        .map((link) => link.getAttribute('href') ?? '')
        .filter((href) => /^\s*(javascript|vbscript|data):/i.test(href)),
      isStillOurs: document.querySelectorAll('#content').length === 1,
    }))
    expect(found).toEqual({
      ran: false,
      violation: null,
      address: '/about',
      base: `${visit.gatehouse.url}/`,
      scripts: 0,
      handlers: [],
      links: [],
      isStillOurs: true,
    })
    expect(problems).toEqual([])
  })
})

/** Our own API in every spelling that a browser accepts; `{own}` is our origin. */
const OWN_API = [
  '/api/user/logout',
  'api/user/token',
  '/%61pi/user/logout',
  '//{host}/api/user/logout',
  '{own}/api/user/token',
  'https://{host}/api/user/logout',
  '/x/../api/user/token',
]

test('operator content cannot call the API as the reader, and signing out works', async () => {
  const { url } = visit.gatehouse
  const { host } = new URL(url)
  const addresses = OWN_API.map((text) => text.replace('{own}', url).replace('{host}', host))
  const markup = addresses.map(
    (address) => `![x](${address}) <a href="${address}">y</a>
      <svg><a xlink:href="${address}"><text y="9">z</text></a></svg>
      <video src="${address}" poster="${address}"></video>`,
  )
  await visit.setOption('About', markup.join('\n\n'))
  const reader = await visit.person('reader')
  const { page, context } = await visit.open('/about', reader)
  const called: string[] = []
  page.on('request', (request) => {
    if (/logout|user\/token/.test(request.url())) called.push(request.url())
  })
  await page.reload()
  await page.locator('article').getByText('y').first().waitFor()
  await settled(page)
  const loading = await page.evaluate(() =>
    [...document.querySelectorAll('article *')].flatMap((element) =>
      element.getAttributeNames().filter((name) => /src|href|poster/.test(name)),
    ),
  )
  expect([called, loading]).toEqual([[], []])
  expect(await visit.ask(reader, 'GET /api/user/self')).toMatchObject({ username: 'reader' })
  await page.getByRole('button', { name: /的账户菜单/ }).click()
  await page.getByRole('menuitem', { name: '退出登录' }).click()
  await page.waitForURL(`${url}/login`)
  await page.getByLabel('密码', { exact: true }).waitFor()
  expect(called).toEqual([`${url}/api/user/logout`])
  // Signing out clears nothing that the next sign-in needs.
  await page.getByLabel('用户名或邮箱').fill('root')
  await page.getByLabel('密码', { exact: true }).fill('RootPass1')
  await page.getByRole('button', { name: '登录', exact: true }).click()
  await page.waitForURL(`${url}/token`)
  await visit.setOption('About', '')
  await context.close()
})

test('root is warned about a proxy with ignored headers until the notice is closed', async () => {
  await fetch(`${visit.gatehouse.url}/api/status`, {
    headers: { 'x-forwarded-for': '203.0.113.9' },
  })
  const { page, close } = await visit.open('/token', visit.root)
  const notice = page.getByRole('status').filter({ hasText: 'TRUSTED_PROXIES=127.0.0.1' })
  await notice.waitFor()
  await notice.getByRole('button', { name: '关闭', exact: true }).click()
  await notice.waitFor({ state: 'detached' })
  await page.reload()
  await settled(page)
  expect(await notice.count()).toBe(0)
  await close()
})
