import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSettings, type SettingsVisit } from './settings-visit.ts'
import type { Visit } from './visit.ts'

/** 设置 → 模型能力: the operator's entries, their effect, and the data that they extend. */

let settings: SettingsVisit
let visit: Visit
let page: Page

beforeAll(async () => {
  settings = await startSettings('model')
  ;({ visit, page } = settings)
  await visit.api('POST', '/api/channel/', {
    name: 'c',
    type: 1,
    key: 'k',
    models: 'zephyr-1,other',
    group: 'default',
  })
})
afterAll(() => visit.stop())

const field = () => page.getByRole('textbox', { name: '模型能力' })
const preview = () => page.getByRole('button', { name: '检查并预览', exact: true }).click()

test('an invalid entry is reported with its error', async () => {
  await field().fill('{"zephyr-1": {"reasoning": "much"}}')
  await preview()
  await expect
    .poll(() => page.getByRole('alert').textContent())
    .toBe('「模型能力」（ModelCapabilities）的值无效：「zephyr-1」：reasoning：需要 true 或 false')
})

test('a preview lists the served models that match, and the changes', async () => {
  await field().fill('{"zephyr-*": {"limit": {"output": 500}}, "absent": {}}')
  await preview()
  const matched = page.getByRole('listitem').filter({ hasText: 'zephyr-1' })
  await expect.poll(() => matched.textContent()).toContain('limit.output未知 → 500')
  await expect
    .poll(() => page.getByText('没有匹配到模型的条目：').textContent())
    .toContain('absent')
})

test('shows what was saved', async () => {
  await settings.save('自定义模型能力')
  expect(await settings.option('ModelCapabilities')).toContain('zephyr-*')
  await expect.poll(() => page.getByText('models.dev (anomalyco/models.dev').isVisible()).toBe(true)
})
