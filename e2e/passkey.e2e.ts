import type { CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAt, expectSeen } from './expect-page.ts'
import { startVisit, type Visit } from './visit.ts'

/** Passkeys in Chromium with a virtual authenticator, and the required second factor. */

const PASSWORD = 'RootPass1'
const WORDS = {
  zh: {
    name: '用户名或邮箱',
    password: '密码',
    signIn: '登录',
    withKey: '使用通行密钥登录',
    add: '添加通行密钥',
    added: '通行密钥已添加',
    rename: '重命名',
    renameTitle: '重命名通行密钥',
    label: '名称',
    save: '保存',
    remove: '删除',
    removed: '通行密钥已删除',
    second: '请使用您的通行密钥完成登录',
    note: '管理员要求您的账户启用两步验证',
  },
  en: {
    name: 'Username or email',
    password: 'Password',
    signIn: 'Sign in',
    withKey: 'Sign in with a passkey',
    add: 'Add a passkey',
    added: 'The passkey was added',
    rename: 'Rename',
    renameTitle: 'Rename passkey',
    label: 'Name',
    save: 'Save',
    remove: 'Delete',
    removed: 'The passkey was deleted',
    second: 'Use your passkey to complete the sign-in',
    note: 'Your account must have two-factor sign-in',
  },
} as const

let visit: Visit
let accessToken = ''
beforeAll(async () => {
  visit = await startVisit()
  accessToken = await visit.ask<string>(visit.root, 'GET /api/user/token')
})
afterAll(() => visit.stop())

/** Sets the option by access token: the session of root has no second factor either. */
async function demandFactor(from: 'nobody' | 'everybody'): Promise<void> {
  const answer = await fetch(`${visit.gatehouse.url}/api/option/`, {
    method: 'PUT',
    headers: { Authorization: accessToken },
    body: JSON.stringify({ key: 'SecondFactorRequired', value: from }),
  })
  expect(await answer.json()).toMatchObject({ success: true })
}

/** Address of the server by a name: passkeys cannot be bound to an IP address. */
const localhost = () => visit.gatehouse.url.replace('127.0.0.1', 'localhost')

async function addAuthenticator(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return session
}

describe.each(['zh', 'en'] as const)('passkeys (%s)', (language) => {
  const words = WORDS[language]
  let page: Page
  const username = `key-${language}`
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const enterPassword = async () => {
    await page.goto(`${localhost()}/login`)
    await page.getByLabel(words.name).fill(username)
    await page.getByLabel(words.password, { exact: true }).fill(PASSWORD)
    await press(words.signIn)
  }
  const signOut = async () => {
    await page.context().clearCookies()
    await page.evaluate(() => localStorage.removeItem('user'))
  }

  beforeAll(async () => {
    await demandFactor('nobody')
    await visit.person(username)
    ;({ page } = await visit.open('/login', undefined, { language }))
    await addAuthenticator(page)
    // Storage belongs to the origin: the language is chosen again.
    await page.goto(`${localhost()}/login`)
    await page.evaluate((chosen) => localStorage.setItem('language', chosen), language)
  })

  test('one is added in the settings and renamed', async () => {
    await enterPassword()
    await expectAt(page, '**/token')
    await page.goto(`${localhost()}/setting`)
    await press(words.add)
    await expectSeen(page.getByText(words.added))
    await press(words.rename)
    const dialog = page.getByRole('dialog', { name: words.renameTitle })
    await dialog.getByLabel(words.label).fill('MacBook')
    await dialog.getByRole('button', { name: words.save, exact: true }).click()
    await expectSeen(page.getByText('MacBook', { exact: true }))
  })

  test('on a phone, a long name does not widen the page', async () => {
    await press(words.rename)
    const dialog = page.getByRole('dialog', { name: words.renameTitle })
    await dialog.getByLabel(words.label).fill('a'.repeat(60))
    await page.keyboard.press('Enter')
    await expectSeen(page.getByText('a'.repeat(60)))
    await page.setViewportSize({ width: 390, height: 800 })
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth)
    await expect.poll(wide).toBe(390)
    await page.setViewportSize({ width: 1280, height: 1000 })
    await press(words.rename)
    await dialog.getByLabel(words.label).fill('MacBook')
    await page.keyboard.press('Enter')
    await expectSeen(page.getByText('MacBook', { exact: true }))
  })

  test('it signs in without name and password', async () => {
    await signOut()
    await page.goto(`${localhost()}/login`)
    await press(words.withKey)
    await expectAt(page, '**/token')
    await page.goto(`${localhost()}/setting`)
    await expectSeen(page.getByText('MacBook', { exact: true }))
  })

  test('where a second factor is required, it completes the sign-in with the password', async () => {
    await demandFactor('everybody')
    await signOut()
    await enterPassword()
    await expectSeen(page.getByText(words.second))
    await press(words.withKey)
    await expectAt(page, '**/token')
  })

  test('deleting the last one leads to the page that asks for a new one, and back', async () => {
    await page.goto(`${localhost()}/setting`)
    await press(words.remove)
    await page.getByRole('dialog').getByRole('button', { name: words.remove, exact: true }).click()
    await expectSeen(page.getByText(words.removed))
    await page.goto(`${localhost()}/setting?tab=price`)
    await expectAt(page, '**/second-factor')
    await expectSeen(page.getByText(words.note))
    await press(words.add)
    await expectAt(page, '**/setting?tab=price')
    await demandFactor('nobody')
  })
})
