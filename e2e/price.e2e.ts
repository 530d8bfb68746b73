import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { answerLikeOneApi, startVisit, type Person, type Visit, type VisitedPage } from './visit.ts'

/** 设置 → 模型价格, for an ordinary user. */

let visit: Visit
let somebody: Person

beforeAll(async () => {
  visit = await startVisit()
  await visit.setOption(
    'ModelRatio',
    '{"plain":0.5,"third":0.33333333,"tiny":0.000075,"gpt-4o-mini":0.075,"mine":1.25}',
  )
  await visit.setOption('CompletionRatio', '{"plain":2,"mine":3.5}')
  await visit.setOption('GroupRatio', '{"default":1,"vip":0.5,"secret":0.1}')
  await visit.setOption('UserUsableGroups', '{"vip":"faster"}')
  await visit.setOption('ModelPrice', '{"by-call":0.5}')
  somebody = await visit.person('somebody')
})
afterAll(() => visit.stop())

const rowOf = ({ page }: VisitedPage, model: string) =>
  page.getByRole('row').filter({ has: page.getByText(model, { exact: true }) })

test('shows the ratio, the price in dollars with four decimals, and the completion price', async () => {
  const visited = await visit.open('/setting?tab=price', somebody)
  const { page, problems } = visited
  for (const [model, cells] of [
    ['mine', ['1.25', '$2.5000', '$8.7500', '$2.5000 / $8.7500']],
    ['plain', ['0.5', '$1.0000', '$2.0000', '$1.0000 / $2.0000']],
    // The completion ratio is inferred from the name: four times as much.
    ['gpt-4o-mini', ['0.075', '$0.1500', '$0.6000', '$0.1500 / $0.6000']],
    // Rounded half up, once at the end.
    ['third', ['0.33333333', '$0.6667', '$0.6667', '$0.6667 / $0.6667']],
    ['tiny', ['0.000075', '$0.0002', '$0.0002', '$0.0002 / $0.0002']],
  ] as const) {
    await page.getByRole('searchbox', { name: '搜索模型' }).fill(model)
    const row = rowOf(visited, model)
    await row.waitFor()
    const shown = async () => {
      const [name = '', ...figures] = await row.getByRole('cell').allTextContents()
      return [name.replace(/缓存命中.*/, ''), ...figures]
    }
    await expect.poll(shown).toEqual([model, ...cells])
  }
  expect(problems).toEqual([])
  await visited.close()
})

test('shows the price in a group', async () => {
  const visited = await visit.open('/setting?tab=price', somebody)
  const { page } = visited
  await page.getByRole('searchbox', { name: '搜索模型' }).fill('mine')
  await page.getByLabel('分组', { exact: true }).selectOption('vip')
  await page.getByText('vip 分组：提示 / 补全').waitFor()
  await expect
    .poll(() => rowOf(visited, 'mine').getByRole('cell').last().textContent())
    .toBe('$1.2500 / $4.3750')
  await visited.close()
})

test('lists only groups that the reader can choose', async () => {
  const groups = async (person: Person) => {
    const { group_ratio: ratios } = await visit.ask<{ group_ratio: string }>(
      person,
      'GET /api/prices',
    )
    return Object.keys(JSON.parse(ratios))
  }
  expect(await groups(somebody)).toEqual(['default', 'vip'])
  expect(await groups(visit.root)).toEqual(['default', 'vip', 'secret'])
})

test('shows a price per call, and one for channels of a type', async () => {
  const visited = await visit.open('/setting?tab=price', somebody)
  const { page, context } = visited
  await page.getByLabel('分组', { exact: true }).selectOption('vip')
  await page.getByRole('searchbox', { name: '搜索模型' }).fill('by-call')
  await expect
    .poll(() => rowOf(visited, 'by-call').getByRole('cell').allTextContents())
    .toEqual(['by-call', '–', '$0.5000 / 次', '–', '$0.2500 / 次'])
  await page.getByRole('searchbox', { name: '搜索模型' }).fill('google/gemma-3-12b-it')
  await expect
    .poll(() => rowOf(visited, 'google/gemma-3-12b-it').last().getByRole('cell').allTextContents())
    .toEqual([
      'google/gemma-3-12b-it仅 OpenRouter 渠道',
      '0.025',
      '$0.0500',
      '$0.1500',
      '$0.0250 / $0.0750',
    ])
  await context.close()
})

test('a search narrows the list; without results it shows a message', async () => {
  const { page, close } = await visit.open('/setting?tab=price', somebody)
  await page.getByRole('searchbox', { name: '搜索模型' }).fill('no such model')
  await page.getByText('没有名称含有「no such model」的模型').waitFor()
  expect(await page.getByRole('region', { name: '模型价格' }).count()).toBe(0)
  await close()
})

test('prices stay visible when a refresh fails', async () => {
  const visited = await visit.open('/setting?tab=price', somebody)
  const { page, context } = visited
  await page.getByRole('searchbox', { name: '搜索模型' }).fill('mine')
  await rowOf(visited, 'mine').waitFor()
  await settled(page)
  await page.route('**/api/**', (route) => route.abort())
  // Simulates returning to the window a minute later.
  await page.evaluate(() => {
    const now = Date.now
    Date.now = () => now() + 60_000
    window.dispatchEvent(new Event('visibilitychange'))
  })
  await page.getByText('错误：无法连接服务器，请检查网络后重试').first().waitFor()
  await expect.poll(() => rowOf(visited, 'mine').count()).toBe(1)
  await context.close()
})

test('with thousands of models, only visible rows are rendered', async () => {
  const { page, close } = await visit.open('/setting?tab=price', somebody)
  const box = page.getByRole('region', { name: '模型价格' })
  await box.waitFor()
  await settled(page)
  const total = Number(await box.getByRole('table').getAttribute('aria-rowcount'))
  expect(total).toBeGreaterThan(1000)
  await expect.poll(() => box.getByRole('row').count()).toBeLessThan(80)
  await expect
    .poll(async () => {
      await box.evaluate((element) => element.scrollTo(0, element.scrollHeight))
      return box.getByRole('row').last().getAttribute('aria-rowindex')
    })
    .toBe(String(total))
  await close()
})

test('reports invalid ratios', async () => {
  const { page, close } = await visit.open('/about', somebody)
  await page.route('**/api/prices', (route) =>
    route.fulfill({
      json: {
        success: true,
        message: '',
        data: { model_ratio: '{"a":', completion_ratio: '{}', group_ratio: '{}' },
      },
    }),
  )
  await page.goto(`${visit.gatehouse.url}/setting?tab=price`)
  // In its place and as a toast.
  await page.getByText('模型倍率不是有效的 JSON').nth(1).waitFor()
  await expect.poll(() => page.getByText('模型倍率不是有效的 JSON').count()).toBe(2)
  await close()
})

test('with a One API server, only root sees ratios, in the settings', async () => {
  const opened = await visit.open('/about', visit.root)
  const { page, context } = opened
  await answerLikeOneApi(page)
  await page.route('**/api/option/', (route) =>
    route.fulfill({
      json: {
        success: true,
        message: '',
        data: [
          { key: 'ModelRatio', value: '{"foreign":2}' },
          { key: 'CompletionRatio', value: '{}' },
          { key: 'GroupRatio', value: '{"default":1}' },
        ],
      },
    }),
  )
  await page.goto(`${visit.gatehouse.url}/setting?tab=price`)
  const row = rowOf(opened, 'foreign')
  await row.waitFor()
  await expect
    .poll(() => row.getByRole('cell').allTextContents())
    .toEqual(['foreign', '2', '$4.0000', '–', '$4.0000 / –'])
  await context.close()
})

test.each([
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1280, height: 900 },
])('at $width px the list scrolls instead of the page', async (screen) => {
  const { page, close } = await visit.open('/setting?tab=price', somebody, screen)
  await settled(page)
  const beyond = await page.evaluate(() => {
    const { scrollHeight, clientHeight } = document.documentElement
    return scrollHeight - clientHeight
  })
  expect(beyond).toBe(0)
  // The user's own price is visible.
  const own = page.getByText(/default 分组/).last()
  const { x = 0, width = 0 } = (await own.boundingBox()) ?? {}
  expect(x + width).toBeGreaterThan(0)
  expect(x + width).toBeLessThanOrEqual(screen.width)
  await close()
})

test('on a phone, each model is a block with both prices of the group', async () => {
  const { page, close, problems } = await visit.open('/setting?tab=price', somebody, {
    width: 390,
    height: 800,
  })
  await page.getByRole('searchbox', { name: '搜索模型' }).fill('mine')
  await page.getByText('补全 $8.7500', { exact: true }).waitFor()
  await page.getByText('default 分组 $2.5000 / $8.7500', { exact: true }).waitFor()
  await page.getByText('倍率 1.25', { exact: true }).waitFor()
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  )
  expect(overflow).toBe(0)
  expect(problems).toEqual([])
  await close()
})

test('on a phone, a long group name leaves space for its prices', async () => {
  const { page, close } = await visit.open('/about', somebody, { width: 390, height: 800 })
  const name = 'the-research-group-for-large-computers'
  await page.route('**/api/prices', async (route) => {
    const { data, ...rest } = Object(await (await route.fetch()).json())
    const group_ratio = JSON.stringify({ default: 1, [name]: 12.5 })
    await route.fulfill({ json: { ...rest, data: { ...data, group_ratio } } })
  })
  await page.goto(`${visit.gatehouse.url}/setting?tab=price`)
  await page.getByRole('searchbox', { name: '搜索模型' }).fill('mine')
  await page.getByLabel('分组', { exact: true }).selectOption(name)
  const prices = page.getByText('$31.2500 / $109.3750', { exact: true })
  await expectSeen(prices)
  const cell = await page.getByRole('cell').filter({ has: prices }).boundingBox()
  const box = await prices.boundingBox()
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual((cell?.x ?? 0) + (cell?.width ?? 0))
  expect(await prices.evaluate((text) => text.scrollWidth > text.clientWidth)).toBe(false)
  await close()
})

test('if models can be called, only those are shown until all are requested', async () => {
  const fields = { name: 'one', type: 1, key: 'sk-one', models: 'mine', groups: ['default'] }
  await visit.api('POST', '/api/channel/', fields)
  const { page, close } = await visit.open('/setting?tab=price', somebody)
  await page.getByText('1 个', { exact: true }).waitFor()
  await page.getByLabel('只看可调用的模型').uncheck()
  const box = page.getByRole('region', { name: '模型价格' })
  await expect
    .poll(async () => Number(await box.getByRole('table').getAttribute('aria-rowcount')))
    .toBeGreaterThan(1000)
  await close()
})
