import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Person, type Visit } from './visit.ts'

let visit: Visit
let user: Person
let page: Page

beforeAll(async () => {
  visit = await startVisit()
  user = await visit.person('payer')
  ;({ page } = await visit.open('/topup', user))
})
afterAll(() => visit.stop())

const redeem = async (code: string) => {
  await page.getByLabel('兑换码').fill(code)
  await page.getByRole('button', { name: '兑换', exact: true }).click()
}
const topUp = () => page.getByRole('button', { name: '充值', exact: true })
const balance = () => page.locator('section').filter({ hasText: '剩余额度' }).innerText()

test('an empty code is rejected', async () => {
  await redeem('   ')
  await expectSeen(page.getByText('请输入兑换码！'))
})

test('a wrong code is rejected, and stays for correction', async () => {
  await redeem('0'.repeat(32))
  await expectSeen(page.getByText('兑换码无效'))
  await expect.poll(() => page.getByLabel('兑换码').inputValue()).toBe('0'.repeat(32))
})

test('a valid code adds its quota, here and in the bar', async () => {
  const body = { name: 'gift', quota: 1_250_000, count: 1 }
  const [code = ''] = await visit.ask<string[]>(visit.root, 'POST /api/redemption/', body)
  await expect.poll(balance).toContain('$0.00')
  await redeem(` ${code} `)
  await expectSeen(page.getByText('充值成功！已增加 $2.50'))
  await expect.poll(balance).toContain('$2.50')
  await page.getByRole('link', { name: '余额 $2.50', exact: true }).waitFor()
  await expect.poll(() => page.getByLabel('兑换码').inputValue()).toBe('')
})

test('reports an unreachable server', async () => {
  await page.route('**/api/user/topup', (route) => route.abort())
  await redeem('anything')
  await expectSeen(page.getByText(/^请求失败：/))
  // The focus stays on the button.
  const button = page.getByRole('button', { name: '兑换', exact: true })
  await button.and(page.locator(':focus')).waitFor()
  await page.unroute('**/api/user/topup')
})

test('a redeemed code with a lost response shows in the balance', async () => {
  const body = { name: 'lost', quota: 500_000, count: 1 }
  const [code = ''] = await visit.ask<string[]>(visit.root, 'POST /api/redemption/', body)
  await page.route('**/api/user/topup', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await redeem(code)
  await expect.poll(balance).toContain('$3.50')
  await page.unroute('**/api/user/topup')
})

test('an account in debt sees this and what the next top-up does', async () => {
  const { page: other, context } = await visit.open('/about', user)
  await settled(other)
  await context.route('**/api/user/self', async (route) => {
    const answer = await route.fetch()
    const { data, ...rest } = await answer.json()
    await route.fulfill({ response: answer, json: { ...rest, data: { ...data, quota: -1250 } } })
  })
  await other.goto(`${visit.gatehouse.url}/topup`)
  await expectSeen(other.getByText(/欠费 \$0\.00250*：还清之前无法调用/))
  await context.close()
})

test('a server error is reported by a toast and in its place', async () => {
  const { page: other, context } = await visit.open('/about', user)
  await settled(other)
  await context.route('**/api/user/self', (route) => route.fulfill({ status: 500, body: '' }))
  await other.goto(`${visit.gatehouse.url}/topup`)
  await expectSeen(other.getByText('错误：服务器内部错误，请联系管理员！'))
  await expectSeen(other.getByRole('main').getByText('服务器内部错误，请联系管理员！'))
  await context.close()
})

test('an ended session leads to the sign-in page, which reports it', async () => {
  const { page: other, context } = await visit.open('/topup', user)
  await settled(other)
  await context.clearCookies()
  const redeemThere = async () => {
    await other.getByLabel('兑换码').fill('anything')
    await other.getByRole('button', { name: '兑换', exact: true }).click()
  }
  // A background request may detect this first and remove the form.
  await Promise.race([redeemThere(), other.waitForURL('**/login?expired=true')])
  await other.waitForURL('**/login?expired=true')
  await settled(other)
  expect(await other.getByText('请求失败').count()).toBe(0)
  await context.close()
})

test('without a link, there is no way to pay', async () => {
  await topUp().click()
  await expectSeen(page.getByText('超级管理员未设置充值链接！'))
  expect(await page.getByText('可在充值页面购买').count()).toBe(0)
})

test('the link is opened with the payer and a transaction id', async () => {
  const value = 'https://pay.example/buy?plan=a'
  await visit.ask(visit.root, 'PUT /api/option/', { key: 'TopUpLink', value })
  await page.context().route('https://pay.example/**', (route) => route.fulfill({ body: 'paid' }))
  const { id } = await visit.ask<{ id: number }>(user, 'GET /api/user/self')
  await page.reload()
  const opened = async () => {
    const [popup] = await Promise.all([page.context().waitForEvent('page'), topUp().click()])
    await popup.waitForURL('https://pay.example/**')
    const address = new URL(popup.url())
    expect(await popup.evaluate(() => window.opener)).toBeNull()
    await popup.close()
    return address.searchParams
  }
  // Until the server responds, the page uses the stored link.
  await settled(page)
  await expectSeen(page.getByText('没有兑换码？可在充值页面购买'))
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
