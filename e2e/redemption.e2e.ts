import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  actionTops,
  clipboard,
  columnHeads,
  expectSeen,
  hiddenColumns,
  loadedRows,
} from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

let visit: Visit
let page: Page

beforeAll(async () => {
  visit = await startVisit()
  ;({ page } = await visit.open('/redemption', visit.root))
})
afterAll(() => visit.stop())

interface Code {
  id: number
  key: string
  status: number
  name: string
  quota: number
}
const codes = () => visit.ask<Code[]>(visit.root, 'GET /api/redemption/')
const field = (name: string) => page.getByLabel(name, { exact: true })
const submit = (name: string) => page.getByRole('button', { name, exact: true }).click()
const row = (id: number) =>
  page.getByRole('row').filter({ has: page.getByRole('cell', { name: String(id), exact: true }) })
const action = (id: number, label: string) =>
  row(id).getByRole('button', { name: label, exact: true })

test('an empty list explains what codes are for', async () => {
  await expectSeen(page.getByText('还没有兑换码。用户凭兑换码为自己充值'))
  await page.getByRole('link', { name: '添加兑换码', exact: true }).first().click()
  await page.waitForURL('**/redemption/add')
})

test('the form defaults to one code worth 100000 and requires a name', async () => {
  await expect.poll(() => field('额度').inputValue()).toBe('100000')
  await expect.poll(() => field('生成数量').inputValue()).toBe('1')
  await field('额度').fill('-1')
  await field('生成数量').fill('101')
  await submit('创建')
  await expectSeen(page.getByText('请输入兑换码名称'))
  await expectSeen(page.getByText('额度必须是 1 到 1125899906842624 的整数，例如 500000'))
  await expectSeen(page.getByText('生成数量必须是 1 到 100 的整数，例如 10'))
  expect(await codes()).toEqual([])
})

test('new codes are downloaded, one per line, in a file with their name', async () => {
  await field('名称 *').fill('新年/活动')
  await field('额度').fill('250000')
  await field('生成数量').fill('3')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    expectSeen(page.getByText('兑换码创建成功！')),
    submit('创建'),
  ])
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
  const cells = () =>
    row(made[0]?.id ?? 0)
      .getByRole('cell')
      .allInnerTexts()
  await expect.poll(async () => (await cells()).slice(2, 4)).toEqual(['未使用', '$0.50'])
  expect((await cells())[5]).toBe('尚未兑换')
})

test('has the columns of the specification', async () => {
  await expect
    .poll(() => columnHeads(page))
    .toEqual(['ID', '名称', '状态', '额度', '创建时间', '兑换时间', '操作'])
})

test.each(['zh', 'en'] as const)(
  'shows all columns at 1024 px with actions on one line: %s',
  async (language) => {
    const opened = await visit.open('/redemption', visit.root, { width: 1024, language })
    await loadedRows(opened.page).first().waitFor()
    await settled(opened.page)
    expect(await hiddenColumns(opened.page)).toEqual([])
    expect(await actionTops(opened.page)).toHaveLength(1)
    await opened.close()
  },
)

test('a phone shows the content of all columns', async () => {
  const opened = await visit.open('/redemption', visit.root, { width: 390 })
  const block = opened.page.getByRole('listitem').first()
  await expectSeen(block.getByText(/^ID \d+$/))
  await expectSeen(block.getByText(/^创建于 \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/))
  await expectSeen(block.getByText('尚未兑换'))
  await opened.close()
})

test('copies a code; without a clipboard it is put into the search box', async () => {
  const [code] = await codes()
  await action(code?.id ?? 0, '复制').click()
  await expectSeen(page.getByText('已复制到剪贴板！'))
  expect(await clipboard(page)).toBe(code?.key)
  await page.evaluate(() => {
    Object.defineProperty(navigator, 'clipboard', { value: undefined })
    document.execCommand = () => false
  })
  await action(code?.id ?? 0, '复制').click()
  await expectSeen(page.getByText('无法复制到剪贴板，请手动复制，已将兑换码填入搜索框'))
  await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe(code?.key)
  expect(page.url()).not.toContain(code?.key)
  await page.reload()
})

test('disables and enables in the row', async () => {
  const id = (await codes())[0]?.id ?? 0
  await action(id, '禁用').click()
  await expectSeen(page.getByText('操作成功完成！'))
  await row(id).getByText('已禁用').waitFor()
  await action(id, '启用').click()
  await row(id).getByText('未使用').waitFor()
})

test('a used code cannot be enabled or disabled, and keeps its quota', async () => {
  const [, used] = await codes()
  const user = await visit.person('payer')
  await visit.ask(user, 'POST /api/user/topup', { key: used?.key })
  await page.reload()
  const id = used?.id ?? 0
  await row(id).getByText('已使用').waitFor()
  const toggle = action(id, '禁用')
  await expect.poll(() => toggle.isDisabled()).toBe(true)
  await expect.poll(() => toggle.getAttribute('title')).toBe('已使用的兑换码不能再启用或禁用')
  await row(id).getByRole('link', { name: '编辑', exact: true }).click()
  await expect.poll(() => field('额度').isDisabled()).toBe(true)
  await submit('取消')
})

test('a code that was used meanwhile is not enabled again', async () => {
  const [, , code] = await codes()
  await row(code?.id ?? 0).waitFor()
  const user = await visit.person('quick')
  await visit.ask(user, 'POST /api/user/topup', { key: code?.key })
  await action(code?.id ?? 0, '禁用').click()
  await expectSeen(page.getByText('该兑换码已被使用，不能再启用、禁用或修改额度'))
})

test('an edit changes name and quota', async () => {
  const id = (await codes())[0]?.id ?? 0
  await row(id).getByRole('link', { name: '编辑', exact: true }).click()
  await expect.poll(() => field('名称').inputValue()).toBe('新年/活动')
  expect(await field('生成数量').count()).toBe(0)
  await field('名称').fill('夏季')
  await field('额度').fill('300000')
  await expectSeen(page.getByText('额度 250000 → 300000'))
  await submit('保存')
  await expectSeen(page.getByText('兑换码更新成功！'))
  await row(id).getByText('夏季').waitFor()
  expect((await codes())[0]).toMatchObject({ name: '夏季', quota: 300_000 })
})

test('finds codes by id and by name', async () => {
  const id = (await codes())[1]?.id ?? 0
  const search = page.getByRole('searchbox')
  await search.fill(String(id))
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await search.fill('夏')
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await row((await codes())[0]?.id ?? 0).waitFor()
  await search.fill('冬')
  await expectSeen(page.getByText('没有 ID、名称或兑换码符合「冬」的兑换码'))
  await search.fill('')
  await expect.poll(() => page.getByRole('row').count()).toBe(4)
})

test('asks before deleting', async () => {
  const id = (await codes())[0]?.id ?? 0
  await action(id, '删除').click()
  const popup = page.getByRole('dialog')
  await expectSeen(popup.getByText('删除兑换码「夏季」？还没有兑换的人将无法再使用它'))
  await popup.getByRole('button', { name: '删除兑换码', exact: true }).click()
  await expectSeen(page.getByText('操作成功完成！'))
  await expect.poll(() => row(id).count()).toBe(0)
  expect((await codes()).map((code) => code.id)).not.toContain(id)
})

test('a code without a name is shown by its ends', async () => {
  const [code] = await codes()
  if (code === undefined) throw new Error('there is no code')
  // As an adopted database may contain it.
  const data = [{ ...code, name: '' }]
  const json = { success: true, message: '', data }
  await page.route('**/api/redemption/?p=*', (route) => route.fulfill({ json }))
  await page.getByRole('button', { name: '刷新', exact: true }).click()
  await expectSeen(row(code.id).getByText('未命名'))
  await action(code.id, '删除').click()
  const ends = `${code.key.slice(0, 4)}…${code.key.slice(-4)}`
  await expectSeen(page.getByText(`删除兑换码「${ends}」？`))
})
