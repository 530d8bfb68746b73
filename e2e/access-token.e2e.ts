import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Person, type Visit } from './visit.ts'

/** System access tokens in the personal settings, and on a user's page for administrators. */

const WORDS = {
  zh: {
    create: '新建系统访问令牌',
    submit: '新建',
    noName: '请输入名称',
    name: '名称',
    life: '有效期',
    days: '30 天',
    once: '请立即复制保存，关闭后不再显示',
    read: '只读（不含密钥和兑换码）',
    used: '由 127.0.0.1 使用',
    revoke: '撤销',
    revoked: '系统访问令牌已撤销',
  },
  en: {
    create: 'Create system access token',
    submit: 'Create',
    noName: 'Enter a name',
    name: 'Name',
    life: 'Lifetime',
    days: '30 days',
    once: 'Copy it now. It is not shown again',
    read: 'Read only (no keys or codes)',
    used: 'from 127.0.0.1',
    revoke: 'Revoke',
    revoked: 'The system access token was revoked',
  },
} as const

let visit: Visit
beforeAll(async () => {
  visit = await startVisit()
})
afterAll(() => visit.stop())

const opens = async (authorization: string): Promise<boolean> => {
  const answer = await fetch(`${visit.gatehouse.url}/api/user/self`, { headers: { authorization } })
  return Object(await answer.json()).success === true
}

describe.each(['zh', 'en'] as const)('a system access token (%s)', (language) => {
  const words = WORDS[language]
  let person: Person
  let page: Page
  beforeAll(async () => {
    person = await visit.person(`token-${language}`)
  })
  async function revoke(on: Page, name: string): Promise<void> {
    const row = on.locator('li').filter({ hasText: name })
    await row.getByRole('button', { name: words.revoke, exact: true }).click()
    await on.getByRole('dialog').getByRole('button', { name: words.revoke, exact: true }).click()
    await expectSeen(on.getByText(words.revoked))
    await expect.poll(() => row.count()).toBe(0)
  }

  test('is created with a name, shown once, used and revoked', async () => {
    ;({ page } = await visit.open('/setting', person, { language }))
    await page.getByRole('button', { name: words.create, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: words.submit, exact: true }).click()
    await expectSeen(dialog.getByText(words.noName))
    await dialog.getByLabel(words.name).fill('grafana')
    await dialog.getByLabel(words.life).selectOption(words.days)
    await dialog.getByRole('button', { name: words.submit, exact: true }).click()
    await expectSeen(dialog.getByText(words.once))
    const token = await dialog.locator('code').first().innerText()
    expect(token).toMatch(/^gha_/)
    expect(await opens(token)).toBe(true)
    await settled(page)
    await page.reload()
    const row = page.locator('li').filter({ hasText: 'grafana' })
    await expectSeen(row.getByText(words.read))
    await expectSeen(row.getByText(words.used))
    await revoke(page, 'grafana')
    expect(await opens(token)).toBe(false)
  })

  test('is revoked by an administrator on the user’s page', async () => {
    const wanted = { name: 'leaked', scopes: ['all'] }
    const { token } = Object(await visit.ask(person, 'POST /api/user/access_tokens', wanted))
    const path = `/user/edit/${person.user.id}`
    const { page: theirs } = await visit.open(path, visit.root, { language })
    await revoke(theirs, 'leaked')
    expect(await opens(token)).toBe(false)
  })
})
