import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { violations } from './axe.ts'
import { expectAt, expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Person, type Visit } from './visit.ts'

/** The layout around every page: bar, access, toasts, languages. */

let visit: Visit
let admin: Person
let user: Person

beforeAll(async () => {
  visit = await startVisit()
  admin = await visit.person('adminone', 10)
  user = await visit.person('userone')
})
afterAll(async () => visit.stop())

const COMMON = ['首页', '概览']
const AFTER = ['日志', '设置']

/** Waits until the focused element has this text; undefined if no element is focused. */
async function expectFocus(page: Page, text: string | undefined) {
  const focused = () => page.evaluate(() => document.querySelector(':focus')?.textContent)
  await expect.poll(focused).toBe(text)
}

describe('the menu', () => {
  test.each([
    ['a visitor', null, ['首页', '关于']],
    ['a user', 'user', [...COMMON, '令牌', '充值', ...AFTER, '关于']],
    ['an admin', 'admin', [...COMMON, '渠道', '令牌', '兑换码', '充值', '用户', ...AFTER, '关于']],
    [
      'root',
      'root',
      [...COMMON, '渠道', '令牌', '兑换码', '充值', '用户', ...AFTER, '审计', '关于'],
    ],
  ])('of %s', async (_who, role, words) => {
    const person = { user, admin, root: visit.root }[role ?? '']
    const { page, close } = await visit.open('/about', person)
    const menu = page.getByRole('navigation', { name: '主菜单' })
    await menu.getByRole('link', { name: '关于', exact: true }).waitFor()
    await expect.poll(() => menu.getByRole('link').allInnerTexts()).toEqual(words)
    await close()
  })

  test('is behind a button in a narrow window', async () => {
    const { page, close } = await visit.open('/token', user, { width: 390, height: 800 })
    const link = page
      .getByRole('navigation', { name: '主菜单' })
      .getByRole('link', { name: '日志', exact: true })
    await settled(page)
    expect(await link.isVisible()).toBe(false)
    await page.getByRole('button', { name: '菜单', exact: true }).click()
    await link.click()
    await page.getByRole('heading', { name: '使用日志' }).waitFor()
    await expect.poll(() => link.isVisible()).toBe(false)
    await close()
  })
})

describe('the bar fits a long name, a large balance and a chat entry', () => {
  beforeAll(async () => {
    await visit.setOption('SystemName', 'The gateway of a company with a very long name')
    await visit.setOption('ChatLink', 'https://chat.example')
    await visit.ask(visit.root, 'PUT /api/user/', { id: visit.root.user.id, quota: 5e14 })
  })
  afterAll(async () => {
    await visit.setOption('SystemName', '')
    await visit.setOption('ChatLink', '')
  })

  test.each([
    { who: 'root', width: 1021, path: '/topup' },
    { who: 'root', width: 1280, path: '/topup' },
    { who: 'root', width: 1440, path: '/topup' },
    { who: 'a visitor', width: 390, path: '/login' },
  ])('of $who at $width px', async ({ who, width, path }) => {
    const as = who === 'root' ? visit.root : undefined
    const { page, close } = await visit.open(path, as, { width, language: 'en' })
    await settled(page)
    const bar = page.getByRole('banner')
    const seen = await bar.evaluate((element) => ({
      overflow: element.scrollWidth - element.clientWidth,
      // Wrapped text makes its line higher than the bar.
      high: [...element.querySelectorAll('a, button, span, kbd')]
        .filter((part) => part.scrollHeight > element.clientHeight)
        .map((part) => part.textContent),
      under: [...element.querySelectorAll('a, button')]
        .filter((part) => {
          const { left, right, top, height, width: wide } = part.getBoundingClientRect()
          const at = document.elementFromPoint((left + right) / 2, top + height / 2)
          return wide > 0 && !part.contains(at)
        })
        .map((part) => part.textContent),
    }))
    expect(seen).toEqual({ overflow: 0, high: [], under: [] })
    await close()
  })
})

test('a tooltip appears after 50 ms, explains a disabled button, and restores the title', async () => {
  const { page, context, problems } = await visit.open('/user', visit.root)
  await settled(page)
  // Only the test moves the time.
  await page.clock.install({ time: 0 })
  await page.clock.pauseAt(1000)
  const button = page.getByRole('row').filter({ hasText: 'userone' }).getByText('降级')
  const tooltip = page.getByRole('tooltip')
  const why = '该用户已经是普通用户'
  await button.hover({ force: true })
  await expect.poll(() => page.getByTitle(why).count()).toBe(0)
  await page.clock.runFor(49)
  expect(await tooltip.count()).toBe(0)
  await page.clock.runFor(1)
  await expect.poll(() => tooltip.allInnerTexts()).toEqual([why])
  await page.mouse.move(0, 0)
  await tooltip.waitFor({ state: 'hidden' })
  await expect.poll(() => page.getByTitle(why).count()).toBe(1)
  expect(problems).toEqual([])
  await context.close()
})

test('a tooltip follows changes of the title and disappears with it', async () => {
  const { page, close } = await visit.open('/user', visit.root)
  await settled(page)
  const row = page.getByRole('row').filter({ hasText: 'userone' })
  const titled = row.getByRole('button', { name: '降级', exact: true })
  const tooltip = page.getByRole('tooltip')
  await titled.hover({ force: true })
  await expect.poll(() => tooltip.allInnerTexts()).toEqual(['该用户已经是普通用户'])
  // As React does when its content changes.
  await titled.evaluate((element) => element.setAttribute('title', '另一句'))
  await expect.poll(() => tooltip.allInnerTexts()).toEqual(['另一句'])
  await titled.evaluate((element) => element.removeAttribute('title'))
  await tooltip.waitFor({ state: 'hidden' })
  await page.mouse.move(0, 0)
  await expect.poll(() => titled.getAttribute('title')).toBeNull()
  await close()
})

describe('access control', () => {
  test('redirects a visitor to the sign-in page and back', async () => {
    const { page, close } = await visit.open('/log?type=2')
    await page.waitForURL('**/login')
    await page.getByLabel('用户名或邮箱').fill('userone')
    await page.getByLabel('密码', { exact: true }).fill('RootPass1')
    await page.getByRole('button', { name: '登录', exact: true }).click()
    await expectAt(page, '**/log?type=2')
    await close()
  })

  test.each(['/channel', '/redemption/add', '/user', '/user/edit/1'])(
    '%s is not for ordinary users, and says so',
    async (path) => {
      const { page, close } = await visit.open(path, user)
      await page.getByRole('heading', { name: '无权访问' }).waitFor()
      expect(await page.getByRole('table').count()).toBe(0)
      await close()
    },
  )

  test('signing out ends the session', async () => {
    const someone = await visit.person('leaver')
    const { page, context, problems } = await visit.open('/token', someone)
    const refused: string[] = []
    page.on('response', (answer) => answer.status() === 401 && refused.push(answer.url()))
    await page.getByRole('button', { name: /的账户菜单/ }).click()
    await page.getByRole('menuitem', { name: '退出登录', exact: true }).click()
    await page.waitForURL('**/login')
    await expect.poll(() => page.context().cookies()).toEqual([])
    // No request for the signed-in user is sent afterwards.
    await settled(page)
    expect(refused).toEqual([])
    expect(problems).toEqual([])
    const self = await fetch(`${visit.gatehouse.url}/api/user/self`, {
      headers: { cookie: someone.cookie },
    })
    expect(self.status).toBe(401)
    await context.close()
  })
})

test('the window title distinguishes tabs and records of one page', async () => {
  const { page, close } = await visit.open('/setting?tab=price', user)
  await expect.poll(() => page.title()).toBe('模型价格 · 设置 · Gatehouse')
  await page.goto(`${visit.gatehouse.url}/setting?tab=personal`)
  await expect.poll(() => page.title()).toBe('个人设置 · 设置 · Gatehouse')
  await page.goto(`${visit.gatehouse.url}/token`)
  await page.getByRole('link', { name: '编辑', exact: true }).first().click()
  await expect.poll(() => page.title()).toBe('default · 编辑令牌 · Gatehouse')
  await page.goBack()
  await expect.poll(() => page.title()).toBe('令牌 · Gatehouse')
  await close()
})

test('an unknown address shows an error', async () => {
  const { page, close } = await visit.open('/no/such/page')
  await expectSeen(page.getByText('页面不存在，请检查您的浏览器地址是否正确'))
  await close()
})

test('a loading page shows a placeholder text', async () => {
  const { page, close } = await visit.open('/about', user)
  await page.getByRole('heading', { name: '关于' }).waitFor()
  const { promise: hasBeenSeen, resolve: letCome } = Promise.withResolvers<void>()
  await page.route('**/assets/topup-page-*.js', async (route) => {
    await hasBeenSeen
    await route.continue()
  })
  await page
    .getByRole('navigation', { name: '主菜单' })
    .getByRole('link', { name: '充值', exact: true })
    .click()
  await expectSeen(page.getByText('正在加载页面…'))
  letCome()
  await expectSeen(page.getByRole('heading', { name: '充值' }))
  await close()
})

describe('a page whose files fail to load', () => {
  test('shows an error, and loads them the next time', async () => {
    const { page, close } = await visit.open('/token', user)
    await settled(page)
    const menu = page.getByRole('navigation', { name: '主菜单' })
    const failed = page.getByRole('heading', { name: '页面无法显示' })
    const missed = new Set<string>()
    await page.route('**/assets/*.css', (route) => {
      missed.add(route.request().url())
      return route.abort()
    })
    await menu.getByRole('link', { name: '日志', exact: true }).click()
    await failed.waitFor()
    await expectSeen(page.getByText('加载失败，可能是网络中断，或服务器已更新到新版本，请刷新页面'))
    await page.unroute('**/assets/*.css')
    await menu.getByRole('link', { name: '令牌', exact: true }).click()
    await menu.getByRole('link', { name: '日志', exact: true }).click()
    await page.getByRole('heading', { name: '使用日志' }).waitFor()
    const sheets = await page.evaluate(() => [...document.styleSheets].map(({ href }) => href))
    expect(missed.size).toBeGreaterThan(0)
    for (const url of missed) expect(sheets.filter((href) => href === url)).toEqual([url])
    await page.route('**/assets/*.css', (route) => route.abort())
    await menu.getByRole('link', { name: '设置', exact: true }).click()
    await failed.waitFor()
    await page.unroute('**/assets/*.css')
    await page.getByRole('button', { name: '重试', exact: true }).click()
    await expectSeen(page.getByRole('heading', { name: '设置', exact: true }))
    await close()
  })

  test('the palette is loaded again', async () => {
    const { page, close } = await visit.open('/token', user)
    // It is preloaded; a failure of that is ignored.
    await page.route('**/assets/palette-*.css', (route) => route.abort())
    await page.reload()
    const field = page.getByRole('button', { name: '搜索或跳转' })
    await field.waitFor()
    await settled(page)
    await page.unroute('**/assets/palette-*.css')
    await field.click()
    await expectSeen(page.getByPlaceholder('搜索或跳转'))
    await page.route('**/assets/palette-*.js', (route) => route.abort())
    await page.reload()
    await field.waitFor()
    await settled(page)
    await field.click()
    await expectSeen(page.getByText('加载失败，可能是网络中断，或服务器已更新到新版本，请刷新页面'))
    await close()
  })
})

describe('toasts', () => {
  test.each([
    [390, 'top-center'],
    [600, 'top-center'],
    [601, 'bottom-left'],
  ])('on a screen of %i px: %s', async (width, position) => {
    const { page, close } = await visit.open('/topup', user, { width, height: 800 })
    await page.getByRole('button', { name: '兑换', exact: true }).click()
    const toast = page.locator('.mantine-Notification-root').first()
    await toast.waitFor()
    const stack = page.locator(`.mantine-Notifications-root[data-position="${position}"]`)
    await expect.poll(() => stack.filter({ has: toast }).count()).toBe(1)
    await close()
  })

  test('the same text is shown once, and its time restarts', async () => {
    const { page, context } = await visit.open('/topup', user)
    const redeem = page.getByRole('button', { name: '兑换', exact: true })
    const toasts = page.locator('.mantine-Notification-root')
    await settled(page)
    // Only the test moves the time.
    await page.clock.install({ time: 0 })
    await page.clock.pauseAt(1000)
    const pass = (milliseconds: number) => page.clock.runFor(milliseconds)
    await redeem.click()
    await expect.poll(() => toasts.count()).toBe(1)
    // A warning stays for ten seconds.
    await pass(7000)
    for (let click = 0; click < 4; click += 1) await redeem.click()
    await pass(7000)
    expect(await toasts.count()).toBe(1)
    await pass(4000)
    // It leaves in steps, each after a rendering.
    await expect
      .poll(async () => {
        await pass(100)
        return toasts.count()
      })
      .toBe(0)
    await context.close()
  })
})

test('going back and reloading restore the scroll position', async () => {
  const reader = await visit.person('reader')
  for (let index = 0; index < 5; index += 1) {
    await visit.ask(reader, 'POST /api/token/', { name: `of ${index}` })
  }
  const { page, close } = await visit.open('/token', reader, { width: 390, height: 500 })
  const scrollTo = (top: number) => page.evaluate((y) => window.scrollTo(0, y), top)
  const scrolled = () => page.evaluate(() => window.scrollY)
  await settled(page)
  await scrollTo(120)
  await expect.poll(scrolled).toBe(120)
  const edit = page.getByRole('link', { name: '编辑', exact: true }).first()
  // Not with the mouse, which would scroll the link into view.
  await edit.dispatchEvent('click')
  await page.getByRole('heading', { name: '编辑令牌' }).waitFor()
  await settled(page)
  await expect.poll(scrolled).toBe(0)
  await page.goBack()
  await page.getByRole('heading', { name: '令牌', exact: true }).waitFor()
  await expect.poll(scrolled).toBe(120)
  await page.reload()
  await expect.poll(scrolled).toBe(120)
  await close()
})

test('a page that was offline reloads when the network is back', async () => {
  const { page, close } = await visit.open('/about', user)
  await settled(page)
  await page.route('**/api/token/**', (route) => route.abort())
  await page.goto(`${visit.gatehouse.url}/token`)
  await expectSeen(page.getByText('令牌加载失败'))
  // A toast is announced; the message in its place is not announced again.
  await expectSeen(page.getByRole('alert').getByText(/^错误：/))
  expect(await page.getByRole('alert').filter({ hasText: '令牌加载失败' }).count()).toBe(0)
  await page.unroute('**/api/token/**')
  await page.evaluate(() => {
    window.dispatchEvent(new Event('offline'))
    window.dispatchEvent(new Event('online'))
  })
  await page.getByRole('row', { name: 'default' }).waitFor()
  await close()
})

test('the public status is stored under the wire’s names', async () => {
  const { page, close } = await visit.open('/login')
  await page.getByLabel('用户名或邮箱').waitFor()
  await settled(page)
  const stored = await page.evaluate(() => Object.fromEntries(Object.entries(localStorage)))
  expect(stored).toMatchObject({
    quota_per_unit: '500000',
    system_name: 'Gatehouse',
    logo: '/logo.png',
    footer_html: '',
    display_in_currency: 'true',
  })
  expect(JSON.parse(stored['status'] ?? '{}')).toMatchObject({
    email_verification: false,
    turnstile_check: false,
    turnstile_site_key: '',
  })
  await close()
})

test('an invalid stored status breaks nothing while the server does not respond', async () => {
  const { page, close } = await visit.open('/token', user)
  await page.getByRole('row', { name: 'default' }).waitFor()
  await page.route('**/api/status', (route) => route.abort())
  await page.evaluate(() => {
    const broken = { quota_per_unit: 'many', system_name: {}, gatehouse: { features: {} } }
    localStorage.setItem('status', JSON.stringify(broken))
  })
  await page.reload()
  await page.getByRole('row', { name: 'default' }).waitFor()
  await expect.poll(() => page.getByRole('banner').innerText()).toContain('$0.00')
  expect(await page.locator('body').innerText()).not.toContain('NaN')
  await close()
})

test('every page is available in English, and the choice is stored', async () => {
  const { page, close } = await visit.open('/token', user, { language: 'en' })
  await page.getByRole('heading', { name: 'Tokens' }).waitFor()
  await expect.poll(() => page.locator('html').getAttribute('lang')).toBe('en')
  await settled(page)
  expect(await page.getByRole('main').innerText()).not.toMatch(/\p{Script=Han}/u)
  await close()
})

test('without the English file, the console stays Chinese and shows a message', async () => {
  const { page, close } = await visit.open('/login', undefined, { language: 'en' })
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  await page.route('**/assets/en-*.js', (route) => route.abort())
  await page.reload()
  await expectSeen(page.getByRole('button', { name: '登录', exact: true }))
  await expectSeen(page.getByText('Could not load English. Reload the page'))
  await page.unroute('**/assets/en-*.js')
  await page.reload()
  await expectSeen(page.getByRole('button', { name: 'Sign in', exact: true }))
  await close()
})

test('a copy button shows its result for three seconds', async () => {
  const { page, context } = await visit.open('/', user)
  await settled(page)
  await page.clock.install({ time: 0 })
  await page.clock.pauseAt(1000)
  await page.getByRole('button', { name: '复制', exact: true }).first().click()
  const said = page.getByRole('button', { name: '已复制', exact: true })
  await said.waitFor()
  await page.clock.runFor(2900)
  expect(await said.isVisible()).toBe(true)
  await page.clock.runFor(200)
  await said.waitFor({ state: 'detached' })
  await page.evaluate(() => {
    Object.defineProperty(navigator, 'clipboard', { value: undefined })
    document.execCommand = () => false
  })
  await page.getByRole('button', { name: '复制', exact: true }).first().click()
  await page.getByRole('button', { name: '无法复制，请手动复制', exact: true }).waitFor()
  await context.close()
})

describe('by keyboard', () => {
  test('keystrokes after Ctrl+K do not reach the form, however late the palette loads', async () => {
    const { page, close } = await visit.open('/about', user)
    await page.route('**/assets/palette-*', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1500))
      await route.continue()
    })
    await page.goto(`${visit.gatehouse.url}/token/add`)
    const name = page.getByLabel('名称 *')
    await name.focus()
    await page.getByRole('button', { name: '搜索或跳转' }).waitFor()
    await page.keyboard.press('Control+K')
    await page.keyboard.type('log')
    await page.getByPlaceholder('搜索或跳转').waitFor()
    await expect.poll(() => name.inputValue()).toBe('')
    await close()
  })

  test('a slash focuses the search field, Ctrl+K opens the palette', async () => {
    const { page, close } = await visit.open('/token', user)
    // It loads after the page and adds the shortcut.
    await page.getByRole('button', { name: '搜索或跳转' }).waitFor()
    await settled(page)
    await page.keyboard.press('/')
    await page.getByRole('searchbox').and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Control+K')
    await page.getByPlaceholder('搜索或跳转').fill('日志')
    await page
      .getByRole('listbox', { name: '搜索或跳转' })
      .getByRole('option')
      .first()
      .filter({ hasText: '日志' })
      .waitFor()
    await page.keyboard.press('Enter')
    await expectAt(page, '**/log')
    await close()
  })

  test('the palette does not open behind a dialog', async () => {
    const { page, close } = await visit.open('/setting?tab=personal', user)
    await page.getByRole('button', { name: '搜索或跳转' }).waitFor()
    await settled(page)
    await page.getByRole('button', { name: '删除个人账户', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    await page.keyboard.press('Control+K')
    await page.keyboard.press('Escape')
    await expect.poll(() => dialog.count()).toBe(0)
    expect(await page.getByPlaceholder('搜索或跳转').count()).toBe(0)
    await page.keyboard.press('Control+K')
    await page.getByPlaceholder('搜索或跳转').waitFor()
    await close()
  })

  test('a new page is announced, or its heading takes a lost focus', async () => {
    const { page, close } = await visit.open('/token', user)
    await settled(page)
    const said = page.locator('header + output')
    await expect.poll(() => said.innerText()).toBe('')
    const menu = page.getByRole('navigation', { name: '主菜单' })
    const entry = menu.getByRole('link', { name: '日志', exact: true })
    await entry.press('Enter')
    await expect.poll(() => said.innerText()).toBe('日志')
    await expectFocus(page, '日志')
    await menu.getByRole('link', { name: '令牌', exact: true }).press('Enter')
    await expect.poll(() => said.innerText()).toBe('令牌')
    const edit = page.getByRole('row', { name: 'default' }).getByRole('link', { name: '编辑' })
    // The previous page stays visible until the next one has loaded.
    await page.route('**/assets/token-form-page-*.js', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500))
      await route.continue()
    })
    await edit.press('Enter')
    await expectFocus(page, '编辑令牌')
    await page.getByRole('button', { name: '取消', exact: true }).press('Enter')
    await expect.poll(() => edit.evaluate((link) => link === document.activeElement)).toBe(true)
    await edit.press('Enter')
    await page.getByLabel('名称', { exact: true }).fill('by keyboard')
    await page.getByLabel('名称', { exact: true }).press('Enter')
    const renamed = page.getByRole('row', { name: 'by keyboard' })
    await expect
      .poll(() => renamed.getByRole('link').evaluate((link) => link === document.activeElement))
      .toBe(true)
    // A page's first field keeps the focus.
    await page.getByRole('link', { name: '添加令牌', exact: true }).press('Enter')
    await page.getByLabel('名称 *').and(page.locator(':focus')).waitFor()
    await page.getByRole('button', { name: '取消', exact: true }).press('Enter')
    await expectFocus(page, '令牌')
    // A loaded page starts at its top.
    await page.reload()
    await settled(page)
    await expectFocus(page, undefined)
    await close()
  })

  test('the palette announces the active entry and the number of results', async () => {
    const { page, close } = await visit.open('/token', user)
    await page.getByRole('button', { name: '搜索或跳转' }).waitFor()
    await settled(page)
    await page.keyboard.press('Control+K')
    const field = page.getByRole('combobox', { name: '搜索或跳转' })
    await field.waitFor()
    const marked = () =>
      field.evaluate((element) => {
        const id = element.getAttribute('aria-activedescendant') ?? ''
        return document.getElementById(id)?.textContent
      })
    const options = page.getByRole('listbox', { name: '搜索或跳转' }).getByRole('option')
    await options.nth(1).waitFor()
    const names = await options.allTextContents()
    await field.press('ArrowDown')
    await expect.poll(marked).toBe(names[0])
    await field.press('ArrowDown')
    await expect.poll(marked).toBe(names[1])
    await expectSeen(page.getByRole('option', { name: names[1] ?? '', selected: true }))
    await expectSeen(page.getByRole('group', { name: '操作' }).getByRole('option'))
    expect(await violations(page)).toEqual([])
    // Also finds an entry by its path, which is not displayed.
    await field.fill('/log')
    await expectSeen(page.getByRole('status').getByText('找到 1 项', { exact: true }))
    await expect.poll(marked).toBe('日志')
    await field.fill('nothing of the kind')
    await expectSeen(page.getByRole('status').getByText('没有找到', { exact: true }))
    await expect.poll(() => field.getAttribute('aria-expanded')).toBe('false')
    await expect.poll(marked).toBe(undefined)
    expect(await violations(page)).toEqual([])
    await close()
  })
})

test('with forced colors, active and enabled items are visible', async () => {
  const { page, context } = await visit.open('/token/add', user)
  await page.emulateMedia({ forcedColors: 'active' })
  await settled(page)
  const looks = (part: Locator) =>
    part.evaluate((element) => {
      const { backgroundColor, borderTopWidth } = getComputedStyle(element)
      return { backgroundColor, borderTopWidth }
    })
  const entry = (name: string) =>
    page.getByRole('navigation', { name: '主菜单' }).getByRole('link', { name, exact: true })
  expect(await looks(entry('令牌'))).not.toEqual(await looks(entry('日志')))
  const toggle = page.getByRole('switch', { name: '无限额度，只受账户余额限制', exact: true })
  const track = page.locator('.mantine-Switch-track')
  const thumb = page.locator('.mantine-Switch-thumb')
  const off = [await looks(track), await looks(thumb)]
  expect(off[0]?.borderTopWidth).toBe('1px')
  expect(off[0]?.backgroundColor).not.toBe(off[1]?.backgroundColor)
  await toggle.press('Space')
  const color = async (part: Locator) => (await looks(part)).backgroundColor
  await expect.poll(() => color(track)).not.toBe(off[0]?.backgroundColor)
  await expect.poll(async () => (await color(track)) === (await color(thumb))).toBe(false)
  await page.goto(`${visit.gatehouse.url}/log`)
  const range = (name: string) => page.getByRole('button', { name, exact: true })
  await range('全部').and(page.locator('[aria-pressed=true]')).waitFor()
  const today = await looks(range('今天'))
  await expect.poll(() => looks(range('全部'))).not.toEqual(today)
  await context.close()
})
