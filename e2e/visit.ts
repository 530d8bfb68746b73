import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from './browser.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'

/** A server, a browser, and people who are signed in without going by way of the sign-in page. */
export interface Visit {
  gatehouse: RunningGatehouse
  /** Calls the API as root; the envelope, or whatever JSON came. */
  api(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>
  setOption(key: string, value: string): Promise<void>
  open(path: string, as?: Person, screen?: Screen): Promise<VisitedPage>
  /** An ordinary user or an admin, made for the occasion. */
  person(username: string, role?: 1 | 10): Promise<Person>
  root: Person
  stop(): Promise<void>
}

export interface Person {
  /** As the console remembers who is signed in. */
  user: { id: number; username: string; display_name: string; role: number }
  cookie: string
}

export interface Screen {
  width?: number
  height?: number
  language?: 'zh' | 'en'
}

export interface VisitedPage {
  page: Page
  context: BrowserContext
  /** What the browser complained about, violations of the content policy among it. */
  problems: string[]
}

const PASSWORD = 'RootPass1'
const WAIT_MS = 10_000

async function signIn(url: string, username: string, password: string): Promise<Person> {
  const answer = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    body: JSON.stringify({ username, password }),
  })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  // The API's own words about somebody.
  const { data, message } = (await answer.json()) as { data?: Person['user']; message: string }
  if (data === undefined) throw new Error(`${username} is not signed in: ${message}`)
  const { id, display_name, role } = data
  return { user: { id, username, display_name, role }, cookie }
}

export async function startVisit(
  settings: { env?: Record<string, string>; postgresUrl?: string } = {},
): Promise<Visit> {
  const env = { INITIAL_ROOT_PASSWORD: PASSWORD, CRITICAL_RATE_LIMIT: '0', ...settings.env }
  const gatehouse = await startGatehouse({ ...settings, env })
  const browser: Browser = await launchBrowser()
  const root = await signIn(gatehouse.url, 'root', PASSWORD)
  const api: Visit['api'] = async (method, path, body) => {
    const answer = await fetch(`${gatehouse.url}${path}`, {
      method,
      headers: { cookie: root.cookie },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    // An API of JSON; a test that reads a member says what it expects.
    return (await answer.json()) as Record<string, unknown>
  }
  return {
    gatehouse,
    root,
    api,
    async setOption(key, value) {
      const { success, message } = await api('PUT', '/api/option/', { key, value })
      if (success !== true) throw new Error(`${key} is not set: ${String(message)}`)
    },
    open: (path, as, screen) => openPage(browser, { url: gatehouse.url, path, as, screen }),
    async person(username, role = 1) {
      await api('POST', '/api/user/', { username, display_name: username, password: PASSWORD })
      if (role > 1) await api('POST', '/api/user/manage', { username, action: 'promote' })
      return signIn(gatehouse.url, username, PASSWORD)
    },
    async stop() {
      await browser.close()
      await gatehouse.stop()
    },
  }
}

/** Closes the toasts: they may lie over what is clicked next. */
export async function quiet(page: Page): Promise<void> {
  await page.mouse.move(0, 0)
  const close = page.locator('.mantine-Notification-closeButton')
  while ((await close.count()) > 0) {
    await close
      .first()
      .click({ timeout: 500 })
      .catch(() => {})
  }
}

async function openPage(
  browser: Browser,
  {
    url,
    path,
    as,
    screen: { width = 1280, height = 1000, language = 'zh' } = {},
  }: { url: string; path: string; as: Person | undefined; screen: Screen | undefined },
): Promise<VisitedPage> {
  const context = await browser.newContext({
    locale: 'zh-CN',
    viewport: { width, height },
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(WAIT_MS)
  if (as !== undefined) {
    const [name = '', value = ''] = as.cookie.split('=')
    await context.addCookies([{ name, value, url }])
  }
  await context.addInitScript(
    ([user, chosen]) => {
      if (user !== '') localStorage.setItem('user', user)
      localStorage.setItem('language', chosen)
    },
    [as === undefined ? '' : JSON.stringify(as.user), language] as const,
  )
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  await page.goto(`${url}${path}`)
  return { page, context, problems }
}
