import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { violations } from './axe.ts'
import { callModel, makeKey } from './call-model.ts'
import { actionTops, columnHeads, hiddenColumns, loadedRows } from './expect-page.ts'
import { settled } from './settled.ts'
import { closeToasts, startVisit, type Visit } from './visit.ts'

/** The channel list: the content of each column, and the actions on one channel and on all. */

let visit: Visit
let page: Page
let problems: string[]
let upstream: FakeUpstream

beforeAll(async () => {
  upstream = await startFakeUpstream()
  visit = await startVisit()
  ;({ page, problems } = await visit.open('/channel', visit.root, { width: 1440, height: 900 }))
})

afterAll(async () => {
  await visit.stop()
  await upstream.close()
  expect(problems).toEqual([])
})

// The page stays open, and deletes channels.
beforeEach(() => visit.keepProven(visit.root))

const row = (name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
const cells = (name: string) => row(name).getByRole('cell').allInnerTexts()
const rowButton = (name: string, action: string) =>
  row(name).getByRole('button', { name: action, exact: true })
const expectText = (sentence: string | RegExp) => page.getByText(sentence).first().waitFor()
/** Names of the visible rows, from the top. */
const names = () => loadedRows(page).locator('td:nth-child(2)').allInnerTexts()

const create = (channel: Record<string, unknown>) =>
  visit.ask(visit.root, 'POST /api/channel/', {
    type: 1,
    key: 'sk-x',
    base_url: upstream.url,
    models: 'gpt-4o-mini',
    ...channel,
  })

/** An upstream that responds with 429 and Retry-After of ten minutes. */
const busyAddress = (): string => `${upstream.url}/~fail-429-retry-600`

async function openList(query = ''): Promise<void> {
  await page.goto(`${visit.gatehouse.url}/channel${query}`)
  await settled(page)
}

test('an empty list explains what channels are', async () => {
  await openList()
  await expectText('还没有渠道。渠道是到上游模型服务的连接')
})

test('shows the hint about tests and balances once', async () => {
  const hint = page.getByText('余额只有部分类型能够查询')
  await page.evaluate(() => localStorage.removeItem('prompt-channel-test'))
  await openList()
  await hint.waitFor()
  await expect
    .poll(() => page.evaluate(() => localStorage.getItem('prompt-channel-test')))
    .not.toBeNull()
  await page.getByRole('button', { name: '知道了', exact: true }).click()
  await hint.waitFor({ state: 'detached' })
  await openList()
  expect(await hint.count()).toBe(0)
})

describe('one channel', () => {
  beforeAll(async () => {
    await create({ name: '主力', group: 'default,vip', models: 'gpt-4o-mini,slow-200' })
    await create({ name: '坏的', models: 'fail-key' })
    await create({ name: '深度求索', type: 36 })
    await create({ name: '没有余额', type: 14 })
    await openList()
  })

  test('has every column of the specification', async () => {
    await expect
      .poll(() => columnHeads(page))
      .toEqual([
        'ID',
        '名称',
        '分组',
        '类型',
        '状态',
        '响应时间',
        '余额',
        '优先级',
        '测试模型',
        '操作',
      ])
    // Left-aligned as in the other lists: an id is not a quantity.
    const id = page.getByRole('columnheader', { name: 'ID', exact: true })
    await expect.poll(() => id.getAttribute('data-align')).toBeNull()
    const [, name, group, type, status, responseTime, balance] = await cells('主力')
    expect({ name, type, status, responseTime, balance }).toEqual({
      name: '主力',
      type: 'OpenAI',
      status: '已启用',
      responseTime: '未测试',
      balance: '$0.00',
    })
    expect(group?.split(/\s+/)).toEqual(['default', 'vip'])
    await expect.poll(async () => (await cells('没有余额'))[6]).toBe('不支持')
  })

  test.each([1024, 1280, 1440])('shows all columns at %i px', async (width) => {
    const opened = await visit.open('/channel', visit.root, { width, language: 'en' })
    await settled(opened.page)
    expect(await hiddenColumns(opened.page)).toEqual([])
    expect(await actionTops(opened.page)).toHaveLength(1)
    await opened.close()
  })

  test('shows blocks instead of a truncated table on a tablet in portrait mode', async () => {
    const opened = await visit.open('/channel', visit.root, { width: 768 })
    const block = opened.page.getByRole('listitem').filter({ hasText: '主力' })
    await block.getByLabel('「主力」的测试模型').waitFor()
    expect(await opened.page.getByRole('table').count()).toBe(0)
    await opened.close()
  })

  test('shows whole group tags at 1024 px, and the id on a phone', async () => {
    const opened = await visit.open('/about', visit.root, { width: 1024 })
    await opened.page.route(/\/api\/channel\/\?/, async (route) => {
      const answer = await route.fetch()
      const { data, ...rest } = Object(await answer.json())
      const grouped = data.map((channel: object) => ({ ...channel, group: 'default,vip,svip' }))
      await route.fulfill({ json: { ...rest, data: grouped } })
    })
    await opened.page.goto(`${visit.gatehouse.url}/channel`)
    const tag = opened.page.getByRole('cell').getByText('default', { exact: true }).first()
    await tag.waitFor()
    expect(await tag.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
    await opened.page.setViewportSize({ width: 390, height: 800 })
    const block = opened.page.getByRole('listitem').filter({ hasText: '主力' })
    await block.getByText(/^ID \d+$/).waitFor()
    await opened.close()
  })

  test('a test reports its duration', async () => {
    await rowButton('主力', '测试').click()
    await expectText(/「主力」测试成功：模型 gpt-4o-mini，用时 \d+\.\d\d 秒/)
    const time = row('主力').locator('[data-level]')
    await expect.poll(() => time.innerText()).toMatch(/^\d+\.\d{2,3} 秒$/)
    // The level depends on the machine.
    await expect.poll(() => time.getAttribute('data-level')).toMatch(/^(quick|fair|slow|bad)$/)
  })

  test('a running test shows a spinner without moving anything', async () => {
    const places = () =>
      row('主力')
        .getByRole('button')
        .evaluateAll((buttons) => buttons.map((it) => it.getBoundingClientRect().top))
    const before = await places()
    let answer = () => {}
    const isAsked = new Promise<void>((go) => (answer = go))
    await page.route('**/api/channel/test/**', async (route) => {
      await isAsked
      await route.continue()
    })
    await rowButton('主力', '测试').click()
    const turning = row('主力').locator('.mantine-Loader-root')
    await turning.waitFor()
    await expect.poll(async () => (await turning.boundingBox())?.width).toBeGreaterThan(8)
    await expect.poll(places).toEqual(before)
    await expect.poll(async () => (await row('主力').boundingBox())?.height).toBe(40)
    answer()
    await turning.waitFor({ state: 'detached' })
    await page.unroute('**/api/channel/test/**')
  })

  test('is tested with the model chosen in its row', async () => {
    await row('主力').getByLabel('「主力」的测试模型').selectOption('slow-200')
    await expectText('操作成功完成！')
    upstream.seen()
    await rowButton('主力', '测试').click()
    await expectText('模型 slow-200')
    expect(upstream.seen().map(({ body }) => Object(body).model)).toEqual(['slow-200'])
    await openList()
    await expect
      .poll(() => row('主力').getByLabel('「主力」的测试模型').inputValue())
      .toBe('slow-200')
  })

  test('a failed test reports its reason, and the list shows the failure', async () => {
    await rowButton('坏的', '测试').click()
    await expectText(/测试失败/)
    await expect.poll(async () => (await cells('坏的'))[5]).toBe('测试失败')
  })

  test('a channel with rejected keys is not shown as healthy', async () => {
    const keys = { key: 'sk-one\nsk-two', key_mode: 'together' }
    await create({ name: '两把', models: 'fail-key', ...keys })
    await openList()
    for (const told of ['密钥 1/2', '密钥 0/2']) {
      await rowButton('两把', '测试').click()
      await expect.poll(async () => (await cells('两把'))[4]).toBe(told)
    }
    await rowButton('两把', '禁用').click()
    await rowButton('两把', '启用').click()
    await expect.poll(async () => (await cells('两把'))[4]).toBe('已启用')
  })

  test('a click on the balance updates it', async () => {
    await row('主力')
      .getByRole('button', { name: /的余额/ })
      .click()
    await expectText('「主力」的余额已更新')
    await expect.poll(async () => (await cells('主力'))[6]).toBe('$15.50')
    await row('深度求索')
      .getByRole('button', { name: /的余额/ })
      .click()
    await expect.poll(async () => (await cells('深度求索'))[6]).toBe('¥12.50')
  })

  test('is disabled and enabled in place', async () => {
    await rowButton('主力', '禁用').click()
    await expect.poll(async () => (await cells('主力'))[4]).toBe('手动禁用')
    await rowButton('主力', '启用').click()
    await expect.poll(async () => (await cells('主力'))[4]).toBe('已启用')
  })

  test('stays disabled when an older list response arrives later', async () => {
    let letCome = () => {}
    const held = new Promise<void>((resolve) => (letCome = resolve))
    let isRead = () => {}
    const read = new Promise<void>((resolve) => (isRead = resolve))
    await page.route(
      '**/api/channel/?p=0',
      async (route) => {
        const response = await route.fetch()
        isRead()
        await held
        // The page may no longer be waiting for it.
        await route.fulfill({ response }).catch(() => {})
      },
      { times: 1 },
    )
    await page.getByRole('button', { name: '刷新', exact: true }).click()
    await read
    await rowButton('主力', '禁用').click()
    await expect.poll(async () => (await cells('主力'))[4]).toBe('手动禁用')
    letCome()
    await settled(page)
    expect((await cells('主力'))[4]).toBe('手动禁用')
    await rowButton('主力', '启用').click()
    await expect.poll(async () => (await cells('主力'))[4]).toBe('已启用')
  })

  test('of two test models chosen in quick succession, the last one stays', async () => {
    await create({ name: '两选', models: 'one,two,three' })
    await openList()
    const choice = row('两选').getByLabel('「两选」的测试模型')
    let answer = () => {}
    const held = new Promise<void>((resolve) => (answer = resolve))
    await page.route(
      '**/api/channel/',
      async (route) => {
        await held
        await route.continue()
      },
      { times: 1 },
    )
    await choice.selectOption('two')
    await expect.poll(() => choice.inputValue()).toBe('two')
    await choice.selectOption('three')
    answer()
    await settled(page)
    await expect.poll(() => choice.inputValue()).toBe('three')
    await openList()
    await expect.poll(() => choice.inputValue()).toBe('three')
    await rowButton('两选', '删除').click()
    await page.getByRole('button', { name: '删除渠道', exact: true }).click()
    await expect.poll(() => row('两选').count()).toBe(0)
  })

  test('in English, disabling does not move buttons despite labels of different length', async () => {
    const opened = await visit.open('/channel', visit.root, { width: 1440, language: 'en' })
    const buttons = opened.page.getByRole('row').filter({ hasText: '主力' }).getByRole('button')
    const places = () =>
      buttons.evaluateAll((all) => all.map((it) => it.getBoundingClientRect().left))
    await buttons.filter({ hasText: 'Disable' }).waitFor()
    await settled(opened.page)
    const before = await places()
    await buttons.filter({ hasText: 'Disable' }).click()
    await buttons.filter({ hasText: 'Enable' }).waitFor()
    await expect.poll(places).toEqual(before)
    await buttons.filter({ hasText: 'Enable' }).click()
    await buttons.filter({ hasText: 'Disable' }).waitFor()
    await opened.close()
  })

  test('its priority can be edited in the row', async () => {
    const priority = row('主力').getByLabel('「主力」的优先级')
    await closeToasts(page)
    await priority.fill('42')
    await priority.press('Enter')
    await expectText('操作成功完成！')
    await priority.fill('no number')
    await priority.press('Enter')
    await expectText('优先级须是整数，例如 10')
    await expect.poll(() => priority.inputValue()).toBe('42')
    await openList()
    await expect.poll(() => row('主力').getByLabel('「主力」的优先级').inputValue()).toBe('42')
  })

  test('is deleted after a confirmation beside its button', async () => {
    await create({ name: '多余的' })
    await openList()
    await rowButton('多余的', '删除').click()
    await expectText('删除渠道「多余的」？它的密钥会一并删除，无法恢复')
    await page.getByRole('button', { name: '取消', exact: true }).click()
    await expect.poll(() => row('多余的').count()).toBe(1)
    await rowButton('多余的', '删除').click()
    await page.getByRole('button', { name: '删除渠道', exact: true }).click()
    await expect.poll(() => row('多余的').count()).toBe(0)
  })
})

describe('many channels', () => {
  beforeAll(async () => {
    for (let index = 1; index <= 12; index += 1) {
      await create({
        name: `批 ${String(index).padStart(2, '0')}`,
        priority: index,
        key: `k-${index}`,
      })
    }
    await openList()
  })

  test('ten per page, newest first', async () => {
    await expect.poll(names).toHaveLength(10)
    expect((await names()).slice(0, 2)).toEqual(['批 12', '批 11'])
    await page.getByRole('button', { name: '第 2 页', exact: true }).click()
    await expect.poll(names).toContain('批 01')
    await expect.poll(() => page.url()).toContain('page=2')
  })

  test('a click on a column head sorts the loaded rows, a second one reverses them', async () => {
    await openList()
    await page.getByRole('button', { name: '优先级', exact: true }).click()
    await page.locator('[aria-sort=ascending]').waitFor()
    await page.getByRole('button', { name: /优先级/ }).click()
    await expect.poll(async () => (await names()).slice(0, 2)).toEqual(['主力', '批 12'])
  })

  test.each([
    ['the beginning of a name', '批 0', 9],
    ['a whole key', 'k-12', 1],
    ['a part of a key', 'k-', 0],
  ])('are found by %s', async (_what, keyword, count) => {
    await openList()
    await page.getByPlaceholder('搜索渠道的 ID、名称和密钥').fill(keyword)
    if (count === 0) await expectText(`没有 ID、名称或密钥符合「${keyword}」的渠道`)
    else await expect.poll(async () => (await names()).length).toBe(count)
    await page.getByPlaceholder('搜索渠道的 ID、名称和密钥').fill('')
    await expect.poll(async () => (await names()).length).toBe(10)
  })

  test('are all tested, with progress visible to every administrator', async () => {
    // Long enough for a busy machine to show the progress.
    await create({ name: '慢的', models: 'slow-6000' })
    await openList()
    await page.getByRole('button', { name: '测试全部', exact: true }).click()
    await expectText('向每个渠道发出一次真实的对话请求？可能产生费用')
    await page.getByRole('button', { name: '开始测试', exact: true }).click()
    // In parallel: a fast run ends soon.
    await Promise.all([
      expectText(/正在测试 \d+ \/ \d+/),
      page.getByRole('button', { name: '测试全部', disabled: true }).waitFor(),
    ])
    await expectText(/测试完成：共 18 个渠道，\d+ 个失败/)
    await expect.poll(async () => (await cells('批 12'))[5]).toMatch(/秒$/)
  })

  test('balances of all channels are updated', async () => {
    await page.getByRole('button', { name: '更新余额', exact: true }).click()
    await expectText(/余额查询完成/)
    await expect.poll(async () => (await cells('批 12'))[6]).toBe('$15.50')
  })

  test('disabled channels are tested, and deleted after a confirmation', async () => {
    await rowButton('批 12', '禁用').click()
    await expect.poll(async () => (await cells('批 12'))[4]).toBe('手动禁用')
    await page.getByRole('button', { name: '测试已禁用', exact: true }).click()
    await expectText('测试完成：1 个渠道全部通过')
    await page.getByRole('button', { name: '删除已禁用', exact: true }).click()
    await expectText('删除所有被禁用的渠道，包括手动禁用和自动禁用的？删除后无法恢复')
    await page.getByRole('button', { name: '全部删除', exact: true }).click()
    await expectText('已删除 1 个被禁用的渠道')
    await expect.poll(() => row('批 12').count()).toBe(0)
  })

  test('two hundred models and a hundred groups do not break the layout', async () => {
    await create({
      name: '很多',
      models: Array.from({ length: 200 }, (_, index) => `model-with-a-long-name-${index}`).join(),
      group: Array.from({ length: 100 }, (_, index) => `g${index}`).join(),
    })
    await openList()
    const [, , group] = await cells('很多')
    expect(group?.replaceAll(/\s+/g, ' ').trim()).toBe('g0 g1 +98')
    const options = row('很多').getByLabel('「很多」的测试模型').locator('option')
    await expect.poll(() => options.count()).toBe(200)
  })
})

test('a dry run shows where a call would be routed, and a request id where one was', async () => {
  await create({ name: '常忙', models: 'trial-model', priority: 9, base_url: busyAddress() })
  await create({ name: '可靠', models: 'trial-model' })
  await visit.setOption('DefaultModelRatio', '1')
  const key = await makeKey(visit, visit.root)
  const requestId = await callModel(visit, key, { model: 'trial-model' })
  await openList()
  await page.getByRole('button', { name: '试算路由', exact: true }).click()
  const panel = page.getByRole('complementary', { name: '路由' })
  await panel.getByRole('textbox', { name: '模型名称', exact: true }).fill('trial-model')
  await panel.getByRole('button', { name: '试算', exact: true }).last().click()
  const considered = panel.getByRole('list', { name: '考虑过的渠道' }).getByRole('listitem')
  await expect.poll(() => considered.allInnerTexts()).toHaveLength(2)
  const [busy, good] = await considered.allInnerTexts()
  expect(busy).toMatch(/常忙[^]*上游限流/)
  expect(good).toMatch(/可靠[^]*100%[^]*可用/)
  expect(await violations(page)).toEqual([])
  // The input method cancels its composition.
  const model = panel.getByRole('textbox', { name: '模型名称', exact: true })
  await model.dispatchEvent('keydown', { key: 'Escape', isComposing: true })
  await panel.getByRole('button', { name: '查看一次调用', exact: true }).click()
  await panel.getByRole('textbox', { name: '请求 ID', exact: true }).fill(requestId)
  await panel.getByRole('button', { name: '查看', exact: true }).click()
  const attempts = panel.getByRole('list', { name: '各次尝试' }).getByRole('listitem')
  await expect.poll(() => attempts.allInnerTexts()).toHaveLength(2)
  await expect.poll(() => attempts.first().innerText()).toMatch(/常忙[^]*拒绝 429/)
  await page.goto(`${visit.gatehouse.url}/log`)
  await loadedRows(page).first().click()
  await expectText('路由过程')
  await page.getByRole('list', { name: '各次尝试' }).getByText('可靠').waitFor()
})

test('a failed list shows an error and can be reloaded', async () => {
  await page.route('**/api/channel/?p=0', (route) => route.abort(), { times: 1 })
  await page.goto(`${visit.gatehouse.url}/channel`)
  await page.getByText('渠道加载失败').waitFor()
  // No count is shown for channels that failed to load.
  expect(await page.getByText('已加载 0 个').count()).toBe(0)
  await page.getByRole('button', { name: /重试/ }).click()
  await expect.poll(() => row('很多').count()).toBe(1)
  // The browser logs the failed request itself.
  problems.splice(0)
})

test('can be sorted on a phone without column heads', async () => {
  const phone = await visit.open('/channel', visit.root, { width: 390 })
  const blocks = phone.page.getByRole('list', { name: '渠道' }).getByRole('listitem')
  await phone.page.getByLabel('排序方式').selectOption({ label: '按「ID」排序 ↓' })
  await expect.poll(() => phone.page.url()).toContain('sort=-id')
  await expect.poll(() => blocks.first().innerText()).toContain('可靠')
  await phone.close()
})

test('shows the count of all channels, filters by select, and finds parts of names', async () => {
  await create({ name: '东区 备用线路', type: 14, group: 'vip', key: 'sk-east' })
  const east = (await visit.ask<{ id: number }[]>(visit.root, 'GET /api/channel/?p=0'))[0]?.id
  await visit.ask(visit.root, 'PUT /api/channel/', { id: east, status: 2 })
  await openList()
  const { total } = await visit.ask<{ total: number }>(visit.root, 'GET /api/channel/summary')
  await expectText(new RegExp(`^共 ${total} 个，\\d+ 个启用，1 个手动禁用`))
  await page.getByLabel('按状态筛选').selectOption('手动禁用')
  await expect.poll(names).toEqual(['东区 备用线路'])
  // The row changes without making list or counts wrong.
  await rowButton('东区 备用线路', '启用').click()
  await expectText(new RegExp(`^共 ${total} 个，${total} 个启用$`))
  await closeToasts(page)
  await page.getByLabel('按状态筛选').selectOption('自动禁用')
  await expectText('没有符合筛选条件的渠道')
  await page.getByRole('button', { name: '清除搜索', exact: true }).click()
  await expect.poll(() => loadedRows(page).count()).toBeGreaterThan(1)
  await page.getByLabel('按分组筛选').selectOption('vip')
  await expect.poll(() => names()).toContain('东区 备用线路')
  await page.getByRole('searchbox').fill('备用')
  await expect.poll(names).toEqual(['东区 备用线路'])
  expect(new URL(page.url()).searchParams.get('group')).toBe('vip')
})

test('a search with more results than are returned shows a note instead of a total', async () => {
  await create({
    name: '同名',
    key: Array.from({ length: 1000 }, (_, at) => `sk-${at}`).join('\n'),
  })
  await openList('?keyword=同名')
  await expectText('只显示前 1,000 个结果，请输入更多字符')
  await page.getByRole('navigation', { name: '分页' }).getByText('1–10', { exact: true }).waitFor()
  await openList('?keyword=东区')
  await expect.poll(() => names()).toEqual(['东区 备用线路'])
  expect(await page.getByText('只显示前').count()).toBe(0)
})
