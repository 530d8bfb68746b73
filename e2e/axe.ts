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

/** What `axe.run` answers, as far as we read it. */
interface Results {
  violations: readonly { id: string; nodes: readonly { target: readonly unknown[] }[] }[]
}

/** What axe finds wrong with a page as it stands, by all its rules, in words that tell where. */
export async function violations(page: Page): Promise<string[]> {
  const isThere = await page.evaluate(() => 'axe' in window)
  if (!isThere) await page.evaluate(await source)
  return page.evaluate(async () => {
    // The script above has put it there.
    const { axe } = window as unknown as {
      axe: { run(where: Document, options: object): Promise<Results> }
    }
    const { violations: found } = await axe.run(document, { resultTypes: ['violations'] })
    return found.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  })
}
