import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const require = createRequire(import.meta.url)
// The axe-core version of the browser package, run without that package: it transfers every passed
// check out of the page, which takes five times as long as the checks themselves.
const axePath = createRequire(require.resolve('@axe-core/playwright')).resolve(
  'axe-core/axe.min.js',
)
const source = readFile(axePath, 'utf8')

/** The part of an axe violation that we read. */
interface Violation {
  id: string
  nodes: readonly { target: readonly unknown[] }[]
}

// Scripts as strings, because the page's globals have no types here.
const IS_THERE = "'axe' in window"
const look = (rules: string): string =>
  `axe.run(document, { resultTypes: ['violations']${rules} }).then(({ violations }) => violations)`
const LOOK = look('')
const LOOK_AT_CONTRAST = look(", runOnly: ['color-contrast']")

/**
 * Runs all axe rules on the page and returns each violation with its location. `isOnlyContrast`:
 * only the rule of colors, for a page that passed the others in the other color scheme.
 */
export async function violations(page: Page, isOnlyContrast = false): Promise<string[]> {
  const isThere = await page.evaluate<boolean>(IS_THERE)
  if (!isThere) await page.evaluate(await source)
  const found = await page.evaluate<readonly Violation[]>(isOnlyContrast ? LOOK_AT_CONTRAST : LOOK)
  return found.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
}
