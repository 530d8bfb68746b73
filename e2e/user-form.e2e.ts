import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectSeen } from './expect-page.ts'
import { startVisit, type Visit } from './visit.ts'

let visit: Visit
let page: Page

beforeAll(async () => {
  visit = await startVisit()
  ;({ page } = await visit.open('/user/add', visit.root))
})
afterAll(() => visit.stop())

const field = (name: string) => page.getByLabel(name, { exact: true })
const submit = (name: string) => page.getByRole('button', { name, exact: true }).click()
const goTo = (path: string) => page.goto(visit.gatehouse.url + path)
interface StoredUser {
  id: number
  username: string
  display_name: string
  group: string
  quota: number
}
const stored = async (username: string): Promise<StoredUser> => {
  const call = `GET /api/user/search?keyword=${username}` as const
  const [user] = await visit.ask<StoredUser[]>(visit.root, call)
  if (user === undefined) throw new Error(`no ${username}`)
  return user
}

describe('adding a user', () => {
  test('requires a name and a password of eight characters', async () => {
    await goTo('/user/add')
    await submit('创建')
    await expectSeen(page.getByText('请输入用户名'))
    await expectSeen(page.getByText('请输入密码'))
    await expect.poll(() => field('用户名 *').getAttribute('aria-invalid')).toBe('true')
    await field('用户名 *').fill('alice')
    await field('密码 *').fill('1234567')
    await submit('创建')
    await expectSeen(page.getByText('密码长度不得小于 8 位！'))
    expect(await visit.ask(visit.root, 'GET /api/user/search?keyword=alice')).toEqual([])
  })

  test('returns to the list, which contains the new user', async () => {
    await field('密码 *').fill('12345678')
    await field('显示名称').fill('爱丽丝')
    await submit('创建')
    await expectSeen(page.getByText('用户账户创建成功！'))
    await page.waitForURL('**/user')
    await page.getByRole('row').filter({ hasText: '爱丽丝' }).waitFor()
  })

  test('a taken name is rejected in the form, which keeps its input', async () => {
    await goTo('/user/add')
    await field('用户名 *').fill('alice')
    await field('密码 *').fill('12345678')
    await submit('创建')
    const form = page.getByRole('form', { name: '添加用户' })
    await expectSeen(form.getByText('用户名「alice」已被使用'))
    await expect.poll(() => field('用户名 *').inputValue()).toBe('alice')
  })
})

describe('editing a user', () => {
  test('shows the stored values and cannot be saved unchanged', async () => {
    const { id } = await stored('alice')
    await goTo(`/user/edit/${id}`)
    await expect.poll(() => field('用户名').inputValue()).toBe('alice')
    await expect.poll(() => field('密码').inputValue()).toBe('')
    await expect
      .poll(() => page.getByRole('button', { name: '保存', exact: true }).isDisabled())
      .toBe(true)
  })

  test('changes group and quota; what was spent or added meanwhile is kept', async () => {
    const { id, quota } = await stored('alice')
    await field('显示名称').fill('Alice')
    await field('分组').fill('svip,')
    await field('剩余额度').fill(String(quota + 1_000_000))
    await expectSeen(page.getByText('等价 $2.00'))
    await expectSeen(page.getByText('剩余额度 0 → 1000000'))
    await visit.ask(visit.root, 'POST /api/topup', { user_id: id, quota: 77 })
    await submit('保存')
    await expectSeen(page.getByText('用户信息更新成功！'))
    await page.waitForURL('**/user')
    expect(await stored('alice')).toMatchObject({
      display_name: 'Alice',
      group: 'default,svip',
      quota: quota + 1_000_077,
    })
  })

  test('an empty group is default; an empty password stays unchanged', async () => {
    const { id } = await stored('alice')
    await goTo(`/user/edit/${id}`)
    await field('分组').focus()
    for (const _tag of ['svip', 'default']) await page.keyboard.press('Backspace')
    await expectSeen(page.getByText('分组 default,svip → default'))
    await submit('保存')
    await page.waitForURL('**/user')
    expect(await stored('alice')).toMatchObject({ group: 'default' })
    const body = JSON.stringify({ username: 'alice', password: '12345678' })
    const login = await fetch(`${visit.gatehouse.url}/api/user/login`, { method: 'POST', body })
    expect(await login.json()).toMatchObject({ success: true })
  })

  test('an invalid quota is reported below its field', async () => {
    const { id } = await stored('alice')
    await goTo(`/user/edit/${id}`)
    await field('剩余额度').fill('1.5')
    await submit('保存')
    await expectSeen(page.getByText('额度必须是 0 到 1125899906842624 的整数，例如 500000'))
  })

  test('a repeated save after a lost response books a quota once', async () => {
    const { id, quota } = await stored('alice')
    await goTo(`/user/edit/${id}`)
    await page.route(
      '**/api/user/',
      async (route) => {
        await route.fetch()
        await route.fulfill({ status: 504, body: 'Gateway Time-out' })
      },
      { times: 1 },
    )
    await field('剩余额度').fill(String(quota + 1000))
    await submit('保存')
    await expectSeen(page.getByRole('alert').getByText('服务器没有正常响应（HTTP 504）'))
    expect(await stored('alice')).toMatchObject({ quota: quota + 1000 })
    await submit('保存')
    await page.waitForURL('**/user')
    expect(await stored('alice')).toMatchObject({ quota: quota + 1000 })
  })

  test('limits: an invalid one is reported, and the user sees the set ones', async () => {
    const { id } = await stored('alice')
    await goTo(`/user/edit/${id}`)
    await field('每月').fill('x')
    await submit('保存')
    await expectSeen(page.getByText('限制必须是不小于 0 的整数，例如 60，留空则不限制'))
    // Each field belongs to a labelled group; the error describes only the invalid field.
    const budget = page.getByRole('group', { name: '预算', exact: true })
    const described = (name: string) =>
      budget.getByRole('textbox', { name, exact: true }).evaluate((element) => {
        const ids = element.getAttribute('aria-describedby')?.split(' ') ?? []
        return ids.map((part) => document.getElementById(part)?.textContent).join('')
      })
    expect(await described('每月')).toContain('限制必须是不小于 0 的整数')
    expect(await described('每周')).not.toContain('限制必须是不小于 0 的整数')
    await field('每月').fill('1000000')
    await field('同时进行的调用').fill('4')
    await expectSeen(page.getByText('1 处未保存：限制与预算'))
    await submit('保存')
    await page.waitForURL('**/user')
    const { limits } = await visit.ask<{ limits: unknown }>(visit.root, `GET /api/user/${id}`)
    expect(limits).toMatchObject({ limits: { calls_at_once: 4, quota_per_month: 1_000_000 } })
  })

  test('a missing user, and one that the administrator may not see, are reported', async () => {
    await goTo('/user/edit/99999')
    await expectSeen(page.getByRole('alert').getByText('没有找到该记录'))
    const admin = await visit.person('boss', 10)
    const other = await visit.open('/user/edit/1', admin)
    await expectSeen(
      other.page.getByRole('main').getByRole('link', { name: '返回列表', exact: true }),
    )
    await other.close()
  })
})

test('an ordinary user cannot open it', async () => {
  const user = await visit.person('plain')
  for (const path of ['/user', '/user/add', '/redemption', '/audit']) {
    const { page: theirs, close } = await visit.open(path, user)
    await theirs.getByRole('heading', { name: '无权访问' }).waitFor()
    expect(await theirs.getByRole('table').count()).toBe(0)
    expect(await theirs.getByRole('textbox').count()).toBe(0)
    await close()
  }
})
