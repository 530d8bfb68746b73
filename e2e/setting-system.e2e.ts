import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { settled } from './settled.ts'
import { startSettings, type SettingsVisit } from './settings-visit.ts'
import { closeToasts, type Visit } from './visit.ts'

/** 设置 → 系统设置: switches with their requirements, write-only secrets, the allow-list. */

let settings: SettingsVisit
let visit: Visit
let page: Page

beforeAll(async () => {
  settings = await startSettings('system')
  ;({ visit, page } = settings)
})
afterAll(() => visit.stop())

afterEach(() => closeToasts(page))

const group = (name: string) => settings.group(name)
const option = (key: string) => settings.option(key)
const secretsSet = async () => (await visit.api('GET', '/api/option/'))['secrets_set']
const reload = async () => {
  await page.reload()
  await settled(page)
}

test('removes the trailing slash of the server address', async () => {
  await group('服务器').getByLabel('服务器地址').fill('https://gate.example.com/')
  await settings.save('服务器')
  expect(await option('ServerAddress')).toBe('https://gate.example.com')
})

test('turning password sign-in off requires a confirmation', async () => {
  const toggle = group('登录与注册').getByLabel('允许通过密码登录')
  await toggle.press('Space')
  await page
    .getByText(
      '关闭密码登录后，没有绑定其他登录方式的用户（包括管理员）都将无法登录。确定要关闭吗？',
    )
    .waitFor()
  await page.getByRole('button', { name: '取消', exact: true }).click()
  await expect.poll(() => toggle.isChecked()).toBe(true)
  await toggle.press('Space')
  await page.getByRole('button', { name: '关闭密码登录', exact: true }).click()
  await expect.poll(() => toggle.isChecked()).toBe(false)
  await settings.save('登录与注册')
  expect(await option('PasswordLoginEnabled')).toBe('false')
  await visit.setOption('PasswordLoginEnabled', 'true')
  await reload()
})

test.each([
  ['通过密码注册时需要验证邮箱', 'SMTP 服务器'],
  ['允许通过 GitHub 登录和注册', 'GitHub Client ID'],
  ['允许通过微信登录和注册', '微信服务器地址'],
  ['允许通过 OIDC 登录和注册', 'OIDC Client ID'],
  ['启用 Turnstile 人机验证', 'Turnstile Site Key'],
])('%s: is rejected with what is missing', async (label, missing) => {
  const form = group('登录与注册')
  await form.getByLabel(label).press('Space')
  await settings.press('登录与注册')
  await form
    .getByText(new RegExp(`前，请先填写.*${missing}`))
    .first()
    .waitFor()
  await form.getByRole('button', { name: '放弃', exact: true }).click()
  await expect.poll(() => form.getByLabel(label).isChecked()).toBe(false)
})

test('a secret can be set and cleared, and is never shown', async () => {
  const form = group('GitHub OAuth')
  const secret = form.getByLabel('GitHub Client Secret', { exact: true })
  await expect.poll(() => secret.getAttribute('placeholder')).toBe('尚未设置')
  await form.getByLabel('GitHub Client ID', { exact: true }).fill('client-1')
  await secret.fill('very hidden')
  await settings.save('GitHub OAuth')
  expect(await secretsSet()).toContain('GitHubClientSecret')
  await expect.poll(() => secret.inputValue()).toBe('')
  await expect.poll(() => secret.getAttribute('placeholder')).toBe('已设置，留空则不修改')
  expect(await page.content()).not.toContain('very hidden')

  await group('登录与注册').getByLabel('允许通过 GitHub 登录和注册').press('Space')
  await settings.save('登录与注册')
  expect(await option('GitHubOAuthEnabled')).toBe('true')

  await form.getByLabel('GitHub Client ID', { exact: true }).fill('')
  await settings.press('GitHub OAuth')
  await form.getByText('请先将其关闭再清空').first().waitFor()
  await group('登录与注册').getByLabel('允许通过 GitHub 登录和注册').press('Space')
  await settings.save('登录与注册')
  await form.getByRole('button', { name: '清除', exact: true }).click()
  await settings.save('GitHub OAuth')
  expect(await secretsSet()).not.toContain('GitHubClientSecret')
})

test('values and the switch that requires them can be saved together', async () => {
  const form = group('邮箱域名白名单')
  await visit.setOption('EmailDomainWhitelist', '')
  await reload()
  await form.getByLabel('启用邮箱域名白名单').press('Space')
  await settings.press('邮箱域名白名单')
  await form
    .getByText(/前，请先填写.*允许的邮箱域名/)
    .first()
    .waitFor()
  const box = form.getByRole('textbox', { name: '添加新的允许的邮箱域名', exact: true })
  const add = form.getByRole('button', { name: '填入', exact: true })
  // Empty and repeated entries are not added.
  await add.click()
  for (const domain of ['example.com', ' ', '@Example.com', 'example.org']) {
    await box.fill(domain)
    await add.click()
  }
  await settings.save('邮箱域名白名单')
  expect(await option('EmailDomainWhitelist')).toBe('example.com,example.org')
  expect(await option('EmailDomainRestrictionEnabled')).toBe('true')
})

test('an invalid domain is rejected, and stays for correction', async () => {
  const form = group('邮箱域名白名单')
  const tags = form.getByLabel('允许的邮箱域名', { exact: true })
  const box = form.getByRole('textbox', { name: '添加新的允许的邮箱域名', exact: true })
  for (const field of [box, tags]) {
    await closeToasts(page)
    await field.fill('not a domain')
    await field.press('Enter')
    await page
      .getByRole('alert')
      .getByText(/「.+」不是域名，例如 example.com/)
      .waitFor()
  }
  await expect.poll(() => box.inputValue()).toBe('not a domain')
  // Nothing was added, so there is nothing to save.
  expect(await form.getByRole('button', { name: '放弃', exact: true }).count()).toBe(0)
})

test('the port defaults to 587 and must be valid', async () => {
  const form = group('SMTP')
  await expect.poll(() => form.getByLabel('SMTP 端口').inputValue()).toBe('587')
  await form.getByLabel('SMTP 端口').fill('70000')
  await settings.press('SMTP')
  await form.getByText('需要 1 到 65535 之间的整数').waitFor()
  await form.getByRole('button', { name: '放弃', exact: true }).click()
})

test('what precedes a rejected option is saved, the rest stays', async () => {
  const form = group('微信服务器')
  await form.getByLabel('微信服务器地址').fill('https://wechat.example.com/')
  await form.getByLabel('公众号二维码图片链接').fill('javascript:alert(1)')
  await settings.press('微信服务器')
  await form.getByText('需要图片的地址').first().waitFor()
  expect(await option('WeChatServerAddress')).toBe('https://wechat.example.com')
  await form.getByText('1 处未保存').waitFor({ state: 'detached' })
  await expect
    .poll(() => form.getByLabel('公众号二维码图片链接').inputValue())
    .toBe('javascript:alert(1)')
})

test('every group is present and linked from the list at the side', async () => {
  const names = await page
    .getByRole('navigation', { name: '系统设置' })
    .getByRole('button')
    .allTextContents()
  expect(names).toEqual([
    '服务器',
    '登录与注册',
    '邮箱域名白名单',
    'SMTP',
    'GitHub OAuth',
    '飞书 OAuth',
    '微信服务器',
    'OIDC',
    '更多登录服务',
    '消息推送',
    'Turnstile',
  ])
  await page.getByRole('button', { name: 'Turnstile', exact: true }).click()
  await expect
    .poll(async () => (await group('Turnstile').boundingBox())?.y ?? 1e9)
    .toBeLessThan(1000)
})
