import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser, WAIT_MS } from './browser.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'
import { settled, watchCalls } from './settled.ts'

/** A server, a browser, and users who are signed in without the sign-in page. */
export interface Visit {
  gatehouse: RunningGatehouse
  /** Calls the API as root; returns the JSON body. */
  api(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>
  /** Calls the API as a user; returns `data`, throws on an error. */
  ask<T = unknown>(as: Person, call: `${string} ${string}`, body?: unknown): Promise<T>
  setOption(key: string, value: string): Promise<void>
  /**
   * Lets a person prove their identity again if their proof may soon expire. `open` does so, too; a
   * page that stays open longer needs it before it sends something guarded.
   */
  keepProven(as: Person): Promise<void>
  /** Opens a new window, which may read and write the clipboard. */
  open(path: string, as?: Person, screen?: Screen): Promise<VisitedPage>
  /** Creates an ordinary user or an administrator. */
  person(username: string, role?: 1 | 10): Promise<Person>
  root: Person
  /** Ends everything. Throws if a script on any of its pages has failed. */
  stop(): Promise<void>
}

export interface Person {
  /** The signed-in user as the console stores them. */
  user: { id: number; username: string; display_name: string; role: number }
  cookie: string
}

interface ApiCall {
  as?: Person
  body?: unknown
}

export interface Screen {
  width?: number
  height?: number
  language?: 'zh' | 'en'
}

export interface VisitedPage {
  page: Page
  context: BrowserContext
  /** Errors that the browser logged, including violations of the content policy. */
  problems: string[]
  /**
   * Ends the visit and keeps the window, without its storage, cookies and routes, for the next one
   * of the same person: loading the console into a new browser context takes twice the time. After
   * listeners, a false clock or emulated media, close the context instead.
   */
  close(): Promise<void>
}

/** A window between two visits. */
interface Window extends VisitedPage {
  /** The path that it last opened. */
  path: string
}

const PASSWORD = 'RootPass1'
/** Well below the five minutes for which a proof of identity lasts. */
const PROOF_AGE_MS = 120_000

async function signIn(url: string, username: string, password: string): Promise<Person> {
  const answer = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    body: JSON.stringify({ username, password }),
  })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  // Unvalidated response of the API.
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
  const faults: string[] = []
  const startedAt = performance.now()
  const free = new Map<string, Window[]>()
  const api = async (method: string, path: string, { as = root, body }: ApiCall = {}) => {
    const answer = await fetch(`${gatehouse.url}${path}`, {
      method,
      headers: { cookie: as.cookie },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    // The API returns JSON; a test that reads a member states its type.
    return (await answer.json()) as Record<string, unknown>
  }
  /** A person of a long test, whose proof of identity has expired, gives it again. */
  const prove = (as: Person) => api('POST', '/api/verify', { as, body: { password: PASSWORD } })
  const keepProven = async (as: Person) => {
    if (performance.now() - startedAt > PROOF_AGE_MS) await prove(as)
  }
  const ask: Visit['ask'] = async <T>(as: Person, call: string, body?: unknown) => {
    const [method = '', path = ''] = call.split(' ')
    let answer = await api(method, path, { as, body })
    if (answer['code'] === 'VERIFICATION_REQUIRED') {
      await prove(as)
      answer = await api(method, path, { as, body })
    }
    const { success, message, data } = answer
    if (success !== true) throw new Error(`${call}: ${String(message)}`)
    // The caller states the type of `data`.
    return data as T
  }
  return {
    gatehouse,
    root,
    api: (method, path, body) => api(method, path, { body }),
    ask,
    keepProven,
    async setOption(key, value) {
      await ask(root, 'PUT /api/option/', { key, value })
    },
    async open(path, as, screen) {
      const { url } = gatehouse
      const language = screen?.language ?? 'zh'
      // A window's first script stores the person and the language, so they do not change.
      const kind = JSON.stringify([as?.user, language])
      const kept = free.get(kind) ?? []
      free.set(kind, kept)
      const opened =
        kept.pop() ?? (await openWindow(browser, { url, user: as?.user, language, faults }))
      opened.path = path
      opened.close = async () => {
        await clearWindow(opened, url)
        kept.push(opened)
      }
      await prepareWindow(opened, { url, as, screen })
      if (as !== undefined) await keepProven(as)
      await opened.page.goto(`${url}${path}`)
      // The problems of a later visit to this window are not this one's.
      return { ...opened }
    },
    async person(username, role = 1) {
      const body = { username, display_name: username, password: PASSWORD }
      await ask(root, 'POST /api/user/', body)
      if (role > 1) await ask(root, 'POST /api/user/manage', { username, action: 'promote' })
      return signIn(gatehouse.url, username, PASSWORD)
    },
    async stop() {
      await browser.close()
      await gatehouse.stop()
      if (faults.length > 0) throw new Error(faults.join('\n'))
    },
  }
}

/** Closes the toasts, which may cover what is clicked next. */
export async function closeToasts(page: Page): Promise<void> {
  await page.mouse.move(0, 0)
  const close = page.locator('.mantine-Notification-closeButton')
  while ((await close.count()) > 0) {
    // A click of the mouse waits for a toast that moves, or that is about to vanish.
    await close.evaluateAll((buttons: HTMLElement[]) => {
      for (const button of buttons) button.click()
    })
  }
}

/** Makes the console treat the server as a One API server, from the page's next load on. */
export async function answerLikeOneApi(page: Page): Promise<void> {
  await settled(page)
  await page.route('**/api/status', async (route) => {
    const answer = await route.fetch()
    const { data, ...rest } = Object(await answer.json())
    const { gatehouse: _ours, ...theirs } = data
    await route.fulfill({ json: { ...rest, data: theirs } })
  })
  // The status stored by an earlier page would be used until the server responds.
  await page.evaluate(() => localStorage.removeItem('status'))
}

async function openWindow(
  browser: Browser,
  {
    url,
    user,
    language,
    faults,
  }: { url: string; user: Person['user'] | undefined; language: string; faults: string[] },
): Promise<Window> {
  const context = await browser.newContext({ locale: 'zh-CN', reducedMotion: 'reduce' })
  context.setDefaultTimeout(WAIT_MS)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url })
  await context.addInitScript(
    ([stored, chosen]) => {
      // A frame of another site has no access to our storage.
      if (window.parent !== window) return
      // Only once: a reload must not overwrite what the page stores later.
      if (sessionStorage.getItem('visited') !== null) return
      sessionStorage.setItem('visited', 'true')
      if (stored !== '' && localStorage.getItem('user') === null)
        localStorage.setItem('user', stored)
      localStorage.setItem('language', chosen)
    },
    [user === undefined ? '' : JSON.stringify(user), language] as const,
  )
  const page = await context.newPage()
  watchCalls(page)
  const opened: Window = { page, context, problems: [], path: '', close: async () => {} }
  page.on('pageerror', (error) => {
    opened.problems.push(String(error))
    faults.push(`${opened.path}: ${String(error)}`)
  })
  page.on('console', (message) => {
    if (message.type() === 'error') opened.problems.push(message.text())
  })
  return opened
}

async function prepareWindow(
  opened: Window,
  { url, as, screen }: { url: string; as: Person | undefined; screen: Screen | undefined },
): Promise<void> {
  const { width = 1280, height = 1000 } = screen ?? {}
  opened.problems = []
  await opened.page.setViewportSize({ width, height })
  if (as === undefined) return
  const [name = '', value = ''] = as.cookie.split('=')
  await opened.context.addCookies([{ name, value, url }])
}

/** Leaves no script running, and nothing stored. */
async function clearWindow({ page, context }: Window, url: string): Promise<void> {
  for (const other of context.pages()) if (other !== page) await other.close()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.unrouteAll({ behavior: 'ignoreErrors' })
  // A document of the same origin without scripts.
  await page.goto(`${url}/healthz`)
  await context.clearCookies()
  await page.evaluate(() => {
    localStorage.clear()
    sessionStorage.clear()
  })
}
