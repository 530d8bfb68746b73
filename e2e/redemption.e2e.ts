import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sees, SOON, startConsole, type Console } from './console-setup.ts'

let world: Console
let page: Page

beforeAll(async () => {
  world = await startConsole()
  ;({ page } = await world.open(world.root, '/redemption'))
})
afterAll(async () => {
  await world.close()
  expect(world.problems).toEqual([])
})

interface Code {
  id: number
  key: string
  status: number
  name: string
  quota: number
}
const codes = () => world.ask<Code[]>(world.root, 'GET /api/redemption/')
const field = (name: string) => page.getByLabel(name, { exact: true })
const submit = (name: string) => page.getByRole('button', { name, exact: true }).click()
const row = (id: number) =>
  page.getByRole('row').filter({ has: page.getByRole('cell', { name: String(id), exact: true }) })
const action = (id: number, label: string) =>
  row(id).getByRole('button', { name: label, exact: true })

test('an empty list says what codes are for', async () => {
  expect(await sees(page, '还没有兑换码。用户凭兑换码为自己充值')).toBe(true)
  await page.getByRole('link', { name: '添加兑换码' }).first().click()
  await page.waitForURL('**/redemption/add')
})

test('the form offers one code worth 100000 and needs a name', async () => {
  expect(await field('额度').inputValue()).toBe('100000')
  expect(await field('生成数量').inputValue()).toBe('1')
  await field('额度').fill('-1')
  await field('生成数量').fill('101')
  await submit('创建')
  expect(await sees(page, '请输入兑换码名称')).toBe(true)
  expect(await sees(page, '额度必须是不小于 0 的整数，例如 500000')).toBe(true)
  expect(await sees(page, '生成数量必须是 1 到 100 的整数，例如 10')).toBe(true)
  expect(await codes()).toEqual([])
})

test('new codes are downloaded, one a line, in a file of their name', async () => {
  await field('名称 *').fill('新年/活动')
  await field('额度').fill('250000')
  await field('生成数量').fill('3')
  const [download] = await Promise.all([page.waitForEvent('download'), submit('创建')])
  expect(await sees(page, '兑换码创建成功！')).toBe(true)
  await page.waitForURL('**/redemption')
  expect(download.suggestedFilename()).toBe('新年_活动.txt')
  const text = await readFile(await download.path(), 'utf8')
  const made = await codes()
  expect(text).toBe(
    made
      .toReversed()
      .map(({ key }) => `${key}\n`)
      .join(''),
  )
  const cells = await row(made[0]?.id ?? 0)
    .getByRole('cell')
    .allInnerTexts()
  expect(cells.slice(2, 4)).toEqual(['未使用', '$0.50'])
  expect(cells[5]).toBe('尚未兑换')
})

test('the columns are those of the specification', async () => {
  const heads = await page.getByRole('columnheader').allInnerTexts()
  expect(heads.map((head) => head.trim()).slice(0, -1)).toEqual([
    'ID',
    '名称',
    '状态',
    '额度',
    '创建时间',
    '兑换时间',
  ])
})

test('a code is copied; where the clipboard is closed it lands in the search box', async () => {
  const [code] = await codes()
  await action(code?.id ?? 0, '复制').click()
  expect(await sees(page, '已复制到剪贴板！')).toBe(true)
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code?.key)
  await page.evaluate(() => {
    Object.defineProperty(navigator, 'clipboard', { value: undefined })
    document.execCommand = () => false
  })
  await action(code?.id ?? 0, '复制').click()
  expect(await sees(page, '无法复制到剪贴板，请手动复制，已将兑换码填入搜索框')).toBe(true)
  expect(await page.getByRole('searchbox').inputValue()).toBe(code?.key)
  expect(page.url()).not.toContain(code?.key)
  await page.reload()
})

test('disabling and enabling answer in the row', async () => {
  const id = (await codes())[0]?.id ?? 0
  await action(id, '禁用').click()
  await row(id).getByText('已禁用').waitFor()
  expect(await sees(page, '操作成功完成！')).toBe(true)
  await action(id, '启用').click()
  await row(id).getByText('未使用').waitFor()
})

test('a used code can neither be enabled nor disabled, and keeps its quota', async () => {
  const [, used] = await codes()
  const user = await world.person('payer')
  await world.ask(user, 'POST /api/user/topup', { key: used?.key })
  await page.reload()
  const id = used?.id ?? 0
  await row(id).getByText('已使用').waitFor()
  const toggle = action(id, '禁用')
  expect(await toggle.isDisabled()).toBe(true)
  expect(await toggle.getAttribute('title')).toBe('已使用的兑换码不能再启用或禁用')
  await row(id).getByRole('link', { name: '编辑' }).click()
  await expect.poll(() => field('额度').isDisabled(), SOON).toBe(true)
  await submit('取消')
})

test('a code that was used meanwhile is not enabled again', async () => {
  const [, , code] = await codes()
  await row(code?.id ?? 0).waitFor()
  const user = await world.person('quick')
  await world.ask(user, 'POST /api/user/topup', { key: code?.key })
  await action(code?.id ?? 0, '禁用').click()
  expect(await sees(page, '该兑换码已被使用，不能再启用、禁用或修改额度')).toBe(true)
})

test('editing changes name and quota', async () => {
  const id = (await codes())[0]?.id ?? 0
  await row(id).getByRole('link', { name: '编辑' }).click()
  await expect.poll(() => field('名称').inputValue(), SOON).toBe('新年/活动')
  expect(await field('生成数量').count()).toBe(0)
  await field('名称').fill('夏季')
  await field('额度').fill('300000')
  expect(await sees(page, '额度 250000 → 300000')).toBe(true)
  await submit('保存')
  expect(await sees(page, '兑换码更新成功！')).toBe(true)
  await row(id).getByText('夏季').waitFor()
  expect((await codes())[0]).toMatchObject({ name: '夏季', quota: 300_000 })
})

test('search finds by id and by name', async () => {
  const id = (await codes())[1]?.id ?? 0
  const search = page.getByRole('searchbox')
  await search.fill(String(id))
  await expect.poll(() => page.getByRole('row').count(), SOON).toBe(2)
  await search.fill('夏')
  await expect.poll(() => page.getByRole('row').count(), SOON).toBe(2)
  await row((await codes())[0]?.id ?? 0).waitFor()
  await search.fill('冬')
  expect(await sees(page, '没有 ID 是「冬」或名称以它开头的兑换码')).toBe(true)
  await search.fill('')
  await expect.poll(() => page.getByRole('row').count(), SOON).toBe(4)
})

test('deleting asks first', async () => {
  const id = (await codes())[0]?.id ?? 0
  await action(id, '删除').click()
  const popup = page.getByRole('dialog')
  expect(await sees(popup, '删除兑换码「夏季」？还没有兑换的人将无法再使用它')).toBe(true)
  await popup.getByRole('button', { name: '删除兑换码' }).click()
  expect(await sees(page, '操作成功完成！')).toBe(true)
  await expect.poll(() => row(id).count(), SOON).toBe(0)
  expect((await codes()).map((code) => code.id)).not.toContain(id)
})
