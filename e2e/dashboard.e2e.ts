import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { FakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { callModel, connectUpstream, makeKey } from './call-model.ts'
import { expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { answerLikeOneApi, startVisit, type Person, type Visit, type VisitedPage } from './visit.ts'

/** The dashboard: usage by model, channel and user. */

const MODELS = ['gpt-4o-mini', 'gpt-4o']
const CALLS = 3

let visit: Visit
let upstream: FakeUpstream
let opened: VisitedPage
let page: Page

beforeAll(async () => {
  visit = await startVisit()
  upstream = await connectUpstream(visit, MODELS)
  const key = await makeKey(visit, visit.root)
  for (const model of MODELS) {
    for (let call = 0; call < CALLS; call += 1) await callModel(visit, key, { model })
  }
})

afterAll(async () => {
  await visit.stop()
  await upstream.close()
})

afterEach(async () => {
  await opened.context.close()
  expect(opened.problems).toEqual([])
})

async function open(path: string, as: Person = visit.root): Promise<void> {
  opened = await visit.open(path, as)
  page = opened.page
}

const figure = (label: string) =>
  page
    .locator('span')
    .filter({ hasText: new RegExp(`^${label}`) })
    .first()
const cells = async (row: string): Promise<string[]> =>
  page.getByRole('row', { name: row }).getByRole('cell').allTextContents()

test('is in the menu and shows the usage', async () => {
  await open('/log')
  await page.getByRole('link', { name: '概览', exact: true }).first().click()
  await page.getByRole('heading', { name: '概览' }).waitFor()
  await expect.poll(() => figure('请求次数').textContent()).toContain(String(MODELS.length * CALLS))
  await page.locator('.recharts-bar-rectangle').first().waitFor({ state: 'attached' })
  await expect.poll(async () => (await cells('gpt-4o-mini')).slice(2)).toEqual(['3', '33', '21'])
})

test('without the chart’s file, shows an error in its place with a way to reload', async () => {
  await open('/about')
  await page.route('**/assets/usage-chart-*', (route) => route.abort())
  await page.getByRole('link', { name: '概览', exact: true }).first().click()
  await page.getByText('每日用量加载失败').waitFor()
  await page.getByText('加载失败，可能是网络中断，或服务器已更新到新版本，请刷新页面').waitFor()
  await expect.poll(async () => (await cells('gpt-4o-mini')).slice(2)).toEqual(['3', '33', '21'])
  await page.unroute('**/assets/usage-chart-*')
  await page.getByRole('button', { name: '重试', exact: true }).click()
  await page.locator('.recharts-bar-rectangle').first().waitFor({ state: 'attached' })
  // The browser has logged the missing file.
  opened.problems.length = 0
})

test('the chart can be shown as a table, and the address keeps the choice', async () => {
  await open('/dashboard')
  await page.getByLabel('指标').selectOption('requests')
  await page.getByLabel('分类').selectOption('user')
  await page.getByRole('button', { name: '24 小时', exact: true }).click()
  await expect.poll(() => new URL(page.url()).searchParams.get('range')).toBe('24h')
  await page.reload()
  await page.getByRole('heading', { name: '用户排行' }).waitFor()
  await expect.poll(() => cells('root')).toContain(String(MODELS.length * CALLS))
  await page.getByLabel('分类').selectOption('model')
  await page.getByRole('button', { name: '显示表格', exact: true }).click()
  await expect.poll(() => page.getByRole('columnheader', { name: 'gpt-4o-mini' }).count()).toBe(1)
  const table = page.getByRole('table').first()
  await expect.poll(() => table.getByRole('row').count()).toBe(25)
})

test('the number of failed calls opens their list, and a call shows how it failed', async () => {
  const key = await makeKey(visit, visit.root, { name: 'failing' })
  await expect(callModel(visit, key, { model: 'nobody-serves-this' })).rejects.toThrow('no_channel')
  const failures = () => visit.ask<unknown[]>(visit.root, 'GET /api/dashboard/failures')
  await expect.poll(async () => (await failures()).length).toBe(1)
  await open('/dashboard')
  await page.getByRole('button', { name: '另有失败 1 次' }).click()
  const list = page.getByRole('region', { name: '失败的调用' })
  await list.getByRole('table').getByRole('button').first().click()
  const details = page.getByRole('complementary')
  await details.getByText('503 no_channel').waitFor()
  await details.getByText('路由过程').waitFor()
})

test('a request id from an error leads from the logs to the failed call', async () => {
  type Failure = { request_id: string; token_name: string; user_id: number }
  const [failure] = await visit.ask<Failure[]>(visit.root, 'GET /api/dashboard/failures')
  await open('/log')
  await page.getByLabel('请求 ID').fill(String(failure?.request_id))
  await page.getByLabel('请求 ID').press('Enter')
  await page.getByRole('link', { name: '在失败的调用中查找' }).click()
  const list = page.getByRole('region', { name: '失败的调用' })
  await list.getByRole('cell', { name: 'failing', exact: true }).waitFor()
  await expect.poll(() => list.getByLabel('请求 ID').inputValue()).toBe(failure?.request_id)
  await list.getByLabel('令牌名称').fill('another')
  await list.getByLabel('令牌名称').press('Enter')
  await list.getByText('没有符合筛选条件的失败调用').waitFor()
  await list.getByRole('button', { name: '清除筛选' }).click()
  await list.getByLabel('用户名或 #ID').fill(`#${failure?.user_id}`)
  await list.getByLabel('用户名或 #ID').press('Enter')
  await list.getByRole('cell', { name: 'failing', exact: true }).waitFor()
})

// A single offset for all days would be wrong around clock changes.
test('requests days in the reader’s time zone', async () => {
  await open('/dashboard')
  const asking = page.waitForRequest('**/api/dashboard?**')
  await page.getByRole('button', { name: '30 天', exact: true }).click()
  const asked = new URL((await asking).url()).searchParams
  const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone)
  expect(asked.get('tz')).toBe(zone)
  await settled(page)
})

test('exports the usage of all users for a range of days as CSV', async () => {
  await open('/dashboard?range=7d')
  await page.getByRole('button', { name: '导出用量', exact: true }).click()
  const field = (label: string) => page.getByRole('textbox', { name: label, exact: true })
  const today = await field('结束日期').inputValue()
  expect(await field('开始日期').inputValue()).not.toBe(today)
  await field('开始日期').fill(today)
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: '下载文件', exact: true }).click()
  const download = await saved
  expect(download.suggestedFilename()).toBe(`usage_${today}_${today}.csv`)
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n')
  const figures = lines.slice(1, -1).map((line) => line.split(',').slice(1, 6).join(' '))
  expect(figures.toSorted()).toEqual([
    '"" "" "6" "66" "42"',
    '"root" "gpt-4o" "3" "33" "21"',
    '"root" "gpt-4o-mini" "3" "33" "21"',
  ])
  await page.getByRole('button', { name: '导出用量', exact: true }).click()
  await field('结束日期').fill('2020-01-01')
  await page.getByRole('button', { name: '下载文件', exact: true }).click()
  await page.getByText('导出数据错误：时间范围无效：结束需要晚于开始，最长 366 天').waitFor()
  // The browser logs the status itself.
  opened.problems.length = 0
})

test.each([390, 768])('the ranking is not truncated at %i px', async (width) => {
  opened = await visit.open('/dashboard', visit.root, { width, language: 'en' })
  page = opened.page
  const table = page.getByRole('region', { name: 'Top models' })
  await table.getByRole('row', { name: 'gpt-4o-mini' }).waitFor()
  expect(await table.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
  await expect.poll(() => table.getByText('Calls: 3').first().isVisible()).toBe(width === 390)
})

test('ordinary users only see their own figures', async () => {
  await open('/dashboard', await visit.person('alice'))
  await page.getByText('这段时间没有调用').waitFor()
  await page.getByRole('link', { name: '查看令牌', exact: true }).waitFor()
  await settled(page)
  expect(await page.getByText('gpt-4o-mini').count()).toBe(0)
  expect(await page.getByRole('button', { name: '导出用量', exact: true }).count()).toBe(0)
})

test('a failed request also raises a toast', async () => {
  await open('/about')
  await page.route('**/api/dashboard**', (route) => route.fulfill({ status: 429, body: '' }))
  await page.goto(`${visit.gatehouse.url}/dashboard`)
  await expectSeen(page.getByText('错误：请求次数过多，请稍后再试！'))
  await expectSeen(page.getByRole('main').getByText('请求次数过多，请稍后再试！'))
  await page.unroute('**/api/dashboard**')
  // Another range may load successfully.
  await page.getByRole('button', { name: '24 小时', exact: true }).click()
  await expect.poll(() => figure('请求次数').textContent()).toContain(String(MODELS.length * CALLS))
  // The browser logs the status itself.
  opened.problems.length = 0
})

// A One API server reports one week of one's own usage by model.
test('shows the week that a One API server reports', async () => {
  await open('/about')
  await answerLikeOneApi(page)
  await page.goto(`${visit.gatehouse.url}/dashboard`)
  await page.getByText('我的用量').waitFor()
  await expect.poll(async () => (await cells('gpt-4o-mini'))[2]).toBe('3')
  await settled(page)
  expect(await page.getByRole('button', { name: '30 天', exact: true }).count()).toBe(0)
})

test('with one point per dollar, the axis shows whole, short amounts', async () => {
  await open('/about')
  await settled(page)
  await page.route('**/api/status', async (route) => {
    const { data, ...rest } = Object(await (await route.fetch()).json())
    await route.fulfill({ json: { ...rest, data: { ...data, quota_per_unit: 1 } } })
  })
  await page.route('**/api/dashboard?*', async (route) => {
    const answer: unknown = await (await route.fetch()).json()
    // A billion times as much.
    const text = JSON.stringify(answer).replaceAll(/"quota":([1-9]\d*)/g, '"quota":$1000000000')
    await route.fulfill({ contentType: 'application/json', body: text })
  })
  await page.goto(`${visit.gatehouse.url}/dashboard`)
  const labels = page.locator('.recharts-yAxis-tick-labels text')
  await expect.poll(() => labels.last().textContent()).toMatch(/^\$[\d.]+[BT]$/)
  await settled(page)
  /** How far the labels begin to the left of the chart. */
  const cut = () =>
    page.evaluate(() => {
      const left = (part: Element | null) => part?.getBoundingClientRect().left ?? Number.NaN
      const chart = left(document.querySelector('.recharts-surface'))
      const all = [...document.querySelectorAll('.recharts-yAxis-tick-labels text')]
      return chart - Math.min(...all.map(left))
    })
  await expect.poll(cut).toBeLessThanOrEqual(0)
  await page.setViewportSize({ width: 390, height: 844 })
  for (const label of ['消耗额度', '请求次数', '提示 tokens', '补全 tokens']) {
    const isCut = () => figure(label).evaluate((box) => box.scrollWidth > box.clientWidth)
    await expect.poll(isCut).toBe(false)
  }
})
