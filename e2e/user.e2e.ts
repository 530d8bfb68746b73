import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { actionTops, columnHeads, expectSeen, hiddenColumns, loadedRows } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

let visit: Visit

beforeAll(async () => {
  visit = await startVisit()
})
afterAll(() => visit.stop())

const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
const action = (page: Page, name: string, label: string) =>
  row(page, name).getByRole('button', { name: label, exact: true })
const done = (page: Page) => page.getByText('操作成功完成！').first().waitFor()
const usernames = (page: Page) =>
  loadedRows(page)
    .locator('td:nth-child(2)')
    .evaluateAll((cells) => cells.map((c) => c.textContent))

/** Counts the list requests of a page, to verify that a row updates in place. */
function countListCalls(page: Page): () => number {
  let calls = 0
  page.on('request', (request) => {
    if (/\/api\/user\/(\?|search)/.test(request.url())) calls += 1
  })
  return () => calls
}

describe('the list of users', () => {
  let page: Page
  beforeAll(async () => {
    for (const [username, quota] of [
      ['amy', 300],
      ['ben', 900],
      ['cat', 600],
    ] as const) {
      await visit.person(username)
      const [{ id } = { id: 0 }] = await visit.ask<{ id: number }[]>(
        visit.root,
        `GET /api/user/search?keyword=${username}`,
      )
      await visit.ask(visit.root, 'PUT /api/user/', { id, quota, group: 'vip,default' })
    }
    ;({ page } = await visit.open('/user', visit.root))
    await row(page, 'cat').waitFor()
  })
  beforeEach(async () => {
    await page.goto(`${visit.gatehouse.url}/user`)
    await row(page, 'cat').waitFor()
  })

  test('has a title, a count, and the columns of the specification', async () => {
    await page.getByRole('heading', { name: '管理用户' }).waitFor()
    await page.getByText('4 个', { exact: true }).waitFor()
    await expect
      .poll(() => columnHeads(page))
      .toEqual([
        'ID',
        '用户名',
        '显示名称',
        '邮箱',
        '分组',
        '剩余额度',
        '已用额度',
        '请求次数',
        '角色',
        '状态',
        '操作',
      ])
    const cells = await row(page, 'cat').getByRole('cell').allInnerTexts()
    expect(cells).toEqual(expect.arrayContaining(['普通用户', '已激活']))
    expect(cells[4]?.split(/\s+/)).toEqual(['vip', 'default'])
  })

  test.each([
    { width: 1024, language: 'zh' },
    { width: 1024, language: 'en' },
    { width: 1280, language: 'en' },
  ] as const)('shows all columns at $width px in $language', async (screen) => {
    const opened = await visit.open('/user', visit.root, screen)
    await settled(opened.page)
    expect(await hiddenColumns(opened.page)).toEqual([])
    expect(await actionTops(opened.page)).toHaveLength(1)
    await opened.close()
  })

  test('in a narrow window, rare actions are behind a button, also by keyboard', async () => {
    await visit.person('dan')
    const opened = await visit.open('/user', visit.root, { width: 1024 })
    const { keyboard } = opened.page
    const more = action(opened.page, 'dan', '更多操作')
    const focused = () => opened.page.evaluate(() => document.activeElement?.textContent)
    const openMenu = async () => {
      await more.focus()
      await keyboard.press('Enter')
      await expect.poll(focused).toBe('提升')
    }
    await openMenu()
    await keyboard.press('Escape')
    await expect.poll(() => more.evaluate((it) => it === document.activeElement)).toBe(true)
    await openMenu()
    await keyboard.press('Enter')
    await expect.poll(focused).toBe('提升为管理员')
    await keyboard.press('Enter')
    await expectSeen(row(opened.page, 'dan').getByText('管理员', { exact: true }))
    await openMenu()
    await opened.page.getByRole('button', { name: '删除', exact: true }).focus()
    await keyboard.press('Enter')
    await expectSeen(opened.page.getByText('删除用户「dan」？'))
    await expect.poll(focused).toBe('删除用户')
    await keyboard.press('Enter')
    await expect.poll(() => row(opened.page, 'dan').count()).toBe(0)
    // The focus moves to the row that has taken its place.
    const isInList = () =>
      opened.page.evaluate(() => document.activeElement?.closest('tbody') !== null)
    await expect.poll(isInList).toBe(true)
    await opened.close()
  })

  test.each([
    { width: 1024, language: 'zh' },
    { width: 1024, language: 'en' },
    { width: 1280, language: 'zh' },
    { width: 1280, language: 'en' },
  ] as const)('truncates no quota at $width px in $language', async (screen) => {
    const opened = await visit.open('/user', visit.root, screen)
    const cell = opened.page.getByRole('cell', { name: '$1,000,000,000.00' })
    await cell.waitFor()
    expect(await cell.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
    await opened.close()
  })

  test.each(['zh', 'en'] as const)(
    'a column head fits on one line with its sort mark: %s',
    async (language) => {
      const opened = await visit.open('/user', visit.root, { width: 1440, language })
      const heads = opened.page.locator('thead').getByRole('button')
      await heads.first().waitFor()
      const lines = async (index: number) =>
        (await heads.nth(index).boundingBox())?.height ?? Number.NaN
      const one = await lines(0)
      for (let index = 0; index < (await heads.count()); index += 1) {
        await heads.nth(index).click()
        await opened.page.locator('thead [aria-sort]').waitFor()
        expect([index, await lines(index)]).toEqual([index, one])
      }
      await opened.close()
    },
  )

  test('does not truncate common addresses, and a phone shows the content of all columns', async () => {
    const email = 'somebody@company.com'
    const opened = await visit.open('/about', visit.root)
    await opened.page.route(/\/api\/user\/\?/, async (route) => {
      const answer = await route.fetch()
      const { data, ...rest } = Object(await answer.json())
      const withMail = data.map((one: { username: string }) =>
        one.username === 'cat' ? { ...one, email } : one,
      )
      await route.fulfill({ json: { ...rest, data: withMail } })
    })
    await opened.page.goto(`${visit.gatehouse.url}/user`)
    const cell = row(opened.page, 'cat').getByRole('cell', { name: email })
    await cell.waitFor()
    expect(await cell.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
    await opened.page.setViewportSize({ width: 1440, height: 800 })
    const cells = row(opened.page, 'cat').getByRole('cell')
    const address = cells.nth(3)
    await expect.poll(() => address.innerText()).toBe(email)
    expect(await address.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
    const tags = cells.nth(4).locator('[data-hue]')
    const tops = await tags.evaluateAll((all) => all.map((tag) => tag.getBoundingClientRect().top))
    expect(new Set(tops).size).toBe(1)
    await opened.page.setViewportSize({ width: 390, height: 800 })
    const block = opened.page.getByRole('listitem').filter({ hasText: email })
    await expectSeen(block.getByText(`cat · ${email} · 请求 0 次`))
    await expectSeen(block.getByText(/^ID \d+$/))
    await opened.close()
  })

  test('is sorted by the server as chosen, and the address keeps the order', async () => {
    await page.getByLabel('排序方式').selectOption({ label: '按剩余额度排序' })
    await expect.poll(() => usernames(page)).toEqual(['root', 'ben', 'cat', 'amy'])
    await expect.poll(() => page.url()).toContain('order=quota')
    await page.reload()
    await expect.poll(() => usernames(page)).toEqual(['root', 'ben', 'cat', 'amy'])
  })

  test('a column head sorts the loaded rows, a second click reverses them', async () => {
    const head = page.getByRole('button', { name: '用户名', exact: true })
    const news = page.locator('section > output')
    await head.click()
    await expect.poll(() => usernames(page)).toEqual(['amy', 'ben', 'cat', 'root'])
    await head.click()
    await expect.poll(() => usernames(page)).toEqual(['root', 'cat', 'ben', 'amy'])
    await expect.poll(() => news.innerText()).toBe('共 4 行，按「用户名」降序')
    await page.getByRole('button', { name: '取消排序', exact: true }).press('Enter')
    await expect.poll(() => news.innerText()).toBe('共 4 行')
    // The button is gone, so its list has the focus.
    await expect.poll(() => news.evaluate((it) => it.closest('section:focus') !== null)).toBe(true)
  })

  test('is searched with a trimmed keyword; an empty one restores the list', async () => {
    const search = page.getByRole('searchbox')
    await search.fill('  am ')
    await expect.poll(() => usernames(page)).toEqual(['amy'])
    await search.fill('nobody at all')
    await expectSeen(page.getByText('没有找到与「nobody at all」相符的用户'))
    await search.fill('')
    await expect.poll(async () => (await usernames(page)).length).toBe(4)
    await search.fill('nobody at all')
    const news = page.locator('section > output')
    await expect.poll(() => news.innerText()).toBe('列表为空')
    await page.getByRole('button', { name: '清除搜索', exact: true }).press('Enter')
    await expect.poll(async () => (await usernames(page)).length).toBe(4)
    await expect.poll(() => search.inputValue()).toBe('')
    await expect.poll(() => news.innerText()).toBe('共 4 行')
    await search.and(page.locator(':focus')).waitFor()
  })

  test('each search sends a request, also for the same keyword and for the whole list', async () => {
    const calls = countListCalls(page)
    const search = page.getByRole('searchbox')
    await search.press('Enter')
    await expect.poll(calls).toBe(1)
    await search.fill('amy')
    await expect.poll(() => usernames(page)).toEqual(['amy'])
    await expect.poll(calls).toBe(2)
    await search.press('Enter')
    await expect.poll(calls).toBe(3)
    await search.fill('')
    await expect.poll(async () => (await usernames(page)).length).toBe(4)
    await expect.poll(calls).toBe(4)
  })

  test('root cannot be changed, and the buttons say why', async () => {
    for (const label of ['提升', '降级', '禁用', '删除']) {
      const button = action(page, 'root', label)
      await expect.poll(() => button.isDisabled()).toBe(true)
      await expect
        .poll(() => button.getAttribute('title'))
        .toBe('超级管理员不能被提升、降级、禁用或删除')
    }
    // They also look disabled, for every kind of button.
    const color = (name: string, label: string) =>
      action(page, name, label).evaluate((button) => getComputedStyle(button).color)
    const off = await color('root', '删除')
    for (const label of ['提升', '降级', '禁用']) expect(await color('root', label)).toBe(off)
    expect(await color('amy', '降级')).toBe(off)
    expect(await color('amy', '禁用')).not.toBe(off)
    await expect
      .poll(() => row(page, 'root').getByRole('link', { name: '编辑', exact: true }).count())
      .toBe(1)
  })

  test('promoting, demoting, disabling and enabling update the row', async () => {
    const calls = countListCalls(page)
    const turns = [
      ['提升', '管理员'],
      ['降级', '普通用户'],
      ['禁用', '已封禁'],
      ['启用', '已激活'],
    ] as const
    for (const [label, outcome] of turns) {
      await action(page, 'amy', label).click()
      // Promotion grants permissions, so it needs a confirmation.
      if (label === '提升') {
        await page.getByRole('button', { name: '提升为管理员', exact: true }).click()
      }
      await done(page)
      await row(page, 'amy').getByText(outcome, { exact: true }).waitFor()
    }
    expect(calls()).toBe(0)
  })

  test('deleting asks for confirmation in a popup, then removes the row', async () => {
    await visit.person('dan')
    await page.reload()
    await action(page, 'dan', '删除').click()
    const popup = page.getByRole('dialog')
    await expectSeen(popup.getByText('删除用户「dan」？该用户会立即无法登录，其令牌会立即失效'))
    await popup.getByRole('button', { name: '取消', exact: true }).click()
    await expect.poll(() => row(page, 'dan').count()).toBe(1)
    await action(page, 'dan', '删除').click()
    await popup.getByRole('button', { name: '删除用户', exact: true }).click()
    await done(page)
    await expect.poll(() => row(page, 'dan').count()).toBe(0)
    // A search does not find it again either.
    await page.getByRole('searchbox').fill('deleted_')
    await expectSeen(page.getByText('没有找到与「deleted_」相符的用户'))
    await page.getByRole('searchbox').fill('')
  })

  test('an action that another administrator has done meanwhile is rejected with a message', async () => {
    const { ask, root } = visit
    await ask(root, 'POST /api/user/manage', { username: 'ben', action: 'promote' })
    await action(page, 'ben', '提升').click()
    await page.getByRole('button', { name: '提升为管理员', exact: true }).click()
    await expectSeen(page.getByText('该用户已经是管理员'))
    // The row shows the current role.
    await expectSeen(row(page, 'ben').getByText('管理员', { exact: true }))
    await ask(root, 'POST /api/user/manage', { username: 'ben', action: 'demote' })
  })

  test('a user deleted elsewhere leaves the list when an action on them is rejected', async () => {
    const { ask, root } = visit
    await visit.person('gone')
    await page.getByRole('button', { name: '刷新', exact: true }).click()
    await row(page, 'gone').waitFor()
    await ask(root, 'POST /api/user/manage', { username: 'gone', action: 'delete' })
    await action(page, 'gone', '禁用').press('Enter')
    await expectSeen(page.getByText('用户不存在'))
    await expect.poll(() => row(page, 'gone').count()).toBe(0)
    // The row that took its place has the focus.
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('TR')
  })
})

test('an administrator manages lower roles but not equal ones', async () => {
  const admin = await visit.person('boss', 10)
  await visit.person('peer', 10)
  const { page, close } = await visit.open('/user', admin)
  await row(page, 'peer').waitFor()
  for (const label of ['禁用', '删除', '编辑']) {
    const button = action(page, 'peer', label)
    await expect.poll(() => button.isDisabled()).toBe(true)
    await expect.poll(() => button.getAttribute('title')).toBe('对方的权限与您相同或更高')
  }
  await expect
    .poll(() => action(page, 'amy', '提升').getAttribute('title'))
    .toBe('只有超级管理员可以提升用户')
  await action(page, 'amy', '禁用').click()
  await row(page, 'amy').getByText('已封禁').waitFor()
  await close()
})

describe('in a page that is open elsewhere', () => {
  test('a promotion extends the menu without signing in again', async () => {
    const eve = await visit.person('eve')
    const { page, close } = await visit.open('/token', eve)
    await settled(page)
    expect(await page.getByRole('link', { name: '用户', exact: true }).count()).toBe(0)
    await visit.ask(visit.root, 'POST /api/user/manage', { username: 'eve', action: 'promote' })
    await page.getByRole('link', { name: '充值', exact: true }).click()
    await page.getByRole('link', { name: '用户', exact: true }).click()
    await row(page, 'eve').waitFor()
    await close()
  })

  test('another user’s sign-in discards the input', async () => {
    const [ann, bob] = [await visit.person('ann'), await visit.person('bob')]
    const { page, context } = await visit.open('/token/add', ann)
    await page.getByLabel('名称 *').fill('of ann')
    const [name = '', value = ''] = bob.cookie.split('=')
    await context.addCookies([{ name, value, url: visit.gatehouse.url }])
    const other = await context.newPage()
    await other.goto(`${visit.gatehouse.url}/token`)
    await other.evaluate((user) => localStorage.setItem('user', user), JSON.stringify(bob.user))
    await expectSeen(page.getByText('已在另一个标签页登录账户「bob」'))
    await expect.poll(() => page.getByLabel('名称 *').inputValue()).toBe('')
    await context.close()
  })

  test('a ban ends the session when the window becomes visible again', async () => {
    const max = await visit.person('max')
    const { page, close } = await visit.open('/token', max)
    // A pending request for the user would not be repeated.
    await settled(page)
    await visit.ask(visit.root, 'POST /api/user/manage', { username: 'max', action: 'disable' })
    // The component that sends it is in the bar, which may render after the page has settled.
    await expect
      .poll(async () => {
        await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')))
        return page.url()
      })
      .toMatch(/\/login\?expired=true$/)
    await expectSeen(page.getByText('未登录或登录已过期，请重新登录'))
    await expect.poll(() => page.evaluate(() => localStorage.getItem('user'))).toBeNull()
    await close()
  })
})
