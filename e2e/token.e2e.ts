import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { violations } from './axe.ts'
import {
  clipboard,
  columnHeads,
  expectAt,
  expectSeen,
  actionTops,
  hiddenColumns,
  loadedRows,
} from './expect-page.ts'
import { settled } from './settled.ts'
import { closeToasts, startVisit, type Person, type Visit } from './visit.ts'

let visit: Visit
let amy: Person
let page: Page

interface Token {
  id: number
  key: string
  name: string
  status: number
  remain_quota: number
  unlimited_quota: boolean
  expired_time: number
  models: string
  subnet: string
}
const tokens = () => visit.ask<Token[]>(amy, 'GET /api/token/')
const tokenOf = async (name: string) => (await tokens()).find((token) => token.name === name)
const row = (name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
const action = (name: string, label: string) =>
  row(name).getByRole('button', { name: label, exact: true })
const expiry = () => page.getByLabel('过期时间', { exact: true })
const submit = (name: string) => page.getByRole('button', { name, exact: true }).click()
const goTo = (path: string) => page.goto(visit.gatehouse.url + path)
const names = () =>
  loadedRows(page)
    .locator('td:first-child > span > span:first-child')
    .evaluateAll((cells) => cells.map((cell) => cell.textContent))

beforeAll(async () => {
  visit = await startVisit()
  amy = await visit.person('amy')
  for (const { id } of await tokens()) await visit.ask(amy, `DELETE /api/token/${id}`)
  ;({ page } = await visit.open('/token', amy))
})
afterAll(() => visit.stop())

test('an empty list leads to the first token', async () => {
  await page.getByRole('link', { name: '添加令牌', exact: true }).first().click()
  await expectAt(page, '**/token/add')
})

describe('a new token', () => {
  test('has the default quota, never expires, and requires a name', async () => {
    await expect.poll(() => page.getByLabel('额度', { exact: true }).inputValue()).toBe('500000')
    await expect.poll(() => expiry().getAttribute('placeholder')).toBe('永不过期')
    await submit('创建')
    await expectSeen(page.getByText('请输入令牌名称'))
    // A validation error is a warning, as in the other forms.
    const toast = page.locator('.mantine-Notification-root')
    await expect.poll(() => toast.first().getAttribute('style')).toContain('--warning')
    expect(await tokens()).toEqual([])
  })

  test('an invalid expiry is reported below its field', async () => {
    await closeToasts(page)
    await page.getByLabel('名称 *').fill('of no date')
    await expiry().fill('2030-02-31')
    await settled(page)
    // Leaving the field must not move the button away from the pointer.
    const where = await page.getByRole('button', { name: '创建', exact: true }).boundingBox()
    const [x, y] = [(where?.x ?? 0) + 8, (where?.y ?? 0) + (where?.height ?? 0) - 4]
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.up()
    const sentence = '过期时间格式错误，例如 2030-01-31 12:00:00'
    await expectSeen(page.getByRole('alert').filter({ hasText: sentence }))
    await expectSeen(page.getByRole('form').getByText(sentence))
    await expect.poll(() => expiry().evaluate((field) => field.matches(':focus'))).toBe(true)
    await closeToasts(page)
  })

  test.each([
    ['一个月', 30 * 86_400],
    ['一天', 86_400],
    ['一小时', 3600],
    ['一分钟', 60],
  ])('%s from now can be set with one click', async (label, seconds) => {
    const before = await page.evaluate(() => Date.now())
    await submit(label)
    const offBy = async () => {
      const stamp = await page.evaluate((text) => Date.parse(text), await expiry().inputValue())
      return Math.abs((stamp - before) / 1000 - seconds)
    }
    // Less than between two of the labels; the click may take seconds.
    await expect.poll(offBy).toBeLessThan(30)
  })

  test('-1 means never, and an unlimited token needs no quota', async () => {
    await page.getByLabel('名称 *').fill('without end')
    await expiry().fill('-1')
    const quota = page.getByLabel('额度', { exact: true })
    await quota.fill('much')
    await quota.press('Tab')
    const complaint = page.getByText('额度必须是 0 到')
    await complaint.waitFor()
    await page.getByRole('switch', { name: '无限额度，只受账户余额限制', exact: true }).click()
    await expect.poll(() => quota.isDisabled()).toBe(true)
    await expect.poll(() => complaint.count()).toBe(0)
    await submit('创建')
    await row('without end').waitFor()
    expect(await tokenOf('without end')).toMatchObject({
      unlimited_quota: true,
      expired_time: -1,
      models: '',
    })
  })

  test('is restricted to models, networks and limits', async () => {
    await goTo('/token/add')
    await page.getByLabel('名称 *').fill('bound')
    await page.getByLabel('允许的网段').fill('10.0.0.0/8, 2001:db8::/32')
    await page.getByLabel('每分钟请求数').fill('60')
    // Typed but not entered: the click on the button includes it.
    await page.getByLabel('模型', { exact: true }).fill('gpt-4o')
    await submit('创建')
    await row('bound').waitFor()
    const bound = await tokenOf('bound')
    expect(bound).toMatchObject({
      models: 'gpt-4o',
      subnet: '10.0.0.0/8,2001:db8::/32',
      remain_quota: 500_000,
    })
    const { limits } = await visit.ask<{ limits: unknown }>(amy, `GET /api/token/${bound?.id}`)
    expect(limits).toMatchObject({ limits: { requests_per_minute: 60, calls_at_once: 0 } })
  })
})

describe('the list', () => {
  test('has the columns of the specification', async () => {
    await expect
      .poll(() => columnHeads(page))
      .toEqual(['名称', '状态', '已用额度', '剩余额度', '创建时间', '过期时间', '操作'])
    const cells = await row('without end').getByRole('cell').allInnerTexts()
    expect(cells.slice(1, 4)).toEqual(['已启用', '$0.00', '无限制'])
    expect(cells[5]).toBe('永不过期')
  })

  test('is searched by name, and sorted by remaining quota', async () => {
    await page.getByRole('searchbox').fill(' bou ')
    await expect.poll(names).toEqual(['bound'])
    await page.getByRole('searchbox').fill('')
    await page.getByLabel('排序方式').selectOption({ label: '按剩余额度排序' })
    await expect.poll(names).toEqual(['without end', 'bound'])
  })

  test('a token is disabled and enabled in its row', async () => {
    await action('bound', '禁用').press('Enter')
    await action('bound', '启用').and(page.locator(':focus')).waitFor()
    await expect.poll(async () => (await tokenOf('bound'))?.status).toBe(2)
    await action('bound', '启用').click()
    await action('bound', '禁用').waitFor()
    await expect.poll(async () => (await tokenOf('bound'))?.status).toBe(1)
  })

  test('a key is copied; without a clipboard it is put into the search box', async () => {
    const key = `sk-${(await tokenOf('bound'))?.key}`
    await action('bound', '复制').click()
    await expectSeen(page.getByText('已复制到剪贴板！'))
    expect(await clipboard(page)).toBe(key)
    // A page without TLS has no clipboard object, but can copy a selection.
    await page.evaluate(() => {
      Object.defineProperty(navigator, 'clipboard', { value: undefined })
    })
    await closeToasts(page)
    await action('bound', '复制').press('Enter')
    await expectSeen(page.getByText('已复制到剪贴板！'))
    await expect
      .poll(() => action('bound', '复制').evaluate((it) => it === document.activeElement))
      .toBe(true)
    await page.evaluate(() => {
      document.execCommand = () => false
    })
    await action('bound', '复制').click()
    await expectSeen(page.getByText('无法复制到剪贴板，请手动复制'))
    const box = page.getByRole('searchbox')
    await expect.poll(() => box.inputValue()).toBe(key)
    await expect.poll(() => page.evaluate(() => getSelection()?.toString())).toBe(key)
    await box.press('Enter')
    await box.press('End')
    await box.press('Backspace')
    await box.press('Enter')
    // Longer than the pause after which the search starts.
    await page.waitForTimeout(500)
    expect(page.url()).not.toContain('keyword')
    await action('bound', '更多密钥操作').click()
    await page.getByRole('menuitem', { name: '复制为 curl 命令', exact: true }).click()
    await expect.poll(() => box.inputValue()).toContain(`-H 'Authorization: Bearer ${key}' -H '`)
    await box.fill('bou')
    await expect.poll(() => page.url()).toContain('keyword=bou')
  })
})

describe('an edit', () => {
  test('shows the stored values, lists its changes, and keeps the rest', async () => {
    await goTo('/token')
    await row('bound').getByRole('link', { name: '编辑', exact: true }).click()
    await page.getByRole('heading', { name: '编辑令牌' }).waitFor()
    await expect.poll(() => page.getByLabel('额度', { exact: true }).inputValue()).toBe('500000')
    await expect
      .poll(() => page.getByRole('button', { name: '保存', exact: true }).isDisabled())
      .toBe(true)
    await page.getByLabel('名称', { exact: true }).fill('renamed')
    await submit('保存')
    await row('renamed').waitFor()
    expect(await tokenOf('renamed')).toMatchObject({ models: 'gpt-4o', remain_quota: 500_000 })
  })

  test('leaving asks about changes; discarding does not', async () => {
    await row('renamed').getByRole('link', { name: '编辑', exact: true }).click()
    await page.getByRole('heading', { name: '编辑令牌' }).waitFor()
    await page.getByLabel('名称', { exact: true }).fill('not saved')
    const elsewhere = page
      .getByRole('navigation', { name: '主菜单' })
      .getByRole('link', { name: '日志', exact: true })
    await elsewhere.click()
    const question = page.getByRole('dialog', { name: '离开此页？' })
    await question.getByRole('button', { name: '留在此页', exact: true }).click()
    await expect.poll(() => page.getByLabel('名称', { exact: true }).inputValue()).toBe('not saved')
    await elsewhere.click()
    await question.getByRole('button', { name: '放弃修改并离开', exact: true }).click()
    await page.getByRole('heading', { name: '使用日志' }).waitFor()
    await page.goBack()
    await page.getByLabel('名称', { exact: true }).fill('not saved either')
    await submit('取消')
    await row('renamed').waitFor()
  })

  test('a repeated save after a lost response books a quota once', async () => {
    const { page: theirs, close } = await visit.open('/token', amy)
    const { id = 0 } = (await tokenOf('renamed')) ?? {}
    await theirs.goto(`${visit.gatehouse.url}/token/edit/${id}`)
    await theirs.route(
      '**/api/token/',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await theirs.getByLabel('额度', { exact: true }).fill('600000')
    const save = theirs.getByRole('button', { name: '保存', exact: true })
    await save.click()
    await expectSeen(theirs.getByRole('alert').getByText('无法连接服务器，请检查网络后重试'))
    await save.click()
    await expectAt(theirs, '**/token')
    expect(await tokenOf('renamed')).toMatchObject({ remain_quota: 600_000 })
    await close()
  })

  test('leaving during a save asks, and does not return afterwards', async () => {
    const { page: theirs, close } = await visit.open('/token/add', amy)
    let answer = () => {}
    const held = new Promise<void>((resolve) => (answer = resolve))
    await theirs.route('**/api/token/', async (route) => {
      await held
      await route.continue()
    })
    await theirs.getByLabel('名称 *').fill('slow')
    await theirs.getByRole('button', { name: '创建', exact: true }).click()
    const menu = theirs.getByRole('navigation', { name: '主菜单' })
    await menu.getByRole('link', { name: '日志', exact: true }).click()
    await theirs.getByRole('button', { name: '放弃修改并离开', exact: true }).click()
    await theirs.getByRole('heading', { name: '使用日志' }).waitFor()
    answer()
    await expectSeen(theirs.getByText('令牌已创建，请在列表中复制'))
    await settled(theirs)
    expect(new URL(theirs.url()).pathname).toBe('/log')
    await close()
  })

  test('a creation without a response says that it may have succeeded', async () => {
    const { page: theirs, close } = await visit.open('/token/add', amy)
    await theirs.route('**/api/token/', (route) => route.abort())
    await theirs.getByLabel('名称 *').fill('lost')
    await theirs.getByRole('button', { name: '创建', exact: true }).click()
    await expectSeen(
      theirs
        .getByRole('form')
        .getByRole('alert')
        .getByText('可能已经创建，再次提交之前请先在列表中确认'),
    )
    // The toast announces the failure itself. The warning stays after further input.
    expect(await theirs.getByRole('form').getByRole('alert').count()).toBe(1)
    await theirs.getByLabel('名称 *').fill('lost again')
    await expectSeen(theirs.getByRole('form').getByText('可能已经创建'))
    await close()
  })

  test('input is restored after the session ended', async () => {
    const person = await visit.person('twice')
    const opened = await visit.open('/token/add', person)
    await opened.page.getByLabel('名称 *').fill('half made')
    await settled(opened.page)
    await opened.context.clearCookies()
    // A background request may detect this first and remove the button.
    await Promise.race([
      opened.page.getByRole('button', { name: '创建', exact: true }).click(),
      opened.page.waitForURL('**/login?expired=true'),
    ])
    await opened.page.waitForURL('**/login?expired=true')
    await opened.page.getByLabel('用户名或邮箱').fill('twice')
    await opened.page.getByLabel('密码', { exact: true }).fill('RootPass1')
    await opened.page.getByRole('button', { name: '登录', exact: true }).click()
    const name = opened.page.getByLabel('名称 *')
    await expect.poll(() => name.inputValue()).toBe('half made')
    await opened.context.close()
  })

  test('restored input does not undo what changed meanwhile', async () => {
    const person = await visit.person('thrice')
    const body = { name: 'spending', remain_quota: 900, unlimited_quota: false, expired_time: -1 }
    const { id } = await visit.ask<{ id: number }>(person, 'POST /api/token/', body)
    const { page: theirs, context } = await visit.open(`/token/edit/${id}`, person)
    await theirs.getByLabel('名称').fill('renamed')
    await settled(theirs)
    await visit.ask(person, 'PUT /api/token/', { ...body, id, remain_quota: 300 })
    await context.clearCookies()
    await Promise.race([
      theirs.getByRole('button', { name: '保存', exact: true }).click(),
      theirs.waitForURL('**/login?expired=true'),
    ])
    await theirs.waitForURL('**/login?expired=true')
    await theirs.getByLabel('用户名或邮箱').fill('thrice')
    await theirs.getByLabel('密码', { exact: true }).fill('RootPass1')
    await theirs.getByRole('button', { name: '登录', exact: true }).click()
    await expect.poll(() => theirs.getByLabel('名称').inputValue()).toBe('renamed')
    await expectSeen(theirs.getByText('1 处未保存：名称 spending → renamed'))
    await theirs.getByRole('button', { name: '保存', exact: true }).click()
    await theirs.waitForURL('**/token')
    const stored = await visit.ask<{ name: string; remain_quota: number }>(
      person,
      `GET /api/token/${id}`,
    )
    expect(stored).toMatchObject({ name: 'renamed', remain_quota: 300 })
    await context.close()
  })

  test('without the dialog’s file, the browser asks', async () => {
    const opened = await visit.open('/token/add', amy)
    const typed = opened.page.getByLabel('名称 *')
    await opened.page.route('**/assets/leave-dialog-*', (route) => route.abort())
    await typed.fill('not saved')
    const elsewhere = opened.page
      .getByRole('navigation', { name: '主菜单' })
      .getByRole('link', { name: '日志', exact: true })
    const asked: string[] = []
    opened.page.once('dialog', (dialog) => {
      asked.push(dialog.message())
      void dialog.dismiss()
    })
    await elsewhere.click()
    await expect.poll(() => asked).toEqual([expect.stringContaining('未保存的修改会丢失')])
    await expect.poll(() => typed.inputValue()).toBe('not saved')
    opened.page.once('dialog', (dialog) => void dialog.accept())
    await elsewhere.click()
    await expectSeen(opened.page.getByRole('heading', { name: '使用日志' }))
    await opened.context.close()
  })

  test('a deleted token shows an error and a link back', async () => {
    await goTo('/token/edit/99999')
    // The toast is the alert.
    await expectSeen(page.getByRole('alert').getByText('没有找到该记录'))
    await expect.poll(() => page.getByText('没有找到该记录').count()).toBe(2)
    expect(await page.getByRole('alert').getByText('没有找到该记录').count()).toBe(1)
    await page.getByRole('main').getByRole('link', { name: '返回列表', exact: true }).click()
    await expectSeen(row('renamed'))
  })
})

describe('a group', () => {
  const groups = () => page.getByLabel('令牌分组')
  const options = () => groups().locator('option').allInnerTexts()

  test('is only offered if another than the own one is available', async () => {
    await goTo('/token/add')
    await expect.poll(() => page.getByLabel('额度', { exact: true }).inputValue()).toBe('500000')
    await settled(page)
    expect(await groups().count()).toBe(0)
    await visit.setOption('GroupRatio', '{"default":1,"vip":0.8,"svip":1}')
    await visit.setOption('UserUsableGroups', '{"vip":"优先渠道"}')
    await page.reload()
    await expect.poll(options).toEqual(['与账户相同：default · 1×', 'vip · 0.8×'])
  })

  test('is chosen with its ratio and description, and offers its own models', async () => {
    const channel = { type: 1, name: 'of vips', key: 'sk-x', models: 'vip-model', group: 'vip' }
    await visit.ask(visit.root, 'POST /api/channel/', channel)
    await page.getByLabel('名称 *').fill('grouped')
    await groups().selectOption('vip')
    await expectSeen(page.getByText('优先渠道'))
    await page.getByLabel('模型', { exact: true }).click()
    await expectSeen(page.getByRole('option', { name: 'vip-model', exact: true }))
    await page.keyboard.press('Escape')
    await submit('创建')
    await row('grouped').waitFor()
    const { id } = (await tokenOf('grouped')) ?? {}
    expect(await visit.ask(amy, `GET /api/token/${id}`)).toMatchObject({ group: 'vip' })
  })

  test('a group that is no longer available is shown, and can be replaced', async () => {
    await visit.setOption('UserUsableGroups', '{}')
    await row('grouped').getByRole('link', { name: '编辑', exact: true }).click()
    await expect.poll(options).toEqual(['与账户相同：default · 1×', 'vip（已不可用）'])
    await expectSeen(page.getByText('使用此令牌的调用会被拒绝，请另选分组'))
    await groups().selectOption('')
    await submit('保存')
    await row('grouped').waitFor()
    const { id } = (await tokenOf('grouped')) ?? {}
    expect(await visit.ask(amy, `GET /api/token/${id}`)).toMatchObject({ group: '' })
    await visit.ask(amy, `DELETE /api/token/${id}`)
  })
})

describe('a list of two pages', () => {
  let bob: Person
  /** The button of the confirmation, once it has the focus. */
  const confirming = (on: Page) =>
    on.getByRole('button', { name: '删除令牌', exact: true }).and(on.locator(':focus'))
  beforeAll(async () => {
    bob = await visit.person('bob')
    for (let i = 0; i < 10; i += 1) await visit.ask(bob, 'POST /api/token/', { name: `nr ${i}` })
  })

  test('a form returns to the page from which it was opened', async () => {
    const opened = await visit.open('/token?page=2&sort=name', bob)
    for (const name of ['取消', '保存']) {
      // A sorted list shows its first page until the other ones are loaded.
      await expect.poll(() => loadedRows(opened.page).count()).toBe(1)
      await opened.page.getByRole('link', { name: '编辑', exact: true }).click()
      await opened.page.getByLabel('允许的网段').fill('10.0.0.0/8')
      await opened.page.getByRole('button', { name, exact: true }).click()
      await expectAt(opened.page, '**/token?page=2&sort=name')
    }
    await opened.close()
  })

  test('a page number beyond the end shows the last page; without its last row, the one before', async () => {
    const opened = await visit.open('/topup', bob)
    const { page: theirs } = opened
    await theirs.goto(`${visit.gatehouse.url}/token?page=9`)
    await expectAt(theirs, '**/token?page=2')
    await expect.poll(() => loadedRows(theirs).count()).toBe(1)
    await theirs.getByRole('button', { name: '删除', exact: true }).focus()
    await theirs.keyboard.press('Enter')
    await confirming(theirs).waitFor()
    await theirs.keyboard.press('Enter')
    await expectAt(theirs, '**/token')
    await expect.poll(() => loadedRows(theirs).count()).toBe(10)
    await theirs.goBack()
    await expectAt(theirs, '**/topup')
    await opened.close()
  })

  test('after a deletion, the focus moves to the next row', async () => {
    const opened = await visit.open('/token', bob)
    const { page: theirs } = opened
    await theirs.getByRole('button', { name: '删除', exact: true }).nth(2).focus()
    const next = await loadedRows(theirs).nth(3).locator('td').first().innerText()
    await theirs.keyboard.press('Enter')
    await confirming(theirs).waitFor()
    await theirs.keyboard.press('Enter')
    const focused = theirs.locator('tr:focus')
    await expect.poll(() => focused.locator('td').first().innerText()).toBe(next)
    await opened.close()
  })
})

test('a pending search does not carry over to another page', async () => {
  const { page: theirs, close } = await visit.open('/token', amy)
  await settled(theirs)
  let letCome = () => {}
  const held = new Promise<void>((resolve) => (letCome = resolve))
  await theirs.route('**/assets/log-page-*.js', async (route) => {
    await held
    await route.continue()
  })
  await theirs.getByRole('searchbox').fill('abc')
  await theirs
    .getByRole('navigation', { name: '主菜单' })
    .getByRole('link', { name: '日志', exact: true })
    .click()
  // Longer than the pause after which the list follows.
  await theirs.waitForTimeout(500)
  letCome()
  await theirs.getByRole('heading', { name: '使用日志' }).waitFor()
  expect(new URL(theirs.url()).search).toBe('')
  await close()
})

test('an exhausted token is shown as such and cannot be enabled, for any stored status', async () => {
  for (const name of ['spent', 'paused']) {
    await visit.ask(amy, 'POST /api/token/', { name, expired_time: -1, remain_quota: 0 })
  }
  const paused = await tokenOf('paused')
  await visit.ask(amy, 'PUT /api/token/?status_only=true', { id: paused?.id, status: 2 })
  await goTo('/token')
  await expectSeen(row('spent').getByText('已耗尽'))
  await expectSeen(row('paused').getByText('已禁用'))
  for (const name of ['spent', 'paused']) {
    const enable = action(name, '启用')
    await expect.poll(() => enable.isDisabled()).toBe(true)
    await expect.poll(() => enable.getAttribute('title')).toBe('令牌额度已用尽，请先编辑额度')
  }
})

test('a token that expires while displayed is shown as expired', async () => {
  const [seconds] = [Math.floor(Date.now() / 1000) + 3600]
  await visit.ask(amy, 'POST /api/token/', {
    name: 'short',
    expired_time: seconds,
    remain_quota: 1,
  })
  const { page: theirs, context } = await visit.open('/topup', amy)
  await theirs.clock.install()
  await theirs.goto(`${visit.gatehouse.url}/token`)
  const short = theirs.getByRole('row').filter({ hasText: 'short' })
  await expectSeen(short.getByText('已启用'))
  await theirs.clock.fastForward('01:00:02')
  await expectSeen(short.getByText('已过期'))
  await context.close()
})

test('a composed word is searched when it is complete', async () => {
  const opened = await visit.open('/token', amy)
  const { page: theirs } = opened
  const box = theirs.getByRole('searchbox')
  await box.focus()
  const keys = await opened.context.newCDPSession(theirs)
  await keys.send('Input.imeSetComposition', { text: "ce'shi", selectionStart: 6, selectionEnd: 6 })
  // The input method closes its list of candidates.
  await box.dispatchEvent('keydown', { key: 'Escape', isComposing: true })
  await box.dispatchEvent('keydown', { key: 'Enter', isComposing: true })
  await theirs.waitForTimeout(500)
  await expect.poll(() => box.inputValue()).toBe("ce'shi")
  expect(theirs.url()).not.toContain('keyword')
  await keys.send('Input.insertText', { text: '测试' })
  await theirs.waitForURL((url) => url.searchParams.get('keyword') === '测试')
  await opened.context.close()
})

test('the list of offered models is accessible', async () => {
  const opened = await visit.open('/token/add', amy)
  const channel = { type: 1, name: 'of all', key: 'sk-x', models: 'gpt-4o,o3,o4-mini' }
  await visit.ask(visit.root, 'POST /api/channel/', channel)
  await opened.page.reload()
  await opened.page.getByLabel('模型', { exact: true }).click()
  await opened.page.getByRole('option', { name: 'o4-mini', exact: true }).waitFor()
  expect(await violations(opened.page)).toEqual([])
  await opened.close()
})

test.each(['zh', 'en'] as const)(
  'shows all columns at 1024 px with actions on one line: %s',
  async (language) => {
    const opened = await visit.open('/token', amy, { width: 1024, language })
    await loadedRows(opened.page).first().waitFor()
    await settled(opened.page)
    expect(await hiddenColumns(opened.page)).toEqual([])
    expect(await actionTops(opened.page)).toHaveLength(1)
    await opened.close()
  },
)

test.each([1024, 1280, 1440])('timestamps fit in wide fonts at %i px', async (width) => {
  const opened = await visit.open('/token', amy, { width })
  const stamps = loadedRows(opened.page)
    .getByRole('cell')
    .filter({ hasText: /^\d{4}-/ })
  await stamps.first().waitFor()
  await settled(opened.page)
  // About as wide as the fonts of other systems.
  await opened.page.evaluate('document.body.style.letterSpacing = "0.6px"')
  const cut = await stamps.evaluateAll((cells) =>
    cells.filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.textContent),
  )
  expect(cut).toEqual([])
  await opened.close()
})

test('a focused field has a ring on its border', async () => {
  const opened = await visit.open('/token/add', amy)
  const name = opened.page.getByLabel('名称')
  await name.focus()
  const ring = () =>
    name.evaluate((field) => {
      const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(field)
      return [outlineStyle, outlineWidth, outlineOffset]
    })
  await expect.poll(ring).toEqual(['solid', '2px', '-1px'])
  await opened.close()
})

test('a phone shows the content of all columns', async () => {
  const opened = await visit.open('/token', amy, { width: 390 })
  const block = opened.page.getByRole('listitem').filter({ hasText: 'renamed' })
  const heights = () =>
    opened.page.getByRole('listitem').evaluateAll((blocks) => blocks.map((it) => it.clientHeight))
  await block.waitFor()
  const [height] = await heights()
  // Loading the rows does not move anything.
  await opened.page.route('**/api/token/?*', () => {})
  await opened.page.reload()
  await opened.page.locator('ul[aria-busy=true]').waitFor()
  expect(new Set(await heights())).toEqual(new Set([height]))
  await opened.page.unroute('**/api/token/?*')
  await opened.page.reload()
  await expectSeen(block.getByText(/^sk-\w{4}…\w{4} · 创建于 \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/))
  await opened.close()
})

test('asks for confirmation beside the delete button', async () => {
  await goTo('/token')
  await action('renamed', '删除').click()
  await expectSeen(page.getByRole('button', { name: '删除令牌', exact: true }))
  expect(await tokenOf('renamed')).toBeDefined()
  await submit('删除令牌')
  await expect.poll(() => row('renamed').count()).toBe(0)
  await expect.poll(() => tokenOf('renamed')).toBeUndefined()
})

test('a token without a name is shown by its key', async () => {
  const made = await visit.ask<Token & { key: string }>(amy, 'POST /api/token/', { name: '' })
  await goTo('/token')
  const nameless = page.getByRole('row').filter({ hasText: '未命名' })
  await nameless.getByRole('button', { name: '删除', exact: true }).click()
  const key = `sk-${made.key.slice(0, 4)}…${made.key.slice(-4)}`
  await expectSeen(page.getByText(`删除令牌「${key}」？`))
})

test('a long name in a right-to-left script is cut at its end', async () => {
  const name = 'אבגדהו זחטיכלמ נסעפצק רשתאב'
  await visit.ask(amy, 'POST /api/token/', { name })
  await goTo('/token')
  const shown = page.getByTitle(name, { exact: true }).first()
  await shown.waitFor()
  const isFirstLetterShown = () =>
    shown.evaluate((element) => {
      element.style.width = '80px'
      const letter = document.createRange()
      letter.setStart(element.firstChild ?? element, 0)
      letter.setEnd(element.firstChild ?? element, 1)
      const { left, right } = letter.getBoundingClientRect()
      const box = element.getBoundingClientRect()
      return left >= box.left - 1 && right <= box.right + 1
    })
  await expect.poll(isFirstLetterShown).toBe(true)
})
