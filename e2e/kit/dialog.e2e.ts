import { expect, test } from 'vitest'
import { focused, useGallery } from './gallery-page.ts'

const open = useGallery('dialogs')

test('a dialog begins in its field, keeps the focus within, and gives it back on Escape', async () => {
  const { page, reported } = await open()
  await page.getByRole('button', { name: '打开对话框' }).click()
  await expect.poll(() => focused(page)).toBe('新名称')
  const dialog = page.getByRole('dialog', { name: '改名' })
  for (let step = 0; step < 6; step += 1) {
    await page.keyboard.press('Tab')
    const isOutside = await dialog.evaluate((box) => {
      const { activeElement } = document
      return activeElement !== document.body && !box.contains(activeElement)
    })
    expect(isOutside).toBe(false)
  }
  await page.keyboard.press('Escape')
  await expect.poll(reported).toBe('')
  await expect.poll(() => focused(page)).toBe('打开对话框')
})

test('what lies behind a dialog cannot be pressed, and its toasts can', async () => {
  const { page } = await open()
  await page.getByRole('button', { name: '打开对话框' }).click()
  const behind = page.getByRole('button', { name: '打开侧栏' })
  await expect(behind.click({ timeout: 500 })).rejects.toThrow('Timeout')
  await page.getByRole('button', { name: '改名' }).click()
  const toast = page.getByRole('dialog').getByText('没有改成')
  await toast.waitFor()
  await page.locator('.mantine-Notification-closeButton').click()
  await toast.waitFor({ state: 'detached' })
})

test('a side panel takes the focus, leaves the page usable, and gives the focus back', async () => {
  const { page, reported } = await open()
  const opener = page.getByRole('button', { name: '打开侧栏' })
  await opener.click()
  const panel = page.getByRole('complementary', { name: '详情' })
  await expect.poll(() => panel.evaluate((box) => box === document.activeElement)).toBe(true)
  await page.keyboard.press('Escape')
  await expect.poll(reported).toBe('')
  await expect.poll(() => focused(page)).toBe('打开侧栏')
})

test('a task keeps the focus until it is ended, by Escape or by its button', async () => {
  const { page, reported } = await open()
  const task = page.getByRole('button', { name: '清理' })
  for (const end of ['Escape', 'button'] as const) {
    await task.click()
    await expect.poll(reported).toBe('task')
    await expect.poll(() => focused(page)).toBe('天数')
    await expect.poll(() => task.getAttribute('aria-expanded')).toBe('true')
    if (end === 'Escape') await page.keyboard.press('Escape')
    else await page.getByRole('button', { name: '开始' }).click()
    await expect.poll(reported).toBe('')
    await expect.poll(() => focused(page)).toBe('清理')
  }
})
