import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const require = createRequire(import.meta.url)
// Of the version that the package for browsers brings along, but run without that package: it
// carries every check that passed out of the page, which takes five times as long as the checks.
const axePath = createRequire(require.resolve('@axe-core/playwright')).resolve(
  'axe-core/axe.min.js',
)
const source = readFile(axePath, 'utf8')

/** What axe answers of a rule that a page breaks, as far as we read it. */
interface Violation {
  id: string
  nodes: readonly { target: readonly unknown[] }[]
}

// Texts: who calls this need not know a page's names.
const IS_THERE = "'axe' in window"
const LOOK = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`

/** What axe finds wrong with a page as it stands, by all its rules, in words that tell where. */
export async function violations(page: Page): Promise<string[]> {
  const isThere = await page.evaluate<boolean>(IS_THERE)
  if (!isThere) await page.evaluate(await source)
  const found = await page.evaluate<readonly Violation[]>(LOOK)
  return found.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
}
