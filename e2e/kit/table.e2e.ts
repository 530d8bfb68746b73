import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectSeen, loadedRows } from '../expect-page.ts'
import { focused, useGallery } from './gallery-page.ts'

const open = useGallery('table')

const weights = async (page: Page): Promise<number[]> => {
  const texts = await loadedRows(page).locator('td:nth-child(2)').allInnerTexts()
  return texts.map(Number)
}
const ascending = (values: number[]): number[] => values.toSorted((a, b) => a - b)

test('a head sorts all rows, its second press the other way, and the note ends it', async () => {
  const { page } = await open()
  const head = page.getByRole('columnheader', { name: '重量' })
  const button = head.getByRole('button')
  await expect.poll(async () => (await weights(page)).length).toBe(10)
  const before = await weights(page)
  await button.click()
  await expect.poll(() => head.getAttribute('aria-sort')).toBe('ascending')
  const sorted = await weights(page)
  expect(sorted).toEqual(ascending(sorted))
  await button.press('Enter')
  await expect.poll(() => head.getAttribute('aria-sort')).toBe('descending')
  expect((await weights(page))[0]).toBeGreaterThan(90)
  await page.getByRole('button', { name: '取消排序' }).click()
  await expect.poll(() => weights(page)).toEqual(before)
  await expect.poll(() => head.getAttribute('aria-sort')).toBeNull()
})

test('pages are walked through by keyboard, and the ends lead nowhere', async () => {
  const { page } = await open()
  const next = page.getByRole('button', { name: '下一页' })
  const previous = page.getByRole('button', { name: '上一页' })
  await expect.poll(() => previous.getAttribute('aria-disabled')).toBe('true')
  await page.getByText('1–10 / 25').waitFor()
  await next.press('Enter')
  await page.getByText('11–20 / 25').waitFor()
  await next.press('Enter')
  await page.getByText('21–25 / 25').waitFor()
  await expect.poll(() => next.getAttribute('aria-disabled')).toBe('true')
  // On the last page the button for the next page keeps the focus.
  await expect.poll(() => focused(page)).toBe('下一页')
  await page.getByRole('button', { name: '第 1 页' }).click()
  await page.getByText('1–10 / 25').waitFor()
  const current = page.locator('[aria-current="page"]')
  await expect.poll(() => current.getAttribute('aria-label')).toBe('第 1 页')
})

test('a row is opened by a click, its button by keyboard, and text that is marked is no click', async () => {
  const { page, reported } = await open()
  const rows = page.locator('tbody tr')
  await rows.nth(1).click()
  await expect.poll(reported).toContain('"opened":2')
  await expect.poll(() => rows.nth(1).getAttribute('data-open')).toBe('true')
  await rows.nth(2).getByRole('button').press('Enter')
  await expect.poll(reported).toContain('"opened":3')
  await rows.nth(0).locator('td').first().dblclick()
  // The first of the two clicks opens; the marked word does not close it again.
  await expect.poll(reported).toContain('"opened":1')
})

test('boxes choose a row, a range with Shift, and the page', async () => {
  const { page, reported } = await open()
  const boxes = page.locator('tbody').getByRole('checkbox')
  await boxes.nth(1).press('Space')
  await expect.poll(reported).toContain('"chosen":1')
  await boxes.nth(4).click({ modifiers: ['Shift'] })
  await expect.poll(reported).toContain('"chosen":4')
  const all = page.getByRole('checkbox', { name: '选择本页' })
  await expect.poll(() => all.evaluate((box: HTMLInputElement) => box.indeterminate)).toBe(true)
  await all.click()
  await expect.poll(reported).toContain('"chosen":10')
  await page.getByText('已选 10 个').waitFor()
  await page.getByRole('button', { name: '清除选择' }).click()
  await expect.poll(reported).toContain('"chosen":0')
  await expect.poll(() => page.getByText('已选').count()).toBe(0)
})

test('in a narrow window rows are blocks', async () => {
  const { page } = await open()
  await page.setViewportSize({ width: 390, height: 800 })
  await page.getByRole('table').waitFor({ state: 'detached' })
  await expectSeen(page.getByText('水果 A').first())
})
