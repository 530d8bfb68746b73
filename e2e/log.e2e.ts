import { readFile } from 'node:fs/promises'
import type { Download, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { FakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { callModel, connectUpstream, makeKey } from './call-model.ts'
import { hiddenColumns, loadedRows } from './expect-page.ts'
import { settled } from './settled.ts'
import { answerLikeOneApi, startVisit, type Person, type Visit, type VisitedPage } from './visit.ts'

/** The log page: calls, their cost, captured bodies, and exports. */

const MODEL = 'gpt-4o-mini'
const CALLS = 12

let visit: Visit
let upstream: FakeUpstream
let opened: VisitedPage
let page: Page

beforeAll(async () => {
  visit = await startVisit()
  upstream = await connectUpstream(visit, [MODEL])
  const key = await makeKey(visit, visit.root, { name: '记录', capture: 'redacted' })
  for (let index = 0; index < CALLS; index += 1) {
    await callModel(visit, key, { model: MODEL, content: `问题 ${index}，不要说出去` })
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

const textOf = async (download: Download): Promise<string> =>
  readFile(await download.path(), 'utf8')

const rows = () => loadedRows(page)
/** Waits for the row count of the filter in the address. */
const shows = async (count: number): Promise<void> => {
  await expect.poll(() => rows().count()).toBe(count)
}

test('a page that was open for hours requests the newest rows', async () => {
  await open('/about')
  await page.clock.install()
  await page.goto(`${visit.gatehouse.url}/log`)
  await shows(10)
  await settled(page)
  const asked: string[] = []
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === '/api/log/') asked.push(searchParams.get('end_timestamp') ?? '')
  })
  await page.clock.fastForward('03:00:00')
  const now = await page.evaluate(() => Date.now() / 1000)
  await expect.poll(() => Number(asked.at(-1))).toBeGreaterThan(now)
  await shows(10)
  await settled(page)
})

describe('an administrator', () => {
  test('turns pages, and sees sums on request', async () => {
    await open('/log')
    await shows(10)
    // At 1280 px, the width of most laptops.
    expect(await hiddenColumns(page)).toEqual([])
    // By keyboard; the focus stays.
    const next = page.getByRole('button', { name: '下一页', exact: true })
    await next.press('Enter')
    // The system's own rows come before the first call.
    await expect.poll(() => page.getByText('第 2 页', { exact: true }).count()).toBe(1)
    await next.and(page.locator(':focus')).waitFor()
    // A second click before the first has completed has no effect.
    const previous = page.getByRole('button', { name: '上一页', exact: true })
    await previous.evaluate((button: HTMLElement) => [button.click(), button.click()])
    await page.getByText('第 1 页', { exact: true }).waitFor()
    await page.getByRole('button', { name: /点击查看统计/ }).press('Enter')
    // In the figures only: a time or a duration may contain the same digits.
    const sum = page.locator('output').getByText(String(CALLS * 18), { exact: true })
    await sum.waitFor()
    await page.locator('output:focus').waitFor()
    // Another filter hides them again.
    await page.getByLabel('日志类型').selectOption('1')
    await page.getByText('点击查看统计').waitFor()
    await expect.poll(() => sum.count()).toBe(0)
    // So does the way back to the first one.
    await page.getByLabel('日志类型').selectOption('0')
    await shows(10)
    await page.getByText('点击查看统计').waitFor()
    expect(await sum.count()).toBe(0)
  })

  test('sees how a call was priced, and its captured bodies', async () => {
    await open(`/log?token_name=${encodeURIComponent('记录')}`)
    await shows(10)
    await rows().first().click()
    const panel = page.getByRole('complementary')
    await panel.getByText('为什么是这个价格').waitFor()
    await panel.getByText('提示 11 × 0.075').waitFor()
    await panel.getByText(`问题 ${CALLS - 1}，不要说出去`).waitFor()
    await panel.getByText('The answer is forty-two.').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => panel.count()).toBe(0)
  })

  test('a cost is exact to the point, for any number of points per dollar', async () => {
    for (const [points, cost] of [
      ['10000000', /^\$0\.\d{7}$/],
      ['1', /^\$\d+\.\d\d$/],
      ['500000', /^\$0\.\d{6}$/],
    ] as const) {
      await visit.setOption('QuotaPerUnit', points)
      await open('/log?type=2')
      await expect.poll(() => page.getByRole('cell', { name: cost }).count()).toBeGreaterThan(0)
    }
  })

  test('finds a call by captured text', async () => {
    await open('/log')
    await page.getByLabel('请求内容').fill('问题 7，')
    await page.keyboard.press('Enter')
    await shows(1)
    await page.getByLabel('请求内容').fill('没有人说过')
    await page.keyboard.press('Enter')
    await page.getByText('没有符合筛选条件的记录').waitFor()
    await expect.poll(() => new URL(page.url()).searchParams.get('request')).toBe('没有人说过')
  })

  test('exports the filtered rows as CSV', async () => {
    await open('/log?type=2')
    await page.getByRole('button', { name: '导出', exact: true }).click()
    await page.getByLabel('格式').selectOption('csv')
    await page.getByRole('switch', { name: '包含已记录的请求与响应', exact: true }).click()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: '下载文件', exact: true }).click()
    const download = await saved
    expect(download.suggestedFilename()).toBe('logs.csv')
    const text = await textOf(download)
    expect(text).toContain('"request","response"')
    expect(text.split('问题 ').length - 1).toBe(CALLS)
  })

  test('sees an error when an export fails', async () => {
    await open('/log')
    await page.route('**/api/log/export/**', (route) =>
      route.fulfill({ status: 503, json: { success: false, message: '太忙了' } }),
    )
    await page.getByRole('button', { name: '导出', exact: true }).click()
    await page.getByRole('button', { name: '下载文件', exact: true }).click()
    await page.getByText('导出数据错误：太忙了').waitFor()
    await expect
      .poll(() => page.getByRole('button', { name: '下载文件', exact: true }).isEnabled())
      .toBe(true)
    // The browser logs the status itself.
    opened.problems.length = 0
  })

  // A One API server does not describe itself and has no export.
  test('exports page by page from a One API server', async () => {
    await open('/about')
    await answerLikeOneApi(page)
    await page.route('**/api/log/export/**', (route) => route.abort())
    await page.goto(`${visit.gatehouse.url}/log?type=2`)
    await shows(10)
    await settled(page)
    expect(await page.getByLabel('请求内容').count()).toBe(0)
    await page.getByRole('button', { name: '导出', exact: true }).click()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: '下载文件', exact: true }).click()
    const download = await saved
    expect(download.suggestedFilename()).toBe('logs.json')
    expect(JSON.parse(await textOf(download))).toHaveLength(CALLS)
  })
})

test('an ordinary user sees only their own rows and cannot delete any', async () => {
  await open('/log', await visit.person('alice'))
  await page.getByText('还没有记录').waitFor()
  await settled(page)
  expect(await page.getByRole('button', { name: '清理历史日志', exact: true }).count()).toBe(0)
  expect(await page.getByLabel('用户名').count()).toBe(0)
  await page.getByRole('button', { name: '导出', exact: true }).click()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: '下载文件', exact: true }).click()
  expect(JSON.parse(await textOf(await saved))).toEqual([])
})

test('a name of maximum length is not truncated, and a phone shows a sentence once', async () => {
  const person = await visit.person('longenough12')
  await visit.ask(visit.root, 'PUT /api/user/', { id: person.user.id, quota: 500_000 })
  opened = await visit.open('/log?type=3', visit.root, { width: 1440 })
  page = opened.page
  const cell = page.getByRole('cell', { name: 'longenough12' }).first()
  await cell.waitFor()
  expect(await cell.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
  await opened.context.close()
  opened = await visit.open('/log?type=3', person, { width: 390, language: 'en' })
  page = opened.page
  const block = page.getByRole('listitem').first()
  await expect.poll(() => block.innerText()).toContain('An administrator changed the quota from $')
  expect((await block.innerText()).split('An admin').length - 1).toBe(1)
  const title = block.getByRole('button')
  expect(await title.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
})

test.each(['zh', 'en'] as const)('shows all columns at 1024 px in %s', async (language) => {
  opened = await visit.open('/log', visit.root, { width: 1024, language })
  page = opened.page
  await loadedRows(page).first().waitFor()
  await settled(page)
  expect(await hiddenColumns(page)).toEqual([])
  const costs = loadedRows(page).getByRole('cell').filter({ hasText: /^\$/ })
  expect(await costs.count()).toBeGreaterThan(0)
  const cut = costs.evaluateAll((cells) => cells.filter((it) => it.scrollWidth > it.clientWidth))
  expect(await cut).toEqual([])
})

// Last test: no rows are left afterwards.
test('an administrator deletes rows before a given time', async () => {
  await open('/log')
  await shows(10)
  await page.getByRole('button', { name: '清理历史日志', exact: true }).click()
  const stamp = page.getByLabel('清理此时间之前的日志', { exact: true })
  await stamp.fill('不是时间')
  await page.getByRole('button', { name: '删除日志', exact: true }).click()
  await page.getByText('请选择有效的时间').waitFor()
  await stamp.fill('2099-01-01 00:00:00')
  await page.getByRole('button', { name: '删除日志', exact: true }).click()
  await page.getByText(/已清理 \d+ 条日志！/).waitFor()
  await page.getByText('还没有记录').waitFor()
  expect(await visit.gatehouse.reconcile()).toContain('0 differences')
})
