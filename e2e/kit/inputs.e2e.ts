import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { focused, useGallery } from './gallery-page.ts'

const open = useGallery('inputs')

const secondsOf = (stamp: string): number => Date.parse(`${stamp.replace(' ', 'T')}Z`) / 1000
const START = '2027-01-31 08:00:00'
const start = (page: Page) => page.getByRole('textbox', { name: '开始' })

test('a moment is taken by Enter and by leaving, and Escape puts the old one back', async () => {
  const { page, reported } = await open()
  await start(page).fill(START)
  await expect.poll(() => reported()).toContain('"start":0')
  await start(page).press('Enter')
  await expect.poll(reported).toContain(`"start":${secondsOf(START)}`)
  await start(page).fill('2027-02-01 00:00:00')
  await start(page).press('Escape')
  await expect.poll(() => start(page).inputValue()).toBe(START)
  await start(page).fill('')
  await page.getByRole('textbox', { name: '结束' }).focus()
  await expect.poll(reported).toContain('"start":0')
})

test('what is no moment is marked and not taken', async () => {
  const { page, reported } = await open()
  for (const wrong of ['2027-01-31', '2027-13-01 00:00:00', 'yesterday']) {
    await start(page).fill(wrong)
    await start(page).press('Enter')
    await expect
      .poll(async () => [wrong, await start(page).getAttribute('aria-invalid')])
      .toEqual([wrong, 'true'])
    await expect.poll(() => reported()).toContain('"start":0')
  }
})

test('a day is chosen from the calendar by keyboard: a range begins and ends with its days', async () => {
  const { page, reported } = await open()
  await start(page).fill(START)
  await start(page).press('Enter')
  await page.getByRole('button', { name: '开始：打开日历' }).press('Enter')
  await page.getByRole('button', { name: '2027 年 1 月 15 日' }).press('Enter')
  await expect.poll(reported).toContain(`"start":${secondsOf('2027-01-15 00:00:00')}`)
  await expect.poll(() => focused(page)).toBe('开始：打开日历')
  await page.getByRole('button', { name: '结束：打开日历' }).press('Enter')
  await page.getByRole('button', { name: '下个月' }).press('Enter')
  await page.getByRole('button', { name: '2027 年 2 月 20 日' }).press('Enter')
  await expect.poll(reported).toContain(`"end":${secondsOf('2027-02-20 23:59:59')}`)
})

test('points show what they are worth, as far as they are points', async () => {
  const { page, reported } = await open()
  const points = page.getByLabel('额度')
  await points.fill('1250000')
  await page.getByText('等价 $2.50').waitFor()
  for (const wrong of ['-1', '1.5', '1e3', '１２', '1125899906842625', 'abc']) {
    await points.fill(wrong)
    await expect.poll(async () => [wrong, await page.getByText('等价').count()]).toEqual([wrong, 0])
  }
  await expect.poll(() => reported()).toContain('"points":"abc"')
})

test('a number in a row is saved by Enter, given up by Escape, and comes back when it is refused', async () => {
  const { page, reported } = await open()
  const weight = page.getByRole('textbox', { name: '权重' })
  await weight.fill('-7')
  await weight.press('Enter')
  await expect.poll(reported).toContain('"weight":-7')
  await weight.fill('8')
  await weight.press('Escape')
  await expect.poll(() => weight.inputValue()).toBe('-7')
  await weight.fill('abc')
  await weight.press('Enter')
  await expect.poll(reported).toContain('"wrong":1')
  await expect.poll(() => weight.inputValue()).toBe('-7')
  await weight.fill('101')
  await weight.press('Enter')
  await expect.poll(() => weight.inputValue()).toBe('-7')
  await expect.poll(() => reported()).toContain('"weight":-7')
})
