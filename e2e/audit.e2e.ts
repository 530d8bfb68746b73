import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectSeen, loadedRows } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

let visit: Visit
let page: Page

beforeAll(async () => {
  visit = await startVisit()
  ;({ page } = await visit.open('/audit', visit.root))
})
afterAll(() => visit.stop())

const rows = () => loadedRows(page)

test('an empty audit log explains what it will contain', async () => {
  await expectSeen(page.getByText('还没有记录。管理员的修改会出现在这里'))
})

test('lists an administrator’s change with the values before and after', async () => {
  const admin = await visit.person('boss', 10)
  await visit.person('alice')
  const [alice] = await visit.ask<{ id: number }[]>(admin, 'GET /api/user/search?keyword=alice')
  await visit.ask(admin, 'PUT /api/user/', { id: alice?.id, quota: 500_000, password: 'newpass12' })
  await page.getByRole('button', { name: '刷新', exact: true }).click()
  await expect.poll(() => rows().count()).toBe(4)
  const newest = rows().first()
  await expect.poll(() => newest.innerText()).toContain('额度 0 → 500,000')
  await newest.getByRole('button', { name: '编辑用户', exact: true }).click()
  const panel = page.getByRole('complementary')
  await panel.getByText(`alice #${alice?.id}`).waitFor()
  const cells = await panel.getByRole('row').filter({ hasText: '额度' }).innerText()
  expect(cells.split(/\s+/)).toEqual(['额度', '0', '500,000'])
  expect(await panel.innerText()).not.toContain('$2')
  await page.keyboard.press('Escape')
  await expect.poll(() => panel.count()).toBe(0)
})

test('filters by actor, target and action; the address keeps the filters', async () => {
  await page.getByLabel('操作者的用户名或 ID').fill('boss')
  await page.keyboard.press('Enter')
  await expect.poll(() => rows().count()).toBe(1)
  await page.getByRole('button', { name: '清除筛选', exact: true }).press('Enter')
  await expect.poll(() => rows().count()).toBe(4)
  // The button is gone, so the focus moves to the filters.
  await page.getByRole('search').and(page.locator(':focus')).waitFor()
  await page.getByLabel('对象的名称或 ID').fill('boss')
  await page.keyboard.press('Enter')
  await expect.poll(() => rows().count()).toBe(2)
  await page.reload()
  await expect.poll(() => rows().count()).toBe(2)
  await page.getByLabel('对象类型').selectOption({ label: '渠道' })
  await expectSeen(page.getByText('没有符合筛选条件的记录'))
})

test('on a phone, a long name does not hide the action', async () => {
  const name = '很长的名称'.repeat(12)
  await visit.ask(visit.root, 'POST /api/channel/', {
    type: 1,
    key: 'sk-x',
    models: 'gpt-4o-mini',
    name,
  })
  const opened = await visit.open('/audit', visit.root, { width: 390, height: 800 })
  const block = opened.page.getByRole('listitem').filter({ hasText: name })
  const action = block.getByRole('button', { name: '添加渠道', exact: true })
  await action.waitFor()
  const place = action.locator('..')
  expect(await place.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
  expect(await block.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
  await opened.close()
})

test('only root can open it', async () => {
  const admin = await visit.person('second', 10)
  const { page: theirs, close } = await visit.open('/channel', admin)
  await settled(theirs)
  await theirs.getByRole('link', { name: '渠道', exact: true }).waitFor()
  expect(await theirs.getByRole('link', { name: '审计', exact: true }).count()).toBe(0)
  await theirs.goto(`${visit.gatehouse.url}/audit`)
  await theirs.getByRole('heading', { name: '无权访问' }).waitFor()
  await expectSeen(theirs.getByText('此页面仅限超级管理员使用'))
  expect(await theirs.getByRole('table').count()).toBe(0)
  await close()
})

test('exports the entries of the filters as CSV', async () => {
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(`${visit.gatehouse.url}/audit?target=boss`)
  await expect.poll(() => rows().count()).toBe(2)
  await page.getByRole('button', { name: '导出', exact: true }).click()
  const coming = page.waitForEvent('download')
  await page.getByRole('button', { name: '下载文件', exact: true }).click()
  const file = await coming
  expect(file.suggestedFilename()).toBe('audit.csv')
  const text = await readFile(await file.path(), 'utf8')
  expect(text).toContain('"user.create"')
  expect(text.trimEnd().split('\r\n')).toHaveLength(3)
})

test('a failed sign-in and a refused call are entries', async () => {
  const login = { username: 'boss', password: 'not-the-password' }
  await visit.api('POST', '/api/user/login', login)
  await page.goto(`${visit.gatehouse.url}/audit?action=sign_in`)
  await expectSeen(page.getByText('登录失败'))
})

test('root sets retention and sink; an invalid address is refused with the reason', async () => {
  await page.goto(`${visit.gatehouse.url}/setting?tab=operation`)
  const sink = page.getByLabel('审计记录转发地址')
  await sink.fill('syslog://host')
  await page.getByRole('button', { name: '保存审计设置', exact: true }).click()
  await expectSeen(page.getByText(/需要 https:\/\/ 地址/u).first())
})
