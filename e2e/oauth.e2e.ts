import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  startGithubProvider,
  type GithubProvider,
} from '../tools/sign-in-providers/github-provider.ts'
import { startLarkProvider, type LarkProvider } from '../tools/sign-in-providers/lark-provider.ts'
import { startOidcProvider, type OidcProvider } from '../tools/sign-in-providers/oidc-provider.ts'
import { expectAt, expectSeen } from './expect-page.ts'
import { startVisit, type Visit } from './visit.ts'

/** Sign-in and account linking with real provider servers, in the windows that users see. */

let github: GithubProvider
let lark: LarkProvider
let oidc: OidcProvider
let visit: Visit
let page: Page
const problems: string[] = []

beforeAll(async () => {
  github = await startGithubProvider()
  lark = await startLarkProvider()
  visit = await startVisit({
    env: {
      GITHUB_BASE_URL: github.url,
      GITHUB_API_BASE_URL: github.url,
      LARK_BASE_URL: lark.url,
      LARK_API_BASE_URL: lark.url,
    },
  })
  const { url } = visit.gatehouse
  oidc = await startOidcProvider([`${url}/oauth/oidc`])
  github.callback = `${url}/oauth/github`
  github.people.set('octocat', { id: 1, login: 'octocat', name: 'The Octocat' })
  lark.people.set('xiaofei', { open_id: 'ou_1', name: '小飞' })
  oidc.people.set('alice', { name: 'Alice', preferred_username: 'alice' })
  for (const [key, value] of Object.entries({
    GitHubClientId: github.clientId,
    GitHubClientSecret: github.clientSecret,
    GitHubOAuthEnabled: 'true',
    LarkClientId: lark.clientId,
    LarkClientSecret: lark.clientSecret,
    OidcClientId: oidc.clientId,
    OidcClientSecret: oidc.clientSecret,
    OidcWellKnown: oidc.wellKnown,
    OidcEnabled: 'true',
  })) {
    await visit.setOption(key, value)
  }
})
afterAll(async () => {
  await visit.stop()
  await Promise.all([github.close(), lark.close(), oidc.close()])
  expect(problems).toEqual([])
})
beforeEach(async () => {
  await page?.context().close()
  ;({ page } = await visit.open('/login'))
})

/** Clicks a button that opens a provider's page in a new window, and makes a choice there. */
async function goTo(button: string, choice: string): Promise<Page> {
  const opened = page.context().waitForEvent('page')
  await page.getByRole('button', { name: button }).click()
  const provider = await opened
  provider.on('pageerror', (error) => problems.push(String(error)))
  await provider.getByRole('link', { name: choice }).click()
  return provider
}
const userIn = (window: Page) =>
  window.evaluate(() => JSON.parse(localStorage.getItem('user') ?? 'null')?.username)

test.each([
  ['使用 GitHub 登录', 'octocat', /^github_\d+$/],
  ['使用飞书登录', 'xiaofei', /^lark_\d+$/],
  ['使用 OIDC 登录', 'alice', /^alice$/],
])('%s: the new window returns signed in to the home page', async (button, choice, username) => {
  const provider = await goTo(button, choice)
  // The toast disappears soon.
  await Promise.all([
    expectSeen(provider.getByText('登录成功！')),
    expectAt(provider, `${visit.gatehouse.url}/`),
  ])
  await expect.poll(() => userIn(provider)).toMatch(username)
  // The waiting window continues by itself.
  await expectAt(page, '**/token')
})

test('the provider’s page cannot access ours', async () => {
  const opened = page.context().waitForEvent('page')
  await page.getByRole('button', { name: '使用 GitHub 登录', exact: true }).click()
  const provider = await opened
  await expectSeen(provider.getByRole('link', { name: 'octocat', exact: true }))
  expect(await provider.evaluate(() => window.opener)).toBeNull()
})

describe('errors', () => {
  test('a denied sign-in is reported and ends at the sign-in page', async () => {
    const provider = await goTo('使用 GitHub 登录', 'Cancel')
    await expectSeen(provider.getByText('没有授权本次登录'))
    await expectAt(provider, '**/login')
  })

  test('a provider’s error is reported once, with our own message', async () => {
    github.trouble('/user', 'fault')
    const provider = await goTo('使用 GitHub 登录', 'octocat')
    await expectSeen(provider.getByText('无法连接至 GitHub 服务器，请稍后重试'))
    await expectAt(provider, '**/login')
    github.trouble('/user', null)
  })

  test('an unexpected callback is rejected', async () => {
    await page.goto(`${visit.gatehouse.url}/oauth/github?code=x&state=y`)
    await expectSeen(page.getByText('登录请求已失效或来自其他窗口，请重新发起'))
    await expectAt(page, '**/login')
    expect(await userIn(page)).toBeUndefined()
  })

  test('a request without a response is retried after two seconds', async () => {
    let calls = 0
    const { promise: isSeen, resolve: letRetry } = Promise.withResolvers<void>()
    await page.context().route('**/api/oauth/github**', async (route) => {
      calls += 1
      if (calls === 1) return route.abort()
      await isSeen
      return route.continue()
    })
    const provider = await goTo('使用 GitHub 登录', 'octocat')
    await expectSeen(provider.getByText('出现错误，第 1 次重试中（最多 3 次）…'))
    letRetry()
    await expectAt(provider, `${visit.gatehouse.url}/`)
    expect(calls).toBe(2)
  })

  test('after three more attempts without a response, it leads to the settings', async () => {
    let calls = 0
    let letFail = () => {}
    await page.context().route('**/api/oauth/github**', async (route) => {
      calls += 1
      if (calls > 1) await new Promise<void>((fail) => (letFail = fail))
      return route.abort()
    })
    await page.clock.install()
    await page.goto(`${visit.gatehouse.url}/oauth/github?code=x&state=y`)
    for (const attempt of [1, 2, 3]) {
      await expectSeen(page.getByText(`第 ${attempt} 次重试中`))
      await page.clock.fastForward(attempt * 2000)
      await expect.poll(() => calls).toBe(attempt + 1)
      letFail()
    }
    // A visitor has no settings and is redirected to the sign-in page.
    await expectAt(page, '**/login')
    expect(calls).toBe(4)
  })
})

describe('account linking', () => {
  test.each([
    ['GitHub', '绑定 GitHub 账户', 'hubber', 'hubber'],
    ['飞书', '绑定飞书账户', 'xiaoli', 'ou_2'],
    ['OIDC', '绑定 OIDC 账户', 'carol', 'carol'],
  ])(
    '%s: returns to the settings, which list the account; unlinking removes it',
    async (...given) => {
      const [name, button, choice, bound] = given
      const person = await visit.person(`of_${choice}`)
      await page.context().close()
      ;({ page } = await visit.open('/setting?tab=personal', person))
      github.people.set('hubber', { id: 2, login: 'hubber' })
      lark.people.set('xiaoli', { open_id: 'ou_2', name: '小丽' })
      oidc.people.set('carol', { name: 'Carol', preferred_username: 'carol' })
      const provider = await goTo(button, choice)
      await expectSeen(provider.getByText('绑定成功！'))
      await expectAt(provider, '**/setting')
      const row = provider.getByRole('listitem').filter({ hasText: name })
      await expectSeen(row.getByText(bound, { exact: true }))
      await row.getByRole('button', { name: '解除绑定', exact: true }).click()
      await expectSeen(provider.getByText('解除绑定后将不能再用它登录，确定解除吗？'))
      await provider.getByRole('button', { name: '解除', exact: true }).click()
      await expectSeen(provider.getByText('已解除绑定'))
      await expectSeen(row.getByText('未绑定'))
    },
  )

  test('an account of another user is rejected, and returns to the settings', async () => {
    const person = await visit.person('latecomer')
    await page.context().close()
    ;({ page } = await visit.open('/setting?tab=personal', person))
    const provider = await goTo('绑定 GitHub 账户', 'octocat')
    await expectSeen(provider.getByText('已被绑定'))
    await expectAt(provider, '**/setting')
  })
})
