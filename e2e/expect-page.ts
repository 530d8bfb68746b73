import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/* Pages respond asynchronously. Tests wait for content with these functions or `expect.poll`.
   The absence of content is asserted after `settled`, or after something that proves that the
   page is complete. */

/** Waits until something is on the page. */
export const expectSeen = (locator: Locator): Promise<void> =>
  expect(locator.first().waitFor()).resolves.toBeUndefined()

/** Waits until the page is at an address; `**` matches any prefix. */
export const expectAt = (page: Page, address: string): Promise<void> =>
  expect(page.waitForURL(address)).resolves.toBeUndefined()

/** Loaded rows of the visible table: while it loads, it shows the previous ones. */
export const loadedRows = (page: Page): Locator =>
  page.locator('table[aria-busy=false] > tbody > tr')

/** Column heads of the visible table. */
export const columnHeads = async (page: Page): Promise<string[]> => {
  const heads = await page.getByRole('columnheader').allInnerTexts()
  return heads.map((head) => head.trim())
}

/** Columns of the visible table that a mouse cannot reach: cut off, or covered. */
export const hiddenColumns = (page: Page): Promise<string[]> =>
  loadedRows(page)
    .first()
    .getByRole('cell')
    .evaluateAll((cells) =>
      cells
        .filter((cell) => {
          const { left, right, top, height } = cell.getBoundingClientRect()
          const ends = [left + 1, (left + right) / 2, right - 1]
          return ends.some((x) => !cell.contains(document.elementFromPoint(x, top + height / 2)))
        })
        .map((cell) => cell.textContent),
    )

/** Distinct top positions of the actions in the first row: a single one if they fit on one line. */
export const actionTops = async (page: Page): Promise<number[]> => {
  const actions = loadedRows(page).first().getByRole('cell').last().locator('button, a')
  const tops = await actions.evaluateAll((all) => all.map((it) => it.getBoundingClientRect().top))
  return [...new Set(tops)]
}

/** The text that a paste would insert. */
export const clipboard = (page: Page): Promise<string> =>
  page.evaluate(() => navigator.clipboard.readText())

/**
 * An embedded page of another origin has the permissions that chats and documents need, and no
 * others.
 */
export async function expectSandboxed(frame: Locator): Promise<void> {
  const rights = await frame.getAttribute('sandbox')
  expect(rights?.split(' ').toSorted()).toEqual([
    'allow-downloads',
    'allow-forms',
    'allow-modals',
    'allow-popups',
    'allow-same-origin',
    'allow-scripts',
  ])
}
