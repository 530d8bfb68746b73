import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { callModel, connectUpstream, makeKey } from './call-model.ts'
import { columnHeads, expectSeen, loadedRows } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

/** The administrator's log page with and without filters. */

const MODEL = 'gpt-4o-mini'
const CALLS = 12

let visit: Visit
let upstream: FakeUpstream
let page: Page

beforeAll(async () => {
  visit = await startVisit()
  upstream = await connectUpstream(visit, [MODEL])
  const amy = await visit.person('amy')
  await visit.ask(visit.root, 'PUT /api/user/', { id: amy.user.id, quota: 1_000_000 })
  const key = await makeKey(visit, visit.root)
  for (let i = 0; i < CALLS; i += 1) await callModel(visit, key, { model: MODEL })
  await callModel(visit, await makeKey(visit, amy), { model: MODEL })
  ;({ page } = await visit.open('/log', visit.root))
})
afterAll(async () => {
  await visit.stop()
  await upstream.close()
})

const rows = () => loadedRows(page)
const field = (name: string) => page.getByLabel(name, { exact: true })

test('lists rows of all users, ten per page, newest first', async () => {
  await expect.poll(() => rows().count()).toBe(10)
  await expect
    .poll(() => columnHeads(page))
    .toEqual([
      '时间',
      '渠道 ID',
      '用户名',
      '类型',
      '令牌名称',
      '模型名称',
      '提示',
      '补全',
      '额度',
      '用时',
      '流式',
      '详情',
    ])
  await expect.poll(() => rows().first().innerText()).toMatch(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d/)
})

test('keeps its rows when reading them again fails', async () => {
  const later = await visit.open('/log', visit.root)
  await expect.poll(() => loadedRows(later.page).count()).toBe(10)
  // Then the request has a later end time.
  await later.page.clock.setFixedTime(Date.now() + 60_000)
  await later.page.route('**/api/log/?*', (route) => route.abort())
  await later.page.getByRole('button', { name: '刷新', exact: true }).click()
  await later.page.getByText('错误：无法连接服务器，请检查网络后重试').waitFor()
  await settled(later.page)
  expect(await loadedRows(later.page).count()).toBe(10)
  await later.context.close()
})

test('by default, covers all types and all times up to an hour from now', async () => {
  await expect.poll(() => field('日志类型').inputValue()).toBe('0')
  const types = await field('日志类型').locator('option').allInnerTexts()
  expect(types).toEqual(['全部类型', '充值', '消费', '管理', '系统', '测试'])
  // No start time: the list begins with the first row.
  await expect.poll(() => field('开始时间').inputValue()).toBe('')
  await expect.poll(() => field('开始时间').getAttribute('placeholder')).toBe('从头开始')
  const end = Date.parse(await field('结束时间').inputValue())
  expect(Math.abs(end - Date.now() - 3_600_000)).toBeLessThan(300_000)
})

test('the calendar names days, months and years in the page’s language', async () => {
  const end = new Date(await field('结束时间').inputValue())
  const [year, month] = [end.getFullYear(), end.getMonth() + 1]
  await page.getByRole('button', { name: '结束时间：打开日历' }).click()
  await expectSeen(page.getByRole('button', { name: `${year} 年 ${month} 月 15 日`, exact: true }))
  await page
    .getByRole('button', { name: new RegExp(`^选择月份：\\s*${year} 年 ${month} 月$`) })
    .click()
  const chosenYear = page.getByRole('button', { name: new RegExp(`^选择年份：\\s*${year}$`) })
  await expectSeen(chosenYear.and(page.locator(':focus')))
  await page.keyboard.press('Escape')
  await chosenYear.waitFor({ state: 'detached' })
})

test('filters by user, channel and type; the address keeps the filters', async () => {
  await field('用户名或 #ID').fill('amy')
  // A name is not an id: this is reported rather than ignored.
  await field('渠道 ID').fill('abc')
  await field('渠道 ID').press('Enter')
  await expectSeen(page.getByText('渠道 ID 须是数字'))
  expect(new URL(page.url()).searchParams.has('channel')).toBe(false)
  await field('渠道 ID').fill('1')
  await field('日志类型').selectOption({ label: '消费' })
  await page.getByRole('button', { name: '查询', exact: true }).click()
  await expect.poll(() => rows().count()).toBe(1)
  await expect.poll(() => rows().innerText()).toContain('of amy')
  await page.reload()
  await expect.poll(() => rows().count()).toBe(1)
})

test('changing a filter hides the statistics', async () => {
  await page.getByText('点击查看统计').click()
  await page.getByText(/[\d,]+ 点/).waitFor()
  await field('用户名或 #ID').fill('root')
  await field('用户名或 #ID').press('Enter')
  await expectSeen(page.getByText('点击查看统计'))
})

test('without results, the filters can be cleared, and the list keeps the focus', async () => {
  const { page: other, close } = await visit.open('/log?username=nobody', visit.root)
  const news = other.locator('section > output')
  await expect.poll(() => news.innerText()).toBe('列表为空')
  await other.locator('section').getByRole('button', { name: '清除筛选' }).press('Enter')
  await expect.poll(() => loadedRows(other).count()).toBe(10)
  await expect.poll(() => news.innerText()).toBe('已加载 10 行，第 1 页')
  await expect.poll(() => news.evaluate((it) => it.closest('section:focus') !== null)).toBe(true)
  await close()
})

test.each([
  ['导出', '下载文件', '**/api/log/export/**'],
  ['清理历史日志', '删除日志', '**/api/log/?target_timestamp=*'],
])('with an ended session, %s raises no toast: the sign-in page says so', async (...names) => {
  const [task, start, address] = names
  const { page: other, context } = await visit.open('/log', visit.root)
  await settled(other)
  await context.route(address, (route) => route.fulfill({ status: 401, body: '' }))
  await other.getByRole('button', { name: task, exact: true }).click()
  await other.getByRole('button', { name: start, exact: true }).click()
  await other.waitForURL('**/login?expired=true')
  await settled(other)
  expect(await other.locator('.mantine-Notification-root').count()).toBe(0)
  await context.close()
})

test('a deletion requires a time, and reports a failure', async () => {
  await page.getByRole('button', { name: '清理历史日志', exact: true }).click()
  const before = await field('清理此时间之前的日志').inputValue()
  await field('清理此时间之前的日志').fill('')
  await page.getByRole('button', { name: '删除日志', exact: true }).click()
  await expectSeen(page.getByText('请选择有效的时间'))
  await page.route('**/api/log/?target_timestamp=*', (route) => route.abort())
  await field('清理此时间之前的日志').fill(before)
  await page.getByRole('button', { name: '删除日志', exact: true }).click()
  await expectSeen(page.getByText('删除失败，请稍后再试'))
  // The focus stays on the button, and Escape still closes the dialog.
  await page
    .getByRole('button', { name: '删除日志', exact: true })
    .and(page.locator(':focus'))
    .waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: '删除日志', exact: true }).waitFor({ state: 'detached' })
})

test('a page left open updates its end time and the current day when filtered', async () => {
  const opened = await visit.open('/about', visit.root)
  const { clock } = opened.page
  // Within the last hour before midnight, an hour from now is the next day.
  await clock.install({ time: new Date('2030-05-05T20:30:00') })
  await opened.page.goto(`${visit.gatehouse.url}/log`)
  await loadedRows(opened.page).first().waitFor()
  await clock.fastForward('03:00:00')
  await opened.page.getByRole('button', { name: '今天', exact: true }).click()
  await expect
    .poll(() => opened.page.getByLabel('结束时间', { exact: true }).inputValue())
    .toMatch(/^2030-05-06 00:3/)
  const isPressed = () =>
    opened.page.getByRole('button', { name: '今天', exact: true }).getAttribute('aria-pressed')
  await expect.poll(isPressed).toBe('true')
  await opened.context.close()
})
