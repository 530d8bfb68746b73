import type { Locator, Page } from 'playwright-core'
import { settled } from './settled.ts'
import { closeToasts, startVisit, type Visit } from './visit.ts'

/** A server, and root on one tab of its settings. */
export interface SettingsVisit {
  visit: Visit
  page: Page
  /** The form of a group of settings. */
  group(name: string): Locator
  /** The stored value of an option. */
  option(key: string): Promise<string>
  /** Clicks the button of a group without waiting. */
  press(name: string): Promise<void>
  /** Clicks the button and waits for the server's response. */
  save(name: string): Promise<void>
}

export async function startSettings(
  tab: 'operation' | 'model' | 'system' | 'other',
  env: Record<string, string> = {},
): Promise<SettingsVisit> {
  const visit = await startVisit({ env })
  const { page } = await visit.open(`/setting?tab=${tab}`, visit.root)
  await settled(page)
  const group = (name: string) => page.getByRole('form', { name, exact: true })
  async function press(name: string): Promise<void> {
    await closeToasts(page)
    await visit.keepProven(visit.root)
    await group(name)
      .getByRole('button', { name: /^(保存|更新)/ })
      .click()
  }
  return {
    visit,
    page,
    group,
    press,
    async option(key) {
      const options = await visit.ask<{ key: string; value: string }[]>(
        visit.root,
        'GET /api/option/',
      )
      const found = options.find((option) => option.key === key)
      if (found === undefined) throw new Error(`there is no option ${key}`)
      return found.value
    },
    async save(name) {
      await press(name)
      await page.getByText('操作成功完成！').first().waitFor()
      await closeToasts(page)
    },
  }
}
