import { mkdir } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startOidcProvider, type OidcProvider } from '../tools/sign-in-providers/oidc-provider.ts'
import { expectAt, expectSeen } from './expect-page.ts'
import { startVisit, type Visit } from './visit.ts'

/** A provider that root enters in the settings, on the sign-in page and in personal settings. */

let corp: OidcProvider
let visit: Visit

beforeAll(async () => {
  visit = await startVisit()
  corp = await startOidcProvider([`${visit.gatehouse.url}/oauth/oidc/corp`])
  corp.people.set('alice', { name: 'Alice', preferred_username: 'alice' })
  corp.people.set('carol', { name: 'Carol', preferred_username: 'carol' })
})
afterAll(async () => {
  await visit.stop()
  await corp.close()
})

/** Folder for screenshots; without it no screenshots are taken. */
const SHOTS = process.env['SIGN_IN_PROVIDERS_SHOTS']
async function picture(page: Page, name: string): Promise<void> {
  if (SHOTS === undefined) return
  await mkdir(SHOTS, { recursive: true })
  await page.screenshot({ path: `${SHOTS}/${name}.png` })
}

/** Clicks a button that opens the provider in a new window, and makes a choice there. */
async function goTo(page: Page, button: string, choice: string): Promise<Page> {
  const opened = page.context().waitForEvent('page')
  await page.getByRole('button', { name: button }).click()
  const provider = await opened
  await provider.getByRole('link', { name: choice }).click()
  return provider
}

test('root adds a provider, and the form keeps its secret', async () => {
  const { page } = await visit.open('/setting?tab=system', visit.root)
  const section = page.getByRole('region', { name: '更多登录服务' })
  await section.getByLabel('新 OIDC 服务的名称').fill('corp')
  await section.getByRole('button', { name: '添加 OIDC 服务' }).click()
  await section.getByLabel('显示名称').fill('公司')
  await section.getByLabel('颜色').selectOption('blue')
  await section.getByLabel('Client ID').fill(corp.clientId)
  await section.getByLabel('签发者地址').fill(corp.url)
  await section.getByRole('button', { name: '保存登录服务' }).click()
  await expectSeen(page.getByText('「corp」的 client_secret 需要填写').first())
  await section.getByLabel('Client Secret').fill(corp.clientSecret)
  await section.getByRole('button', { name: '添加规则' }).click()
  await section.getByLabel('值', { exact: true }).fill('paying')
  await section.getByLabel('授予分组').fill('vip')
  await section.getByRole('button', { name: '保存登录服务' }).click()
  await expectSeen(page.getByText('操作成功完成！').first())
  await expectSeen(section.getByPlaceholder('已设置，留空则不修改'))
  await section.getByLabel('图标').fill('司')
  await section.getByRole('button', { name: '保存登录服务' }).click()
  await expect
    .poll(async () => {
      const answer = await fetch(`${visit.gatehouse.url}/api/status`)
      return Object(await answer.json()).data.gatehouse.sign_in_providers
    })
    .toEqual([{ provider: 'oidc/corp', title: '公司', icon: '司', color: 'blue' }])
  await page.context().close()
})

test('a visitor signs in with it', async () => {
  const { page } = await visit.open('/login')
  const provider = await goTo(page, '使用 公司 登录', 'alice')
  await Promise.all([
    expectSeen(provider.getByText('登录成功！')),
    expectAt(provider, `${visit.gatehouse.url}/`),
  ])
  await page.context().close()
})

test('a user links and unlinks an account', async () => {
  const person = await visit.person('of_carol')
  const { page } = await visit.open('/setting?tab=personal', person)
  const provider = await goTo(page, '绑定 公司 账户', 'carol')
  await expectSeen(provider.getByText('绑定成功！'))
  await expectAt(provider, '**/setting')
  const row = provider.getByRole('listitem').filter({ hasText: '公司' })
  await expectSeen(row.getByText('carol', { exact: true }))
  await row.getByRole('button', { name: '解除绑定', exact: true }).click()
  await provider.getByRole('button', { name: '解除', exact: true }).click()
  await expectSeen(row.getByText('未绑定'))
  await page.context().close()
})

const WORDS = {
  zh: { unlink: '解除绑定', confirm: '解除', since: '绑定于', done: '已解除绑定' },
  en: { unlink: 'Unlink', confirm: 'Unlink', since: 'Linked', done: 'Account unlinked' },
} as const

test.each(['zh', 'en'] as const)(
  'an administrator sees a user’s account there and unlinks it (%s)',
  async (language) => {
    const words = WORDS[language]
    const person = await visit.person(`of_dave_${language}`)
    corp.people.set('dave', { name: 'Dave' })
    const own = await visit.open('/setting?tab=personal', person)
    const provider = await goTo(own.page, '绑定 公司 账户', 'dave')
    await expectSeen(provider.getByText('绑定成功！'))
    await own.page.context().close()
    const path = `/user/edit/${person.user.id}`
    const { page } = await visit.open(path, visit.root, { language })
    await expectSeen(page.getByText('公司', { exact: true }))
    await expectSeen(page.getByText('dave', { exact: true }))
    await expectSeen(page.getByText(words.since))
    const unlink = page.getByRole('button', { name: words.unlink, exact: true })
    await picture(page, `identities-${language}`)
    await unlink.click()
    const dialog = page.getByRole('dialog')
    await expectSeen(dialog.getByText(person.user.username))
    await dialog.getByRole('button', { name: words.confirm, exact: true }).click()
    await expectSeen(page.getByText(words.done))
    await expect.poll(() => unlink.count()).toBe(0)
    const { status } = await fetch(`${visit.gatehouse.url}/api/user/self`, {
      headers: { cookie: person.cookie },
    })
    expect(status).toBe(401)
    await page.context().close()
  },
)
