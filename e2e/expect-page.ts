import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/*
 * A page answers in its own time. What a test reads of one waits, by these or by `expect.poll`;
 * that something is not there is asked after `settled` or after what proves that the page is done.
 */

/** Something is on the page now or soon. */
export const expectSeen = (locator: Locator): Promise<void> =>
  expect(locator.first().waitFor()).resolves.toBeUndefined()

/** The page is at an address now or soon; `**` stands for what comes before. */
export const expectAt = (page: Page, address: string): Promise<void> =>
  expect(page.waitForURL(address)).resolves.toBeUndefined()

/** The rows of the table in view that have come: while they are on their way, others stand there. */
export const loadedRows = (page: Page): Locator =>
  page.locator('table[aria-busy=false] > tbody > tr')

/** What stands above the columns of the table in view. */
export const columnHeads = async (page: Page): Promise<string[]> => {
  const heads = await page.getByRole('columnheader').allInnerTexts()
  return heads.map((head) => head.trim())
}

/** The columns of the table in view that a mouse does not reach: cut off, or under others. */
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

/** Tops of what can be done in the first row: on one line they are one. */
export const actionTops = async (page: Page): Promise<number[]> => {
  const actions = loadedRows(page).first().getByRole('cell').last().locator('button, a')
  const tops = await actions.evaluateAll((all) => all.map((it) => it.getBoundingClientRect().top))
  return [...new Set(tops)]
}

/** What somebody would paste. */
export const clipboard = (page: Page): Promise<string> =>
  page.evaluate(() => navigator.clipboard.readText())

/** A page of somebody else's in ours can do what chats and documents need, and no more. */
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
