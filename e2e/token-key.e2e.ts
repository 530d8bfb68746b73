import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { violations } from './axe.ts'
import { expectAt, expectSeen } from './expect-page.ts'
import { startVisit, type Person, type Visit } from './visit.ts'

let visit: Visit
let amy: Person
let page: Page

interface Token {
  key: string
  name: string
  previous_key_until: number
}

const token = async (name: string) =>
  (await visit.ask<Token[]>(amy, 'GET /api/token/')).find((one) => one.name === name)
const row = (name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
const dialog = () => page.getByRole('dialog')
const press = (name: string) => dialog().getByRole('button', { name, exact: true }).click()

async function openReplacement(name: string): Promise<void> {
  await row(name).getByRole('button', { name: '更多密钥操作', exact: true }).click()
  await page.getByRole('menuitem', { name: '更换密钥', exact: true }).click()
  await dialog().waitFor()
}

beforeAll(async () => {
  visit = await startVisit()
  amy = await visit.person('amy')
  await visit.ask(amy, 'POST /api/token/', { name: 'plain' })
  ;({ page } = await visit.open('/token', amy))
})
afterAll(() => visit.stop())

test('a replaced key works on for the chosen time, which can be ended', async () => {
  const before = await token('plain')
  await openReplacement('plain')
  expect(await violations(page)).toEqual([])
  await dialog().getByLabel('现在的密钥').selectOption({ label: '再用七天' })
  await press('更换密钥')
  await expectSeen(dialog().getByText(/^sk-\w{48}$/))
  const after = await token('plain')
  expect(after?.key).not.toBe(before?.key)
  await expectSeen(dialog().getByText(`sk-${after?.key}`))
  expect((after?.previous_key_until ?? 0) - Date.now() / 1000).toBeCloseTo(7 * 86_400, -2)
  await press('关闭')
  await expectSeen(row('plain').getByText('旧密钥可用到'))
  // The note does not take the space of the name.
  const name = row('plain').getByText('plain', { exact: true })
  expect(await name.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
  await openReplacement('plain')
  await press('让旧密钥立即失效')
  await expect.poll(async () => (await token('plain'))?.previous_key_until).toBe(0)
  await expect.poll(() => page.getByText('旧密钥可用到').count()).toBe(0)
})

test('a key that is shown once is shown after creation, and cannot be copied later', async () => {
  await visit.setOption('TokensShownOnce', 'true')
  await page.goto(`${visit.gatehouse.url}/token/add`)
  await page.getByLabel('名称 *').fill('once')
  await page.getByRole('button', { name: '创建', exact: true }).click()
  await expectSeen(dialog().getByText('密钥只显示这一次，请立即复制保存'))
  const key = await dialog()
    .getByText(/^sk-\w{48}$/)
    .textContent()
  await press('关闭')
  await expectAt(page, '**/token')
  await expectSeen(page.getByText('令牌已创建', { exact: true }))
  expect((await token('once'))?.key).toBe(`${key?.slice(3, 7)}****${key?.slice(-4)}`)
  await expectSeen(row('once').getByText(`${key?.slice(0, 7)}…${key?.slice(-4)}`))
  expect(await row('once').getByRole('button', { name: '复制', exact: true }).count()).toBe(0)
  await openReplacement('once')
  await press('更换密钥')
  await expectSeen(dialog().getByText('密钥只显示这一次，请立即复制保存'))
})
