import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sees, SOON, startConsole, type Console } from './console-setup.ts'

let world: Console
let page: Page

beforeAll(async () => {
  world = await startConsole()
  ;({ page } = await world.open(world.root, '/audit'))
})
afterAll(async () => {
  await world.close()
  expect(world.problems).toEqual([])
})

const rows = () => page.locator('tbody tr')

test('an empty audit says what will be there', async () => {
  expect(await sees(page, '还没有记录。管理员的修改会出现在这里')).toBe(true)
})

test('what an admin does is there, with before and after', async () => {
  const admin = await world.person('boss', 'admin')
  await world.person('alice')
  const [alice] = await world.ask<{ id: number }[]>(admin, 'GET /api/user/search?keyword=alice')
  await world.ask(admin, 'PUT /api/user/', { id: alice?.id, quota: 500_000, password: 'newpass12' })
  await page.getByRole('button', { name: '刷新' }).click()
  await expect.poll(() => rows().count(), SOON).toBe(4)
  const newest = rows().first()
  expect(await newest.innerText()).toContain('quota 0 → 500000')
  await newest.getByRole('button', { name: '编辑用户' }).click()
  const panel = page.getByRole('complementary')
  await panel.getByText(`alice #${alice?.id}`).waitFor()
  const cells = await panel.getByRole('row').filter({ hasText: 'quota' }).innerText()
  expect(cells.split(/\s+/)).toEqual(['quota', '0', '500000'])
  expect(await panel.innerText()).not.toContain('$2')
  await page.keyboard.press('Escape')
  await expect.poll(() => panel.count(), SOON).toBe(0)
})

test('is filtered by who, whom and what, and the address keeps it', async () => {
  await page.getByLabel('操作者的用户名或 ID').fill('boss')
  await page.keyboard.press('Enter')
  await expect.poll(() => rows().count(), SOON).toBe(1)
  await page.getByRole('button', { name: '清除筛选' }).click()
  await expect.poll(() => rows().count(), SOON).toBe(4)
  await page.getByLabel('对象的名称或 ID').fill('boss')
  await page.keyboard.press('Enter')
  await expect.poll(() => rows().count(), SOON).toBe(2)
  await page.reload()
  await expect.poll(() => rows().count(), SOON).toBe(2)
  await page.getByLabel('对象类型').selectOption({ label: '渠道' })
  expect(await sees(page, '没有符合筛选条件的记录')).toBe(true)
})

test('is root’s alone', async () => {
  const admin = await world.person('second', 'admin')
  const { page: theirs, context } = await world.open(admin, '/channel')
  await theirs.getByRole('link', { name: '渠道', exact: true }).waitFor()
  expect(await theirs.getByRole('link', { name: '审计', exact: true }).count()).toBe(0)
  await theirs.goto(`${world.gatehouse.url}/audit`)
  await theirs.locator('h1').first().waitFor()
  expect(await theirs.getByRole('table').count()).toBe(0)
  await context.close()
})
