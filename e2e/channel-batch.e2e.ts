import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { violations } from './axe.ts'
import { loadedRows } from './expect-page.ts'
import { settled } from './settled.ts'
import { answerLikeOneApi, closeToasts, startVisit, type Visit } from './visit.ts'

/**
 * Batch actions on channels: selection across pages, then enabling, testing, copying and deleting.
 */

interface StoredChannel {
  id: number
  name: string
  status: number
  models: string
  priority: number
  group: string
}

let visit: Visit
let page: Page
let problems: string[]
let upstream: FakeUpstream

beforeAll(async () => {
  upstream = await startFakeUpstream()
  visit = await startVisit()
  for (let index = 1; index <= 13; index += 1) {
    await create({ name: `批 ${index}`, models: index === 12 ? 'fail-401' : 'old-a,old-b' })
  }
  await create({
    name: '蓝本',
    models: ['old-b', ...Array.from({ length: 20 }, (_, index) => `new-${index}`)].join(),
    priority: 7,
    group: 'vip',
  })
  await create({ name: '直通', type: 43 })
  ;({ page, problems } = await visit.open('/channel', visit.root, { width: 1440, height: 900 }))
  await settled(page)
})

afterAll(async () => {
  await visit.stop()
  await upstream.close()
  expect(problems).toEqual([])
})

// The page stays open, and deletes channels.
beforeEach(() => visit.keepProven(visit.root))

const create = (channel: Record<string, unknown>) =>
  visit.ask(visit.root, 'POST /api/channel/', {
    type: 1,
    key: 'sk-x',
    base_url: upstream.url,
    models: 'gpt-4o-mini',
    ...channel,
  })

const boxOf = (name: string) => page.getByRole('checkbox', { name: `选择「${name}」`, exact: true })
const pageBox = () => page.getByRole('checkbox', { name: '选择本页', exact: true })
const bar = () => page.getByRole('group', { name: '对选中的渠道' })
const act = (name: string) => bar().getByRole('button', { name, exact: true }).click()
const count = () => bar().getByRole('status').innerText()
const expectText = (sentence: string | RegExp) => page.getByText(sentence).first().waitFor()

async function stored(name: string): Promise<StoredChannel> {
  const found = await visit.ask<StoredChannel[]>(
    visit.root,
    `GET /api/channel/search?keyword=${encodeURIComponent(name)}`,
  )
  const channel = found.find((one) => one.name === name)
  if (channel === undefined) throw new Error(`no channel ${name}`)
  return channel
}

test('without a selection, the list shows its usual actions', async () => {
  await expect
    .poll(() => page.getByRole('button', { name: '测试全部', exact: true }).count())
    .toBe(1)
  expect(await bar().count()).toBe(0)
})

test('the selection survives paging, sorting and searching', async () => {
  const before = await loadedRows(page).first().boundingBox()
  await boxOf('批 13').check()
  await expect.poll(count).toBe('已选 1 个')
  // Selecting the first one does not move anything.
  await expect.poll(() => loadedRows(page).first().boundingBox()).toEqual(before)
  await expect.poll(() => pageBox().evaluate((box) => box.matches(':indeterminate'))).toBe(true)
  await page.getByRole('button', { name: '第 2 页', exact: true }).click()
  await boxOf('批 1').check()
  await page.getByRole('columnheader', { name: '名称' }).getByRole('button').click()
  await expect.poll(count).toBe('已选 2 个')
  await page.getByRole('button', { name: '取消排序', exact: true }).click()
  await page.getByRole('searchbox').fill('批 2')
  await boxOf('批 2').check()
  await page.getByRole('searchbox').fill('')
  await expect.poll(() => boxOf('批 13').isChecked()).toBe(true)
  await expect.poll(count).toBe('已选 3 个')
  await settled(page)
  expect(await violations(page)).toEqual([])
  await act('清除选择')
  await expect.poll(() => bar().count()).toBe(0)
})

test('the header selects a page, Shift a range, and a search all its results', async () => {
  await pageBox().focus()
  await page.keyboard.press('Space')
  await expect.poll(count).toBe('已选 10 个')
  await page.keyboard.press('Space')
  await expect.poll(() => bar().count()).toBe(0)
  await boxOf('批 13').click()
  await boxOf('批 10').click({ modifiers: ['Shift'] })
  await expect.poll(count).toBe('已选 4 个')
  await act('清除选择')
  await page.getByRole('searchbox').fill('批')
  await boxOf('批 13').check()
  await act('选择全部 13 个')
  await expect.poll(count).toBe('已选 13 个')
  await act('清除选择')
  await page.getByRole('searchbox').fill('')
})

test('disables and enables the selected channels, which stay selected', async () => {
  await boxOf('批 13').check()
  await boxOf('批 11').check()
  await act('禁用')
  await expectText('2 个渠道已禁用')
  await expect.poll(async () => (await stored('批 13')).status).toBe(2)
  expect((await stored('批 12')).status).toBe(1)
  await expect.poll(count).toBe('已选 2 个')
  await act('启用')
  await expectText('2 个渠道已启用')
  expect((await stored('批 11')).status).toBe(1)
  await closeToasts(page)
})

test('tests the selected channels and reports the number of failures and the first reason', async () => {
  await boxOf('批 12').check()
  upstream.seen()
  await act('测试')
  await expectText(/测试完成：共 3 个渠道，1 个失败。「批 12」：.*401/)
  expect(upstream.seen()).toHaveLength(3)
  await closeToasts(page)
})

test('copies fields of one channel to the selected ones after a preview', async () => {
  await boxOf('直通').check()
  await act('复制字段…')
  const dialog = page.getByRole('dialog', { name: /复制字段/ })
  await dialog.getByRole('combobox').fill('蓝本')
  await dialog.getByRole('option', { name: /蓝本/ }).click()
  await dialog.getByRole('checkbox', { name: '模型', exact: true }).check()
  await dialog.getByRole('checkbox', { name: '优先级', exact: true }).check()
  const part = (name: string) => dialog.locator('tbody').filter({ hasText: name })
  await expect.poll(() => part('批 13').innerText()).toMatch(/移除 1 项\s+old-a/)
  await expect.poll(() => part('批 13').innerText()).toMatch(/新增 20 项\s+new-0, .*另外 8 项/s)
  await expect.poll(() => part('批 13').innerText()).toMatch(/优先级\s+0\s+7/)
  await expect.poll(() => part('直通').innerText()).toContain('不复制「模型」：此类型没有')
  expect(await violations(page)).toEqual([])
  expect((await stored('批 13')).models).toBe('old-a,old-b')
  // The toast is inside the dialog: outside it could be neither read nor closed.
  const refusal = { json: { success: false, message: '数据库正忙' } }
  await page.route('**/api/channel/batch/copy', (route) => route.fulfill(refusal), { times: 1 })
  await dialog.getByRole('button', { name: '应用到 4 个渠道', exact: true }).click()
  await dialog.getByRole('alert').getByText('数据库正忙').waitFor()
  await dialog.getByRole('button', { name: '应用到 4 个渠道', exact: true }).click()
  await expectText('已更新 4 个渠道')
  const { models } = await stored('蓝本')
  expect(await stored('批 13')).toMatchObject({ models, priority: 7, group: 'default' })
  expect(await stored('直通')).toMatchObject({ models: 'gpt-4o-mini', priority: 7 })
  await closeToasts(page)
})

test('a preview without changes has a message and cannot be applied', async () => {
  await act('复制字段…')
  const dialog = page.getByRole('dialog', { name: /复制字段/ })
  await dialog.getByRole('combobox').fill('蓝本')
  await dialog.getByRole('option', { name: /蓝本/ }).click()
  await dialog.getByRole('checkbox', { name: '优先级', exact: true }).check()
  await dialog.getByText('没有可复制的内容').waitFor()
  await expect
    .poll(() => dialog.getByRole('button', { name: '应用', exact: true }).isDisabled())
    .toBe(true)
  await page.keyboard.press('Escape')
  await expect.poll(() => dialog.count()).toBe(0)
})

test('deletes the selected channels after a confirmation with their names; a missing one does not prevent it', async () => {
  await boxOf('直通').uncheck()
  const { id } = await stored('批 12')
  await visit.ask(visit.root, `DELETE /api/channel/${id}`)
  await act('删除')
  await expectText(/删除选中的 3 个渠道（「批 13」、「批 11」、「批 12」）/)
  await page.getByRole('button', { name: '删除 3 个渠道', exact: true }).click()
  await expectText('已删除 2 个渠道；另有 1 个已不存在')
  await expect.poll(() => bar().count()).toBe(0)
  await expect.poll(() => boxOf('批 13').count()).toBe(0)
  await closeToasts(page)
})

test('deleting a channel from its row deselects it', async () => {
  await boxOf('批 10').check()
  await boxOf('批 9').check()
  const row = loadedRows(page).filter({ hasText: '批 10' })
  await row.getByRole('button', { name: '删除', exact: true }).click()
  await page.getByRole('button', { name: '删除渠道', exact: true }).click()
  await expect.poll(count).toBe('已选 1 个')
  await act('清除选择')
})

test('the selection survives a visit to a form, except for deleted channels', async () => {
  const edit = (name: string) =>
    loadedRows(page)
      .filter({ hasText: name })
      .getByRole('link', { name: '编辑', exact: true })
      .click()
  await page.getByRole('columnheader', { name: '名称' }).getByRole('button').click()
  await boxOf('批 9').check()
  await boxOf('批 8').check()
  await edit('批 9')
  await page.getByRole('button', { name: '取消', exact: true }).click()
  await expect.poll(count).toBe('已选 2 个')
  await edit('批 9')
  await page.getByLabel('名称', { exact: true }).fill('批 9 改')
  await visit.ask(visit.root, `DELETE /api/channel/${(await stored('批 8')).id}`)
  await page.getByRole('button', { name: '保存', exact: true }).click()
  await expect.poll(count).toBe('已选 1 个')
  await act('删除')
  await expectText('删除选中的 1 个渠道（「批 9 改」）')
  await page.getByRole('dialog').locator(':focus').waitFor()
  await page.keyboard.press('Escape')
  await act('清除选择')
})

test('on a phone, blocks have checkboxes and the actions stay visible', async () => {
  const phone = await visit.open('/channel', visit.root, { width: 390, height: 844 })
  await settled(phone.page)
  await phone.page.getByRole('checkbox', { name: '选择「批 7」', exact: true }).click()
  const group = phone.page.getByRole('group', { name: '对选中的渠道' })
  await group.getByRole('button', { name: '选择本页', exact: true }).click()
  await expect.poll(() => group.getByRole('status').innerText()).toBe('已选 10 个')
  const place = await group.getByRole('button', { name: '删除', exact: true }).boundingBox()
  expect((place?.y ?? 0) + (place?.height ?? 0)).toBeLessThanOrEqual(844)
  expect(await violations(phone.page)).toEqual([])
  expect(phone.problems).toEqual([])
  await phone.close()
})

test('is hidden for servers without batch operations', async () => {
  await answerLikeOneApi(page)
  await page.reload()
  await settled(page)
  await expect.poll(() => loadedRows(page).count()).toBeGreaterThan(0)
  expect(await page.getByRole('checkbox').count()).toBe(0)
})
