import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { sees, SOON, startConsole, type Console, type Person } from './console-setup.ts'
import { expectSeen } from './expect-page.ts'

/** What the log page of an administrator shows before and after it is filtered. */

const MODEL = 'gpt-4o-mini'
const CALLS = 12

let world: Console
let upstream: Awaited<ReturnType<typeof startFakeUpstream>>
let page: Page

async function callModel(as: Person): Promise<void> {
  const [token] = await world.ask<{ key: string }[]>(as, 'GET /api/token/')
  const answer = await fetch(`${world.gatehouse.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${token?.key}` },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  if (!answer.ok) throw new Error(await answer.text())
  await answer.text()
}

beforeAll(async () => {
  world = await startConsole()
  upstream = await startFakeUpstream()
  await world.ask(world.root, 'POST /api/channel/', {
    name: 'upstream',
    type: 1,
    key: 'sk-upstream',
    base_url: upstream.url,
    models: MODEL,
    group: 'default',
  })
  const amy = await world.person('amy')
  const found = await world.ask<{ id: number }[]>(world.root, 'GET /api/user/search?keyword=amy')
  await world.ask(world.root, 'PUT /api/user/', { id: found[0]?.id, quota: 1_000_000 })
  for (const person of [world.root, amy]) {
    const body = { name: `of ${person.username}`, unlimited_quota: true }
    await world.ask(person, 'POST /api/token/', body)
  }
  for (let i = 0; i < CALLS; i += 1) await callModel(world.root)
  await callModel(amy)
  ;({ page } = await world.open(world.root, '/log'))
  await rows().first().waitFor()
})
afterAll(async () => {
  await world.close()
  await upstream.close()
  expect(world.problems).toEqual([])
})

const rows = () => page.locator('tbody tr')
const field = (name: string) => page.getByLabel(name, { exact: true })

test('everybody’s rows, ten a page, newest first', async () => {
  await expect.poll(() => rows().count(), SOON).toBe(10)
  const heads = await page.getByRole('columnheader').allInnerTexts()
  expect(heads.map((head) => head.trim())).toEqual([
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
  await expect
    .poll(() => rows().first().innerText(), SOON)
    .toMatch(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d/)
})

test('all types, everything so far, and an hour to come', async () => {
  expect(await field('日志类型').inputValue()).toBe('0')
  const types = await field('日志类型').locator('option').allInnerTexts()
  expect(types).toEqual(['全部类型', '充值', '消费', '管理', '系统', '测试'])
  expect(await field('开始时间').inputValue()).toMatch(/^(1970-01-01|1969-12-31)/)
  const end = Date.parse(await field('结束时间').inputValue())
  expect(Math.abs(end - Date.now() - 3_600_000)).toBeLessThan(300_000)
})

test('by user, channel and type; the address keeps them', async () => {
  await field('用户名').fill('amy')
  await field('渠道 ID').fill('1')
  await field('日志类型').selectOption({ label: '消费' })
  await page.getByRole('button', { name: '查询' }).click()
  await expect.poll(() => rows().count(), SOON).toBe(1)
  expect(await rows().innerText()).toContain('of amy')
  await page.reload()
  await expect.poll(() => rows().count(), SOON).toBe(1)
})

test('statistics are hidden again by another filter', async () => {
  await page.getByText('点击查看统计').click()
  await page.getByText(/[\d,]+ 点/).waitFor()
  await field('用户名').fill('root')
  await field('用户名').press('Enter')
  await expectSeen(page.getByText('点击查看统计'))
})

test('a deletion needs a time, and says when it does not come through', async () => {
  await page.getByRole('button', { name: '清理历史日志' }).click()
  const before = await field('清理到').inputValue()
  await field('清理到').fill('')
  await page.getByRole('button', { name: '删除日志' }).click()
  expect(await sees(page, '请选择有效的时间')).toBe(true)
  await page.route('**/api/log/?target_timestamp=*', (route) => route.abort())
  await field('清理到').fill(before)
  await page.getByRole('button', { name: '删除日志' }).click()
  expect(await sees(page, '删除失败，请稍后再试')).toBe(true)
})
