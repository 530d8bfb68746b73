import http from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { settled } from './settled.ts'
import { startSettings, type SettingsVisit } from './settings-visit.ts'
import { closeToasts, type Visit } from './visit.ts'

/** 设置 → 其他设置: update check, notice, name, theme, logo, contents, footer. */

let settings: SettingsVisit
let visit: Visit
let page: Page
let folder = ''
const problems: string[] = []
/** Response of the code host. */
let said = { status: 404, body: '' }
const host = http.createServer((_request, response) => {
  response.writeHead(said.status).end(said.body)
})
const env = () => ({
  DATA_DIR: folder,
  RELEASE_REPOSITORY: 'somebody/gateway',
  // A server that listens on TCP has an address object.
  GITHUB_API_BASE_URL: `http://127.0.0.1:${(host.address() as AddressInfo).port}`,
})

async function start(): Promise<void> {
  settings = await startSettings('other', env())
  ;({ visit, page } = settings)
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) problems.push(message.text())
  })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-other-'))
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  await start()
})
afterAll(async () => {
  await visit.stop()
  host.close()
  await rm(folder, { recursive: true, force: true })
  expect(problems).toEqual([])
})

const group = (name: string) => settings.group(name)
const status = async () => Object((await visit.api('GET', '/api/status'))['data'])

describe('the update check', () => {
  const check = () => page.getByRole('button', { name: '检查更新', exact: true }).click()

  test('a failure is one sentence', async () => {
    await check()
    const told = page.getByText('检查更新失败：somebody/gateway 还没有发布任何版本')
    // Beside the button, without an additional toast.
    await told.waitFor()
    await settled(page)
    expect(await told.count()).toBe(1)
  })

  test('shows a newer release with its notes, without executing their markup', async () => {
    const body = '# 新版\n\n<img src=x onerror="window.ran = 1"> **更快**'
    const release = { tag_name: 'v99.0.0', body, html_url: 'https://example.com/v99' }
    said = { status: 200, body: JSON.stringify(release) }
    await visit.stop()
    await start()
    await check()
    await page.getByText('有新版本：v99.0.0').waitFor()
    await page.getByRole('heading', { name: '新版' }).waitFor()
    await expect
      .poll(() => page.getByRole('link', { name: '查看发布页', exact: true }).getAttribute('href'))
      .toBe('https://example.com/v99')
    await settled(page)
    expect(await page.evaluate(() => 'ran' in window)).toBe(false)
  })
})

test('name and logo apply immediately', async () => {
  await group('个性化').getByLabel('系统名称').fill('我的网关')
  await group('个性化').getByLabel('Logo 图片地址').fill('./logo.png?2')
  await settings.press('个性化')
  await group('个性化').getByText('需要图片的地址').first().waitFor()
  await closeToasts(page)
  await group('个性化').getByLabel('Logo 图片地址').fill('/logo.png')
  await settings.save('个性化')
  await page.getByRole('banner').getByText('我的网关').waitFor()
  await expect.poll(() => page.title()).toContain('我的网关')
  await expect.poll(() => page.locator('header img').first().getAttribute('src')).toBe('/logo.png')
  await visit.setOption('Logo', '')
})

test('reports a logo that fails to load in its setting, and shows no broken image', async () => {
  await page.route('**/missing.png', (route) => route.abort())
  await group('个性化').getByLabel('Logo 图片地址').fill('https://pictures.example/missing.png')
  await settings.save('个性化')
  const failure = group('个性化').getByText('图片加载失败，请检查地址')
  await failure.waitFor()
  await expect.poll(() => page.locator('header img').count()).toBe(0)
  expect(await group('个性化').locator('img').count()).toBe(0)
  await page.getByRole('banner').getByRole('link', { name: '我的网关' }).waitFor()
  await page.unroute('**/missing.png')
  await page.route('**/missing.png', (route) =>
    route.fulfill({
      contentType: 'image/svg+xml',
      body: '<svg xmlns="http://www.w3.org/2000/svg"/>',
    }),
  )
  await failure.getByRole('button', { name: '重试', exact: true }).click()
  await group('个性化').getByRole('img', { name: '当前图片' }).waitFor()
  await visit.setOption('Logo', '')
  await page.reload()
  await settled(page)
})

test('a theme sets its accent after the next start', async () => {
  const accent = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--accent'))
  const before = await accent()
  await group('个性化').getByText('重启服务后生效').waitFor()
  await group('个性化').getByLabel('主题').selectOption({ label: '莓果（红）' })
  await settings.save('个性化')
  await page.reload()
  await settled(page)
  expect(await accent()).toBe(before)
  await visit.stop()
  await start()
  const shown = () => page.evaluate(() => document.documentElement.dataset['accent'])
  await expect.poll(shown).toBe('berry')
  const berry = await accent()
  await page.evaluate(() => (document.documentElement.dataset['accent'] = 'air'))
  expect(new Set([before, berry, await accent()]).size).toBe(3)
})

test('contents are stored as written', async () => {
  for (const [name, label, text] of [
    ['公告', '公告内容', '今晚 **维护**'],
    ['首页', '首页内容', '# 欢迎\n\n<b>粗</b>'],
    ['关于', '关于页内容', 'https://example.com/about'],
    ['页脚', '页脚 HTML', '<b>自定义页脚</b>'],
  ] as const) {
    await group(name).getByLabel(label).fill(text)
    await settings.save(name)
    await expect.poll(() => group(name).getByLabel(label).inputValue()).toBe(text)
  }
  expect((await visit.api('GET', '/api/notice'))['data']).toBe('今晚 **维护**')
  expect((await visit.api('GET', '/api/home_page_content'))['data']).toBe('# 欢迎\n\n<b>粗</b>')
  expect((await visit.api('GET', '/api/about'))['data']).toBe('https://example.com/about')
  expect((await status()).footer_html).toBe('<b>自定义页脚</b>')
  await page.getByRole('contentinfo').getByText('自定义页脚').waitFor()
})

describe('leaving with edits', () => {
  const tab = (name: string) =>
    page.getByRole('navigation', { name: '设置', exact: true }).getByRole('link', { name })
  const question = () => page.getByRole('dialog', { name: '离开此页？' })
  /** Closing or reloading the window. */
  const isAskedByBrowser = () =>
    page.evaluate(() => {
      const event = new Event('beforeunload', { cancelable: true })
      window.dispatchEvent(event)
      return event.defaultPrevented
    })

  test('asks once, for any number of edited groups, by link, by tab and by the browser', async () => {
    await expect.poll(isAskedByBrowser).toBe(false)
    await group('公告').getByLabel('公告内容').fill('not saved')
    await group('页脚').getByLabel('页脚 HTML').fill('not saved')
    await group('页脚').getByText('1 处未保存').waitFor()
    await expect.poll(isAskedByBrowser).toBe(true)
    const menu = page.getByRole('navigation', { name: '主菜单' })
    for (const elsewhere of [
      tab('系统设置'),
      menu.getByRole('link', { name: '日志', exact: true }),
    ]) {
      await elsewhere.click()
      await question().getByRole('button', { name: '留在此页', exact: true }).click()
      await expect.poll(() => group('公告').getByLabel('公告内容').inputValue()).toBe('not saved')
    }
    await tab('系统设置').click()
    await question().getByRole('button', { name: '放弃修改并离开', exact: true }).click()
    await group('SMTP').waitFor()
    await expect.poll(() => question().count()).toBe(0)
  })

  test('does not ask if everything was discarded or saved', async () => {
    await tab('其他设置').click()
    await group('公告').getByLabel('公告内容').fill('not saved')
    await group('公告').getByRole('button', { name: '放弃', exact: true }).click()
    await group('页脚').getByLabel('页脚 HTML').fill('saved')
    await settings.save('页脚')
    await group('页脚').getByText('未保存').waitFor({ state: 'detached' })
    await expect.poll(isAskedByBrowser).toBe(false)
    await tab('运营设置').click()
    await group('通用').waitFor()
  })
})
