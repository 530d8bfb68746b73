/**
 * Measures the console in a real browser: accessibility of every page, layout shift, response to
 * clicks on a long list, and Lighthouse scores if npm can fetch it.
 */
import { execFile } from 'node:child_process'
import os from 'node:os'
import { parseArgs, promisify } from 'node:util'
import { chromium, type Browser, type BrowserContext } from 'playwright-core'
import { violations } from '../../e2e/axe.ts'
import { launchBrowser } from '../../e2e/browser.ts'
import { ROOT_PAGES, VISITOR_PAGES, type PageAddress } from '../../e2e/page-list.ts'
import { createGatehouse, ROOT_PASSWORD } from '../gatehouse-server.ts'
import { describeMachine, machineClock, markdownTable, median, publish } from '../report.ts'
import { freePort } from '../../tools/free-port.ts'

const LIGHTHOUSE = 'lighthouse@13.5.0'
const CATEGORIES = ['performance', 'accessibility', 'best-practices', 'seo'] as const
const LIGHTHOUSE_PAGES: readonly PageAddress[] = [
  { name: 'login', path: '/login' },
  { name: 'token', path: '/token' },
  { name: 'redemption', path: '/redemption' },
  { name: 'log', path: '/log' },
]
/** Codes created per request. */
const BATCH = 100
const LIMIT_MS = 100
const CLICKS = 10
/** Time for late content to arrive, in milliseconds. */
const SETTLE_MS = 500
/** Runs in the page: sums the layout shifts after the first paint. */
const COUNT_SHIFTS = `
  window.shifted = 0
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) window.shifted += value
  }).observe({ type: 'layout-shift', buffered: true })`
/** Runs in the page: records the time from each interaction to the next paint. */
const KEEP_INTERACTIONS = `
  window.interactions = []
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries()) {
      if (interactionId > 0) window.interactions.push(duration)
    }
  }).observe({ type: 'event', durationThreshold: 16, buffered: true })`
const SCREENS = [
  { width: 360, scheme: 'light' },
  { width: 360, scheme: 'dark' },
  { width: 1440, scheme: 'light' },
  { width: 1440, scheme: 'dark' },
] as const

interface Session {
  url: string
  cookie: string
  user: string
}

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: 'string', default: '10000' },
      only: { type: 'string', default: 'looks,clicks' },
    },
  })
  const loadBefore = os.loadavg()[0] ?? 0
  const clock = machineClock()
  const gatehouse = await createGatehouse({ database: 'sqlite' })
  const server = await gatehouse.start()
  const port = await freePort()
  const browser = await launchBrowser([`--remote-debugging-port=${port}`])
  try {
    const session = await signIn(gatehouse.url)
    const parts = values.only.split(',')
    await makeCodes(session, Number(values.rows))
    const looks = parts.includes('looks') ? await lookAtAll(browser, session) : []
    const clicks = parts.includes('clicks') ? await clickThrough(browser, session) : []
    const scores = parts.includes('lighthouse') ? await lighthouse(port, session) : []
    const machine = describeMachine(clock, loadBefore)
    const rows = Number(values.rows)
    const markdown = describe({ machine, rows, looks, clicks, scores })
    publish('console', markdown, { machine, rows, looks, clicks, scores })
  } finally {
    await browser.close()
    await server.stop()
    await gatehouse.remove()
  }
}

async function signIn(url: string): Promise<Session> {
  const answer = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    body: JSON.stringify({ username: 'root', password: ROOT_PASSWORD }),
  })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { data } = Object(await answer.json())
  return { url, cookie, user: JSON.stringify(data) }
}

async function makeCodes({ url, cookie }: Session, rows: number): Promise<void> {
  for (let made = 0; made < rows; made += BATCH) {
    const answer = await fetch(`${url}/api/redemption/`, {
      method: 'POST',
      headers: { cookie },
      body: JSON.stringify({ name: `batch ${made / BATCH}`, quota: 1000 + made, count: BATCH }),
    })
    const { success, message } = Object(await answer.json())
    if (success !== true) throw new Error(`codes are not made: ${message}`)
  }
}

async function signedIn(context: BrowserContext, { url, cookie, user }: Session): Promise<void> {
  const [name = '', value = ''] = cookie.split('=')
  await context.addCookies([{ name, value, url }])
  const content = `localStorage.setItem('user', ${JSON.stringify(user)})`
  await context.addInitScript({ content })
}

interface Look {
  page: string
  width: number
  scheme: string
  violations: number
  /** Sum of layout shifts after the first paint. */
  shift: number
}

async function lookAtAll(browser: Browser, session: Session): Promise<Look[]> {
  const looks: Look[] = []
  for (const { width, scheme } of SCREENS) {
    for (const [pages, isSignedIn] of [
      [VISITOR_PAGES, false],
      [ROOT_PAGES, true],
    ] as const) {
      const context = await browser.newContext({
        viewport: { width, height: 800 },
        colorScheme: scheme,
        reducedMotion: 'reduce',
      })
      if (isSignedIn) await signedIn(context, session)
      const page = await context.newPage()
      await page.addInitScript({ content: COUNT_SHIFTS })
      for (const { name, path } of pages) {
        await page.goto(session.url + path, { waitUntil: 'networkidle' })
        await page.waitForTimeout(SETTLE_MS)
        const shift = await page.evaluate<number>('window.shifted')
        const found = await violations(page)
        looks.push({ page: name, width, scheme, violations: found.length, shift })
        if (found.length > 0 || shift > 0) {
          process.stdout.write(`${name}, ${width} ${scheme}: ${found.join('; ')}, ${shift}\n`)
        }
      }
      await context.close()
    }
  }
  return looks
}

interface Click {
  what: string
  /** From the input to the next paint. */
  medianMs: number
  worstMs: number
}

/** Interaction to next paint, as the browser reports it, on the list of all codes. */
async function clickThrough(browser: Browser, session: Session): Promise<Click[]> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  await signedIn(context, session)
  const page = await context.newPage()
  await page.addInitScript({ content: KEEP_INTERACTIONS })
  await page.goto(`${session.url}/redemption`, { waitUntil: 'networkidle' })
  const steps: Record<string, () => Promise<void>> = {
    'next page': () => page.getByRole('button', { name: '下一页' }).click(),
    'sort by a head': () => page.getByRole('button', { name: '额度' }).click(),
    'open a question': () => page.getByRole('button', { name: '删除' }).first().click(),
    'type in the search': () => page.getByRole('searchbox').press('9'),
  }
  const clicks: Click[] = []
  for (const [what, step] of Object.entries(steps)) {
    const found: number[] = []
    for (let i = 0; i < CLICKS; i += 1) {
      await page.evaluate('window.interactions.length = 0')
      await step()
      await page.waitForTimeout(SETTLE_MS)
      const durations = await page.evaluate<number[]>('window.interactions')
      // The browser reports nothing below one frame.
      found.push(Math.max(16, ...durations))
      if (what === 'open a question') await page.keyboard.press('Escape')
    }
    clicks.push({ what, medianMs: median(found), worstMs: Math.max(...found) })
  }
  await context.close()
  return clicks
}

interface Score {
  page: string
  form: string
  scores: number[]
}

/** Uses the browser's default profile, in which Lighthouse opens its page too. */
async function lighthouse(port: number, session: Session): Promise<Score[]> {
  const attached = await chromium.connectOverCDP(`http://127.0.0.1:${port}`)
  const [profile] = attached.contexts()
  if (profile === undefined) throw new Error('the browser has no profile')
  const [name = '', value = ''] = session.cookie.split('=')
  const page = await profile.newPage()
  await page.goto(`${session.url}/about`)
  const found: Score[] = []
  for (const { name: pageName, path } of LIGHTHOUSE_PAGES) {
    const isVisitor = path === '/login'
    await profile.clearCookies()
    if (!isVisitor) await profile.addCookies([{ name, value, url: session.url }])
    const remember = `localStorage.setItem('user', ${JSON.stringify(session.user)})`
    await page.evaluate(isVisitor ? 'localStorage.clear()' : remember)
    for (const form of ['mobile', 'desktop']) {
      const scores = await judge(session.url + path, port, form)
      found.push({ page: pageName, form, scores })
      process.stdout.write(`${pageName}, ${form}: ${scores.join(' / ')}\n`)
    }
  }
  return found
}

async function judge(address: string, port: number, form: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)(
    'npx',
    [
      '--yes',
      LIGHTHOUSE,
      address,
      `--port=${port}`,
      '--output=json',
      '--quiet',
      '--disable-storage-reset',
      `--only-categories=${CATEGORIES.join(',')}`,
      ...(form === 'desktop' ? ['--preset=desktop'] : []),
    ],
    { maxBuffer: 64 * 2 ** 20 },
  )
  const { categories } = JSON.parse(stdout)
  return CATEGORIES.map((category) => Math.round(categories[category].score * 100))
}

interface Findings {
  machine: string
  rows: number
  looks: Look[]
  clicks: Click[]
  scores: Score[]
}

function describe({ machine, rows, looks, clicks, scores }: Findings): string {
  const parts = [
    ...(looks.length === 0 ? [] : [lookText(looks)]),
    ...(clicks.length === 0 ? [] : [clickText(clicks, rows)]),
    ...(scores.length === 0 ? [] : [scoreText(scores)]),
  ]
  return ['# Console', machine, ...parts].join('\n\n')
}

function lookText(looks: readonly Look[]): string {
  const found = looks.reduce((sum, look) => sum + look.violations, 0)
  const worst = Math.max(...looks.map(({ shift }) => shift))
  return `${looks.length} looks at pages (360 and 1440 px, light and dark): ${found} violations that
axe finds, largest layout shift ${worst.toFixed(4)}.`
}

function clickText(clicks: readonly Click[], rows: number): string {
  const slow = clicks.filter(({ medianMs }) => medianMs > LIMIT_MS).length
  const table = markdownTable({
    columns: ['interaction', 'to next paint, ms (median)', 'worst'],
    rows: clicks.map(({ what, medianMs, worstMs }) => [what, `${medianMs}`, `${worstMs}`]),
  })
  return `A list of ${rows.toLocaleString('en')} codes, ${CLICKS} times each; medians over ${LIMIT_MS} ms: ${slow}.

${table}`
}

function scoreText(scores: readonly Score[]): string {
  const table = markdownTable({
    columns: ['page', 'form', ...CATEGORIES],
    rows: scores.map((score) => [score.page, score.form, ...score.scores.map(String)]),
  })
  return `Marks of ${LIGHTHOUSE}:\n\n${table}`
}
