import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** Something is on the page now or soon. */
export const expectSeen = (locator: Locator): Promise<void> =>
  expect(locator.first().waitFor()).resolves.toBeUndefined()

/** The page is at an address now or soon; `**` stands for what comes before. */
export const expectAt = (page: Page, address: string): Promise<void> =>
  expect(page.waitForURL(address)).resolves.toBeUndefined()
