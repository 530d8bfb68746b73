import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { violations } from './axe.ts'
import { launchBrowser, WAIT_MS } from './browser.ts'
import { ROOT_PAGES, VISITOR_PAGES } from './page-list.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'
import { settled, watchCalls } from './settled.ts'

/**
 * Every page, light and dark, narrow and wide: accessible, without errors and without violations of
 * the content policy.
 */

const PASSWORD = 'RootPass1'
/** Each page is loaded in the first scheme, then switched to the second in place. */
const SCREENS = [
  { width: 360, height: 740, schemes: ['light', 'dark'] },
  { width: 1440, height: 900, schemes: ['dark', 'light'] },
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
      // A name without a place to wrap must not widen its form.
      name: index === 1 ? 'w'.repeat(60) : `上游 ${index}`,
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

interface Window {
  page: Page
  problems: string[]
}

/** One window for all pages of a kind, to reuse its cache. */
async function openWindow(screen: (typeof SCREENS)[number], isSignedIn: boolean): Promise<Window> {
  const { width, height, schemes } = screen
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: schemes[0],
    locale: 'zh-CN',
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(WAIT_MS)
  if (isSignedIn) {
    const [name = '', value = ''] = cookie.split('=')
    await context.addCookies([{ name, value, url: gatehouse.url }])
    await context.addInitScript(() => {
      const user = { id: 1, username: 'root', display_name: 'Root User', role: 100, status: 1 }
      localStorage.setItem('user', JSON.stringify(user))
    })
  }
  const page = await context.newPage()
  watchCalls(page)
  const problems: string[] = []
  // Records violations of the content policy, whether or not the browser logs them.
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
  return { page, problems }
}

/** Hints and errors that no field refers to: a screen reader does not read them. */
const undescribed = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('[id$="-hint"], [id$="-error"]')]
      .filter(({ id }) => document.querySelector(`[aria-describedby~="${id}"]`) === null)
      .map(({ textContent }) => textContent),
  )

/** Fields with an asterisk that are not marked as required for assistive technology. */
const starred = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('label')]
      .filter(({ textContent, control }) => textContent.includes('*') && !control?.ariaRequired)
      .map(({ textContent }) => textContent),
  )

const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

describe.each(SCREENS)('$width px', (screen) => {
  const windows: Partial<Record<string, Window>> = {}
  beforeAll(async () => {
    windows['a visitor'] = await openWindow(screen, false)
    windows['root'] = await openWindow(screen, true)
  })
  afterAll(async () => {
    for (const opened of Object.values(windows)) await opened?.page.context().close()
  })

  test.each([
    ...VISITOR_PAGES.map(({ path }) => ({ path, who: 'a visitor' })),
    ...ROOT_PAGES.map(({ path }) => ({ path, who: 'root' })),
  ])('$path for $who', async ({ path, who }) => {
    const opened = windows[who]
    if (opened === undefined) throw new Error(`there is no window of ${who}`)
    const { page, problems } = opened
    problems.splice(0)
    const [first, second] = screen.schemes
    await page.emulateMedia({ colorScheme: first })
    await page.goto(`${gatehouse.url}${path}`)
    await settled(page)
    expect({ [first]: await violations(page) }).toEqual({ [first]: [] })
    expect(await overflow(page)).toBe(0)
    expect(await undescribed(page)).toEqual([])
    expect(await starred(page)).toEqual([])

    await page.emulateMedia({ colorScheme: second })
    await page.locator(`html[data-mantine-color-scheme=${second}]`).waitFor()
    await settled(page)
    // The page has the same elements as before, in other colors.
    expect({ [second]: await violations(page, true) }).toEqual({ [second]: [] })
    expect(await overflow(page)).toBe(0)
    expect(problems).toEqual([])
  })
})

test.each(['/token/add', '/channel/add', '/user/add', '/redemption/add'])(
  '%s submitted empty: errors are read with their fields',
  async (path) => {
    const { page } = await openWindow(SCREENS[1], true)
    await page.goto(`${gatehouse.url}${path}`)
    await settled(page)
    await page.getByRole('button', { name: '创建', exact: true }).click()
    const wrong = page.locator('[aria-invalid=true]')
    await wrong.first().waitFor()
    const said = await wrong.evaluateAll((fields) =>
      fields.map((field) =>
        (field.getAttribute('aria-describedby') ?? '')
          .split(' ')
          .filter((id) => id.endsWith('-error'))
          .map((id) => document.getElementById(id)?.textContent),
      ),
    )
    expect(said.map((sentences) => sentences.length)).toEqual(said.map(() => 1))
    expect(await undescribed(page)).toEqual([])
    await page.context().close()
  },
)

test.each([
  { screen: SCREENS[0], isBeside: false },
  { screen: SCREENS[1], isBeside: true },
])('hints at $screen.width px: to the right of their fields: $isBeside', async (row) => {
  const { page } = await openWindow(row.screen, true)
  for (const path of ['/token/add', '/setting?tab=system', '/user/edit']) {
    await page.goto(`${gatehouse.url}${path}`)
    await settled(page)
    const places = await page.evaluate(() =>
      [...document.querySelectorAll('form [aria-describedby$="-hint"]:is(input, select)')].map(
        (field) => {
          const hint = document.getElementById(field.getAttribute('aria-describedby') ?? '')
          return (hint?.getBoundingClientRect().left ?? 0) >= field.getBoundingClientRect().right
        },
      ),
    )
    expect({ path, places: [...new Set(places)] }).toEqual({ path, places: [row.isBeside] })
    // To the right of the form is only the page's margin.
    const left = await page.evaluate(
      () => innerWidth - (document.querySelector('main form')?.getBoundingClientRect().right ?? 0),
    )
    expect(left).toBeLessThan(80)
  }
  await page.context().close()
})

/** Whether a bar covers the focused control, or it is out of view. `isDrawn`: in the next frame. */
const isFocusCovered = (page: Page, isDrawn = false) =>
  page.evaluate(async (waits) => {
    if (waits) await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 0)))
    const control = document.activeElement
    if (control === null || control === document.body) return false
    const { left, top, width, height } = control.getBoundingClientRect()
    // Of a tall control, the first line must be visible.
    const shown = document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 16))
    if (shown === null) return true
    if (control.contains(shown) || shown.contains(control)) return false
    return shown.closest('header, th, [class*=saveBar]') !== null
  }, isDrawn)

test.each(['/channel/edit/1', '/token/add', '/user', '/setting?tab=operation'])(
  '%s zoomed to 200 %: the keyboard never moves the focus behind a bar',
  async (path) => {
    const { page } = await openWindow(SCREENS[0], true)
    await page.setViewportSize({ width: 640, height: 400 })
    await page.goto(`${gatehouse.url}${path}`)
    await settled(page)
    const covered: string[] = []
    for (const key of ['Tab', 'Shift+Tab']) {
      for (let press = 0; press < 60; press += 1) {
        await page.keyboard.press(key)
        // A bar may be placed a frame later than the focus.
        if ((await isFocusCovered(page)) && (await isFocusCovered(page, true))) {
          covered.push(`${key} ${press}`)
        }
      }
    }
    expect(covered).toEqual([])
    await page.context().close()
  },
)

test('in a wide window, long texts in the settings use the free width', async () => {
  const { page } = await openWindow(SCREENS[1], true)
  await page.goto(`${gatehouse.url}/setting?tab=other`)
  await settled(page)
  const areas = await page.evaluate(() =>
    [...document.querySelectorAll('main form textarea')].map((area) => {
      const form = area.closest('form')?.getBoundingClientRect()
      const { left, right, width } = area.getBoundingClientRect()
      return {
        isBesideLabel: left - (form?.left ?? 0) < 280,
        rest: (form?.right ?? 0) - right,
        width,
      }
    }),
  )
  expect(areas.length).toBeGreaterThan(3)
  for (const { isBesideLabel, rest, width } of areas) {
    expect(isBesideLabel).toBe(true)
    expect(rest).toBeLessThan(40)
    expect(width).toBeGreaterThan(700)
  }
  await page.context().close()
})

test('in a wide window, the steps of the home page have two columns', async () => {
  const { page } = await openWindow(SCREENS[1], false)
  await page.goto(gatehouse.url)
  await settled(page)
  const lefts = await page.evaluate(() =>
    [...document.querySelectorAll('main pre')].map((code) =>
      Math.round(code.getBoundingClientRect().left),
    ),
  )
  // The address, the shell example, and the Python example below the address.
  expect(lefts).toHaveLength(3)
  expect(Math.abs((lefts[2] ?? 0) - (lefts[0] ?? 0))).toBeLessThan(2)
  await page.context().close()
})
