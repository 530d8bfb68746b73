import { Secret, TOTP } from 'otpauth'
import { mkdir } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAt, expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Person, type Visit } from './visit.ts'

/** Two-factor sign-in in both languages: turn on, sign in, recovery codes, reset, turn off. */

const PASSWORD = 'RootPass1'
const WORDS = {
  zh: {
    turnOn: '启用两步验证',
    code: '验证码',
    enable: '启用',
    on: '两步验证已启用',
    name: '用户名或邮箱',
    password: '密码',
    signIn: '登录',
    wrong: '验证码或恢复码不正确',
    left: '剩余恢复码：9 个',
    elsewhere: '退出其他全部登录',
    out: '退出',
    alone: '其他登录已全部退出',
    everywhere: '退出全部登录',
    ended: '已退出该用户的全部登录',
    reset: '重置两步验证',
    confirm: '重置',
    done: '两步验证已重置',
  },
  en: {
    turnOn: 'Turn on two-factor sign-in',
    code: 'Verification code',
    enable: 'Enable',
    on: 'Two-factor sign-in is on',
    name: 'Username or email',
    password: 'Password',
    signIn: 'Sign in',
    wrong: 'The code is wrong or was used before',
    left: '9 recovery codes left',
    elsewhere: 'Sign out everywhere else',
    out: 'Sign out',
    alone: 'Signed out everywhere else',
    everywhere: 'Sign out everywhere',
    ended: 'The user was signed out everywhere',
    reset: 'Reset two-factor sign-in',
    confirm: 'Reset',
    done: 'Two-factor sign-in was reset',
  },
} as const

let visit: Visit
beforeAll(async () => {
  visit = await startVisit()
})
afterAll(() => visit.stop())

/** Folder for screenshots; without it no screenshots are taken. */
const SHOTS = process.env['SECOND_FACTOR_SHOTS']
async function picture(page: Page, name: string): Promise<void> {
  if (SHOTS === undefined) return
  await mkdir(SHOTS, { recursive: true })
  await page.screenshot({ path: `${SHOTS}/${name}.png` })
}

describe.each(['zh', 'en'] as const)('two-factor sign-in (%s)', (language) => {
  const words = WORDS[language]
  let person: Person
  let page: Page
  let secret = ''
  let recovery: string[] = []
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const codeNow = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  const enterPassword = async () => {
    await page.getByLabel(words.name).fill(person.user.username)
    await page.getByLabel(words.password, { exact: true }).fill(PASSWORD)
    await press(words.signIn)
    await expectSeen(page.locator('input[name=code]'))
  }
  const enterCode = async (code: string) => {
    await page.locator('input[name=code]').fill(code)
    await press(words.signIn)
  }

  beforeAll(async () => {
    person = await visit.person(`factor-${language}`)
  })

  test('is turned on in the settings with app and a first code', async () => {
    ;({ page } = await visit.open('/setting', person, { language }))
    await press(words.turnOn)
    const dialog = page.getByRole('dialog')
    await expectSeen(dialog.locator('ol').getByRole('figure'))
    // It opens at the first step, although it is higher than a phone's window.
    await page.setViewportSize({ width: 390, height: 700 })
    await expect
      .poll(() => dialog.evaluate((it) => [it.scrollTop, it.scrollHeight > 700]))
      .toEqual([0, true])
    secret = await dialog.locator('code').innerText()
    recovery = await dialog.locator('ul li').allInnerTexts()
    expect(recovery).toHaveLength(10)
    await picture(page, `enrol-${language}`)
    await dialog.locator('input[name=code]').fill('000000')
    await dialog.getByRole('button', { name: words.enable, exact: true }).click()
    await expectSeen(dialog.getByText(words.wrong))
    await dialog.locator('input[name=code]').fill(codeNow())
    await dialog.getByRole('button', { name: words.enable, exact: true }).click()
    await expectSeen(page.getByText(words.on))
    await settled(page)
    await picture(page, `on-${language}`)
  })

  test('a recovery code signs in after the password', async () => {
    await page.context().close()
    ;({ page } = await visit.open('/login', undefined, { language }))
    await enterPassword()
    await picture(page, `code-${language}`)
    await enterCode('000000')
    await expectSeen(page.locator('form').getByText(words.wrong))
    await enterCode(recovery[0] ?? '')
    await expectAt(page, '**/token')
    await page.goto(`${visit.gatehouse.url}/setting`)
    await expectSeen(page.getByText(words.left))
    await settled(page)
    await picture(page, `sessions-${language}`)
    await press(words.elsewhere)
    // The rows of the list have a button of this name, too.
    await page.getByRole('dialog').getByRole('button', { name: words.out, exact: true }).click()
    await expectSeen(page.getByText(words.alone))
  })

  test('an administrator ends the sessions, resets it, and the password alone signs in', async () => {
    const admin = await visit.open(`/user/edit/${person.user.id}`, visit.root, { language })
    page = admin.page
    await press(words.everywhere)
    await page.getByRole('dialog').getByRole('button', { name: words.out, exact: true }).click()
    await expectSeen(page.getByText(words.ended))
    await press(words.reset)
    await picture(page, `reset-${language}`)
    await page.getByRole('dialog').getByRole('button', { name: words.confirm, exact: true }).click()
    await expectSeen(page.getByText(words.done))
    await page.context().close()
    ;({ page } = await visit.open('/login', undefined, { language }))
    await page.getByLabel(words.name).fill(person.user.username)
    await page.getByLabel(words.password, { exact: true }).fill(PASSWORD)
    await press(words.signIn)
    await expectAt(page, '**/token')
  })
})
