import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { launchBrowser } from './browser.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'

const WAIT_MS = 15_000

/** Somebody with a session of the server. */
export interface Person {
  username: string
  cookie: string
}

/** A server, a browser, and root signed in: what most pages need to be tested. */
export interface Console {
  gatehouse: RunningGatehouse
  root: Person
  /** Calls the management API with somebody's session; answers `data`, throws the refusal. */
  ask<T = unknown>(as: Person, call: `${string} ${string}`, body?: unknown): Promise<T>
  /** Makes a user and signs it in. */
  person(username: string, role?: 'user' | 'admin'): Promise<Person>
  /** A page of somebody's own browser window; what it complains of is in `problems`. */
  open(as: Person, path: string): Promise<{ page: Page; context: BrowserContext }>
  problems: string[]
  close(): Promise<void>
}

/** Whether a text comes into view. */
export async function sees(place: Page | Locator, text: string): Promise<boolean> {
  try {
    await place.getByText(text).first().waitFor({ timeout: WAIT_MS })
    return true
  } catch {
    return false
  }
}

/** How long `expect.poll` looks again. */
export const SOON = { timeout: WAIT_MS }

const ROOT_PASSWORD = 'RootPass1'
const USER_PASSWORD = 'UserPass1'

export async function startConsole(): Promise<Console> {
  const gatehouse = await startGatehouse({
    env: { INITIAL_ROOT_PASSWORD: ROOT_PASSWORD, CRITICAL_RATE_LIMIT: '0' },
  })
  const browser: Browser = await launchBrowser()
  const problems: string[] = []

  async function send(cookie: string, call: string, body?: unknown): Promise<Response> {
    const [method = '', path = ''] = call.split(' ')
    return fetch(gatehouse.url + path, {
      method,
      headers: { cookie },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }
  async function ask<T>(as: Person, call: string, body?: unknown): Promise<T> {
    const { success, message, data } = await (await send(as.cookie, call, body)).json()
    if (success !== true) throw new Error(`${call}: ${message}`)
    return data
  }
  async function signIn(username: string, password: string): Promise<Person> {
    const answer = await send('', 'POST /api/user/login', { username, password })
    return { username, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
  }
  const root = await signIn('root', ROOT_PASSWORD)

  return {
    gatehouse,
    root,
    ask,
    problems,
    async person(username, role = 'user') {
      await ask(root, 'POST /api/user/', { username, password: USER_PASSWORD })
      if (role === 'admin') {
        await ask(root, 'POST /api/user/manage', { username, action: 'promote' })
      }
      return signIn(username, USER_PASSWORD)
    },
    async open(as, path) {
      const context = await browser.newContext({ locale: 'zh-CN', acceptDownloads: true })
      context.setDefaultTimeout(WAIT_MS)
      const origin = gatehouse.url
      await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
      const [name = '', value = ''] = as.cookie.split('=')
      await context.addCookies([{ name, value, url: origin }])
      const user = JSON.stringify(await ask(as, 'GET /api/user/self'))
      // Once: what the page remembers later must not be overwritten by a reload.
      await context.addInitScript((stored) => {
        if (localStorage.getItem('user') === null && sessionStorage.getItem('seen') === null) {
          localStorage.setItem('user', stored)
        }
        sessionStorage.setItem('seen', 'true')
      }, user)
      const page = await context.newPage()
      page.on('pageerror', (error) => problems.push(String(error)))
      await page.goto(origin + path)
      return { page, context }
    },
    async close() {
      await browser.close()
      await gatehouse.stop()
    },
  }
}
