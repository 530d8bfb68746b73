/**
 * `npm run screenshots`: writes every page of the console to `docs/screenshots/`, light and dark,
 * wide and narrow, as root with the data of `npm run demo`.
 *
 *     npm run screenshots -- [--out folder] [--only name,name] [--language en] [--as username]
 *       [--full] [--scheme dark] [--width 390]
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../e2e/browser.ts'
import { addressOf } from '../e2e/running-gatehouse.ts'
import { ROOT_PAGES, VISITOR_PAGES, type PageAddress } from '../e2e/page-list.ts'

const ROOT = resolve(import.meta.dirname, '..')
/** Time for loading placeholders and chart animations to end, in milliseconds. */
const SETTLE_MS = 400
/** WebP quality: small files with sharp text. */
const QUALITY = 70
const SCHEMES = ['light', 'dark'] as const
const WIDTHS = [1440, 390] as const
const HEIGHTS = { 1440: 900, 390: 844 }

const { values: options } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'docs/screenshots') },
    only: { type: 'string', default: '' },
    language: { type: 'string', default: 'zh' },
    as: { type: 'string', default: 'root' },
    full: { type: 'boolean', default: false },
    scheme: { type: 'string', default: '' },
    width: { type: 'string', default: '' },
  },
})

interface Visitor {
  cookie: string
  /** The signed-in user as the console stores it. */
  user: string
}

interface Shot {
  scheme: (typeof SCHEMES)[number]
  width: (typeof WIDTHS)[number]
  visitor: Visitor | null
}

async function startDemo(password: string): Promise<{ url: string; server: ChildProcess }> {
  const server = spawn(process.execPath, [join(ROOT, 'dist/server/gatehouse.js'), 'demo'], {
    env: {
      ...process.env,
      PORT: '0',
      HOST: '127.0.0.1',
      LOG_FORMAT: 'json',
      INITIAL_ROOT_PASSWORD: password,
      GLOBAL_API_RATE_LIMIT: '0',
      GLOBAL_WEB_RATE_LIMIT: '0',
    },
    cwd: ROOT,
  })
  return { url: await addressOf(server), server }
}

async function signIn(url: string, username: string, password: string): Promise<Visitor> {
  const answer = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    body: JSON.stringify({ username, password }),
  })
  // The API's envelope.
  const { success, message, data } = (await answer.json()) as {
    success: boolean
    message: string
    data?: unknown
  }
  if (!success) throw new Error(`${username} is not signed in: ${message}`)
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  return { cookie, user: JSON.stringify(data) }
}

async function windowFor(browser: Browser, url: string, shot: Shot): Promise<Page> {
  const { scheme, width, visitor } = shot
  const context = await browser.newContext({
    viewport: { width, height: HEIGHTS[width] },
    colorScheme: scheme,
    locale: 'zh-CN',
    timezoneId: 'Asia/Shanghai',
    reducedMotion: 'reduce',
    ...(width === 390 ? { hasTouch: true, isMobile: true } : {}),
  })
  if (visitor !== null) {
    const [name = '', value = ''] = visitor.cookie.split('=')
    await context.addCookies([{ name, value, url }])
  }
  await context.addInitScript(
    ([user, language]) => {
      if (user !== '') localStorage.setItem('user', user)
      localStorage.setItem('language', language)
    },
    [visitor?.user ?? '', options.language] as const,
  )
  return context.newPage()
}

/** Through the DevTools protocol: Chromium can encode WebP, but Playwright has no option for it. */
async function takeScreenshot(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: QUALITY,
    captureBeyondViewport: options.full,
    ...(options.full ? { clip: await wholePage(page) } : {}),
  })
  await session.detach()
  return Buffer.from(data, 'base64')
}

async function wholePage(page: Page) {
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  return { x: 0, y: 0, width: page.viewportSize()?.width ?? 0, height, scale: 1 }
}

async function takeAll(page: Page, url: string, shot: Shot, pages: readonly PageAddress[]) {
  let bytes = 0
  for (const { name, path } of pages) {
    await page.goto(url + path, { waitUntil: 'networkidle' })
    await page.locator('h1').first().waitFor({ state: 'attached' })
    await page.waitForTimeout(SETTLE_MS)
    const content = await takeScreenshot(page)
    bytes += content.length
    await writeFile(join(options.out, `${name}-${shot.width}-${shot.scheme}.webp`), content)
  }
  await page.context().close()
  return bytes
}

function chosen(pages: readonly PageAddress[]): readonly PageAddress[] {
  if (options.only === '') return pages
  const names = options.only.split(',')
  return pages.filter(({ name }) => names.includes(name))
}

const password = randomBytes(12).toString('base64url')
await mkdir(options.out, { recursive: true })
const { url, server } = await startDemo(password)
const browser = await launchBrowser()
let bytes = 0
try {
  const visitor = await signIn(url, options.as, password)
  for (const scheme of SCHEMES.filter((one) => options.scheme === '' || one === options.scheme)) {
    for (const width of WIDTHS.filter((one) => options.width === '' || one === +options.width)) {
      for (const [who, pages] of [
        [null, chosen(VISITOR_PAGES)],
        [visitor, chosen(ROOT_PAGES)],
      ] as const) {
        const shot = { scheme, width, visitor: who }
        bytes += await takeAll(await windowFor(browser, url, shot), url, shot, pages)
      }
    }
  }
} finally {
  await browser.close()
  server.kill('SIGTERM')
}
console.log(`${options.out}: ${(bytes / 1e6).toFixed(1)} MB`)
