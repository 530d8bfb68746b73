/**
 * Takes a screenshot of a page:
 *
 *     node tools/screenshot.ts URL out.png [--width 1440] [--height 900] [--dark] [--full]
 *       [--cookie session=…] [--storage key=json] [--language zh-CN] [--wait 'css selector']
 *
 * `--cookie` and `--storage` may be repeated; storage is set before the page's scripts run. Prints
 * console errors and failed requests; the exit code is 1 after an uncaught error.
 */
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../e2e/browser.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    width: { type: 'string', default: '1440' },
    height: { type: 'string', default: '900' },
    dark: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    cookie: { type: 'string', multiple: true, default: [] },
    storage: { type: 'string', multiple: true, default: [] },
    language: { type: 'string', default: 'zh-CN' },
    wait: { type: 'string' },
  },
})

const [url, path] = positionals
if (!url || !path) {
  console.error('Usage: node tools/screenshot.ts URL out.png [--width 1440] [--dark] [--full] …')
  process.exit(2)
}

const browser = await launchBrowser()
try {
  const context = await browser.newContext({
    viewport: { width: Number(options.width), height: Number(options.height) },
    colorScheme: options.dark ? 'dark' : 'light',
    locale: options.language,
  })
  await context.addCookies(
    options.cookie.map(pair).map(([name, value]) => ({ name, value, url: new URL(url).origin })),
  )
  for (const [key, value] of options.storage.map(pair)) {
    await context.addInitScript(`localStorage.setItem(${quoted(key)}, ${quoted(value)})`)
  }
  const page = await context.newPage()
  report(page)
  await page.goto(url, { waitUntil: 'networkidle' })
  if (options.wait) await page.locator(options.wait).first().waitFor()
  await page.screenshot({ path, fullPage: options.full })
  console.log(`${path}: ${await page.title()} (${page.url()})`)
} finally {
  await browser.close()
}

function report(page: Page): void {
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) {
      console.error(`${message.type()}: ${message.text()}`)
    }
  })
  page.on('requestfailed', (request) => {
    console.error(`failed: ${request.method()} ${request.url()} ${request.failure()?.errorText}`)
  })
  page.on('pageerror', (error) => {
    console.error(`uncaught: ${error.message}`)
    process.exitCode = 1
  })
}

function pair(text: string): [string, string] {
  const [name = '', ...rest] = text.split('=')
  return [name, rest.join('=')]
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
