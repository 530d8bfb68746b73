import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  startWechatProvider,
  type WechatProvider,
} from '../tools/sign-in-providers/wechat-provider.ts'
import { expectAt, expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

/** /login: password sign-in, the other sign-in methods, and the redirect afterwards. */

const PASSWORD = 'RootPass1'

let visit: Visit
let helper: WechatProvider
let page: Page

beforeAll(async () => {
  visit = await startVisit()
  helper = await startWechatProvider()
})
afterAll(async () => {
  await visit.stop()
  await helper.close()
})
beforeEach(async () => {
  await page?.context().close()
  ;({ page } = await visit.open('/login'))
})

const signIn = async (username: string, password = PASSWORD) => {
  await page.getByLabel('用户名或邮箱').fill(username)
  await page.getByLabel('密码', { exact: true }).fill(password)
  await page.getByRole('button', { name: '登录', exact: true }).click()
}
/** The signed-in user as the browser has stored them. */
const person = () => page.evaluate(() => JSON.parse(localStorage.getItem('user') ?? 'null'))

describe('with a password', () => {
  test('a phone does not capitalize usernames', async () => {
    const name = page.getByLabel('用户名或邮箱')
    await expect.poll(() => name.getAttribute('autocapitalize')).toBe('none')
    await expect.poll(() => name.getAttribute('spellcheck')).toBe('false')
  })

  test('sends nothing while a field is empty', async () => {
    let sent = 0
    await page.route('**/api/user/login', (route) => {
      sent += 1
      return route.abort()
    })
    await page.getByRole('button', { name: '登录', exact: true }).click()
    const form = page.locator('form')
    // The first error is also shown as a toast.
    await expectSeen(page.getByRole('alert').getByText('请输入用户名或邮箱'))
    await expectSeen(form.getByText('请输入用户名或邮箱'))
    await expectSeen(form.getByText('请输入密码'))
    expect(sent).toBe(0)
    // An error disappears when its field is corrected, before the next attempt.
    await page.getByLabel('用户名或邮箱').fill('x')
    await expect.poll(() => form.getByText('请输入用户名或邮箱').count()).toBe(0)
    await expectSeen(form.getByText('请输入密码'))
    await page.getByLabel('用户名或邮箱').fill('')
  })

  test('a wrong password is reported, and the input stays', async () => {
    await signIn('root', 'not-the-password')
    await expectSeen(page.getByRole('alert').getByText('用户名或密码错误'))
    await expect.poll(() => page.getByLabel('用户名或邮箱').inputValue()).toBe('root')
    expect(await person()).toBeNull()
  })

  test('the button keeps the focus after an error', async () => {
    const button = page.getByRole('button', { name: '登录', exact: true })
    await page.getByLabel('用户名或邮箱').fill('root')
    await page.getByLabel('密码', { exact: true }).fill('not-the-password')
    await button.press('Enter')
    await expectSeen(page.getByRole('alert').getByText('用户名或密码错误'))
    await button.and(page.locator(':focus')).waitFor()
  })

  test('a rejected sign-in stays on the form, for any status', async () => {
    await page.route('**/api/user/login', (route) =>
      route.fulfill({ status: 401, json: { success: false, message: '不在允许的时间内' } }),
    )
    await signIn('root')
    await expectSeen(page.locator('form').getByText('不在允许的时间内'))
    await settled(page)
    expect(page.url()).toBe(`${visit.gatehouse.url}/login`)
  })

  test('the right password leads to the tokens, and the user is stored', async () => {
    await signIn('root')
    await expectAt(page, '**/token')
    await expect.poll(person).toMatchObject({ username: 'root', role: 100 })
  })

  test('returns to the requested page', async () => {
    await page.goto(`${visit.gatehouse.url}/log`)
    await expectAt(page, '**/login')
    await signIn('root')
    await expectAt(page, '**/log')
  })
})

test('reports a lost session', async () => {
  await page.goto(`${visit.gatehouse.url}/login?expired=true`)
  await expectSeen(page.getByText('未登录或登录已过期，请重新登录！'))
})

test('links to registration and password reset', async () => {
  await page.getByRole('link', { name: '忘记密码', exact: true }).click()
  await expectAt(page, '**/reset')
  await page.getByRole('link', { name: '返回登录', exact: true }).click()
  await expectAt(page, '**/login')
  await page.getByRole('main').getByRole('link', { name: '注册', exact: true }).click()
  await expectAt(page, '**/register')
})

describe('other sign-in methods', () => {
  const ways = ['使用 GitHub 登录', '使用微信登录', '使用飞书登录', '使用 OIDC 登录']
  const shown = async () => {
    await page.reload()
    await settled(page)
    const visible = await Promise.all(
      ways.map((name) => page.getByRole('button', { name }).isVisible()),
    )
    return ways.filter((_, index) => visible[index])
  }

  test('each is shown only if the installation offers it', async () => {
    expect(await shown()).toEqual([])
    await visit.setOption('GitHubClientId', 'id')
    await visit.setOption('GitHubClientSecret', 'secret')
    await visit.setOption('GitHubOAuthEnabled', 'true')
    expect(await shown()).toEqual(['使用 GitHub 登录'])
    await visit.setOption('LarkClientId', 'id')
    expect(await shown()).toEqual(['使用 GitHub 登录', '使用飞书登录'])
    await visit.setOption('WeChatServerAddress', helper.url)
    await visit.setOption('WeChatServerToken', helper.token)
    await visit.setOption('WeChatAccountQRCodeImageURL', `${helper.url}/qrcode.svg`)
    await visit.setOption('WeChatAuthEnabled', 'true')
    expect(await shown()).toEqual(['使用 GitHub 登录', '使用微信登录', '使用飞书登录'])
  })

  describe('WeChat', () => {
    const dialog = () => page.getByRole('dialog', { name: '微信登录' })
    const send = async (code: string) => {
      await dialog().getByLabel('验证码').fill(code)
      await dialog().getByRole('button', { name: '登录', exact: true }).click()
    }
    beforeEach(() => page.getByRole('button', { name: '使用微信登录', exact: true }).click())

    test('shows the QR code and how long the code is valid', async () => {
      await expectSeen(dialog().getByText('发送「验证码」获取验证码（三分钟内有效）'))
      const picture = dialog().getByRole('img', { name: '微信公众号二维码' })
      // An image that the content policy blocks has no size.
      const width = () => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth)
      await expect.poll(width).toBeGreaterThan(0)
      await page.keyboard.press('Escape')
      await dialog().waitFor({ state: 'detached' })
    })

    test('reports an image that fails to load, with a retry', async () => {
      await dialog().waitFor()
      await page.keyboard.press('Escape')
      await dialog().waitFor({ state: 'detached' })
      await page.route('**/qrcode.svg', (route) => route.abort())
      await page.getByRole('button', { name: '使用微信登录', exact: true }).click()
      await expectSeen(dialog().getByText('二维码加载失败'))
      expect(await dialog().locator('img').count()).toBe(0)
      await page.unroute('**/qrcode.svg')
      await dialog().getByRole('button', { name: '重试', exact: true }).click()
      const picture = dialog().getByRole('img', { name: '微信公众号二维码' })
      const width = () => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth)
      await expect.poll(width).toBeGreaterThan(0)
    })

    test('a wrong code is reported beside its field', async () => {
      await send('')
      await expectSeen(dialog().getByText('请输入验证码'))
      await send('wrong1')
      await expectSeen(dialog().getByText('验证码错误或已过期'))
    })

    test('a correct code signs in', async () => {
      helper.codes.set('right1', 'wx_1')
      await send('right1')
      await expectAt(page, '**/token')
      await expect.poll(async () => (await person()).username).toMatch(/^wechat_\d+$/)
    })
  })
})
