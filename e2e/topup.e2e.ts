import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sees, SOON, startConsole, type Console, type Person } from './console-setup.ts'

let world: Console
let user: Person
let page: Page

beforeAll(async () => {
  world = await startConsole()
  user = await world.person('payer')
  ;({ page } = await world.open(user, '/topup'))
})
afterAll(async () => {
  await world.close()
  expect(world.problems).toEqual([])
})

const redeem = async (code: string) => {
  await page.getByLabel('兑换码').fill(code)
  await page.getByRole('button', { name: '兑换', exact: true }).click()
}
const topUp = () => page.getByRole('button', { name: '充值', exact: true })
const balance = () => page.locator('section').filter({ hasText: '剩余额度' }).innerText()

test('nothing is no code', async () => {
  await redeem('   ')
  expect(await sees(page, '请输入充值码！')).toBe(true)
})

test('a code that is wrong, used or disabled is refused with one sentence', async () => {
  await redeem('0'.repeat(32))
  expect(await sees(page, '兑换码无效，或已被使用')).toBe(true)
  expect(await page.getByLabel('兑换码').inputValue()).toBe('0'.repeat(32))
})

test('a good code adds its quota, here and in the bar', async () => {
  const body = { name: 'gift', quota: 1_250_000, count: 1 }
  const [code = ''] = await world.ask<string[]>(world.root, 'POST /api/redemption/', body)
  expect(await balance()).toContain('$0.00')
  await redeem(` ${code} `)
  expect(await sees(page, '充值成功！已增加 $2.50')).toBe(true)
  await expect.poll(balance, SOON).toContain('$2.50')
  await page.getByRole('link', { name: '余额 $2.50' }).waitFor()
  expect(await page.getByLabel('兑换码').inputValue()).toBe('')
})

test('a server that cannot be reached is told', async () => {
  await page.route('**/api/user/topup', (route) => route.abort())
  await redeem('anything')
  expect(await sees(page, '请求失败')).toBe(true)
  await page.unroute('**/api/user/topup')
})

test('without a link there is nowhere to pay', async () => {
  await topUp().click()
  expect(await sees(page, '超级管理员未设置充值链接！')).toBe(true)
})

test('the link is opened with who pays, and a number for the payment', async () => {
  const value = 'https://pay.example/buy?plan=a'
  await world.ask(world.root, 'PUT /api/option/', { key: 'TopUpLink', value })
  await page.context().route('https://pay.example/**', (route) => route.fulfill({ body: 'paid' }))
  const { id } = await world.ask<{ id: number }>(user, 'GET /api/user/self')
  await page.reload()
  const opened = async () => {
    const [popup] = await Promise.all([page.context().waitForEvent('page'), topUp().click()])
    await popup.waitForURL('https://pay.example/**')
    const address = new URL(popup.url())
    expect(await popup.evaluate(() => window.opener)).toBeNull()
    await popup.close()
    return address.searchParams
  }
  await page.getByLabel('兑换码').waitFor()
  const query = await opened()
  expect(Object.fromEntries(query)).toEqual({
    plan: 'a',
    username: 'payer',
    user_id: String(id),
    transaction_id: expect.stringMatching(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    ),
  })
  expect((await opened()).get('transaction_id')).not.toBe(query.get('transaction_id'))
})
