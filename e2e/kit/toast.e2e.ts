import { expect, test } from 'vitest'
import { useGallery } from './gallery-page.ts'

const open = useGallery('toasts')

test('trouble is an alert, good news a status, and the same words stand there once', async () => {
  const { page } = await open()
  await page.getByRole('button', { name: 'error' }).click()
  await page.getByRole('button', { name: 'error' }).click()
  await page.getByRole('alert').filter({ hasText: '说 error' }).waitFor()
  await expect.poll(() => page.getByText('说 error').count()).toBe(1)
  await page.getByRole('button', { name: 'success' }).click()
  await page.getByRole('status').filter({ hasText: '说 success' }).waitFor()
})

test('a toast goes by itself after its time; a notice stays until it is closed', async () => {
  const { page, reported } = await open()
  await page.clock.install({ time: 0 })
  await page.reload()
  await page.getByRole('button', { name: 'notice' }).waitFor()
  // Only the test moves the time.
  await page.clock.pauseAt(3_600_000)
  await page.getByRole('button', { name: 'notice' }).click()
  await page.getByRole('button', { name: 'error' }).click()
  await page.clock.runFor(4000)
  await page.getByText('说 error').waitFor()
  await page.clock.runFor(2000)
  await page.getByText('说 error').waitFor({ state: 'detached' })
  await page.clock.runFor(60_000)
  await page.getByText('公告').waitFor()
  await page.getByRole('button', { name: '关闭' }).click()
  await page.clock.runFor(1000)
  await page.getByText('公告').waitFor({ state: 'detached' })
  await expect.poll(() => reported()).toBe('closed')
})

test('a form that is sent again takes the complaints of the last attempt away', async () => {
  const { page } = await open()
  await page.getByRole('button', { name: 'warning' }).click()
  await page.getByText('说 warning').waitFor()
  await page.getByRole('button', { name: '再试' }).click()
  await expect.poll(() => page.getByText('说 warning').count()).toBe(0)
})
