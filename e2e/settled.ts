import type { Page } from 'playwright-core'
import { WAIT_MS } from './browser.ts'

/** Requests of a page without a response so far. */
const underWay = new WeakMap<Page, Set<unknown>>()

/** Must be called before the page navigates, so that `settled` can track its requests. */
export function watchCalls(page: Page): void {
  const calls = new Set<unknown>()
  underWay.set(page, calls)
  page.on('request', (request) => calls.add(request))
  page.on('requestfinished', (request) => calls.delete(request))
  page.on('requestfailed', (request) => calls.delete(request))
}

/**
 * Waits until a watched page is complete: its heading is present, no loading placeholder is shown,
 * and no request is pending, twice in a row with a frame in between. Faster and stricter than
 * waiting for half a second without traffic.
 */
export async function settled(page: Page): Promise<void> {
  const calls = underWay.get(page)
  if (calls === undefined) throw new Error('call watchCalls() before this page navigates')
  let quietLooks = 0
  const end = performance.now() + WAIT_MS
  while (performance.now() < end) {
    const isDrawn = await page.evaluate(async () => {
      await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 0)))
      const isLoading = document.querySelector('[data-loading], [aria-busy=true]') !== null
      return document.querySelector('h1') !== null && !isLoading
    })
    quietLooks = isDrawn && calls.size === 0 ? quietLooks + 1 : 0
    if (quietLooks === 2) return
  }
  const shown = await page.evaluate(() => document.body.innerHTML)
  throw new Error(`${page.url()} does not settle; ${calls.size} calls are under way: ${shown}`)
}
