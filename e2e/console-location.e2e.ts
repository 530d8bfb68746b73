import { createServer, type Server } from 'node:http'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { build } from 'vite'
import { launchBrowser, WAIT_MS } from './browser.ts'
import { expectAt } from './expect-page.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'

/** The console when it is not served from the root of its server. */

const ROOT = resolve(import.meta.dirname, '..')
const PASSWORD = 'RootPass1'

let browser: Browser

beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(async () => browser.close())

async function openPage(): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({ locale: 'zh-CN' })
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  return { page, problems }
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('用户名或邮箱').fill('root')
  await page.getByLabel('密码', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: '登录', exact: true }).click()
  await page.getByRole('heading', { name: '令牌' }).waitFor()
}

async function makeToken(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name: '添加令牌', exact: true }).first().click()
  // The list also has a name field, and stays visible until the form's code has loaded.
  await page.getByRole('heading', { name: '添加令牌' }).waitFor()
  await page.getByLabel('名称').fill(name)
  await page.getByRole('button', { name: '创建', exact: true }).click()
  await page.getByRole('row').filter({ hasText: name }).waitFor()
}

describe('under a sub-path', () => {
  let gatehouse: RunningGatehouse

  beforeAll(async () => {
    gatehouse = await startGatehouse({
      env: { BASE_PATH: '/x/', INITIAL_ROOT_PASSWORD: PASSWORD },
    })
  })
  afterAll(async () => gatehouse.stop())

  test('pages, requests, cookie and reloads stay below it', async () => {
    const { page, problems } = await openPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.goto(`${gatehouse.url}/login`)
    await signIn(page)
    await expect.poll(() => new URL(page.url()).pathname).toBe('/x/token')
    await makeToken(page, 'below')
    await page.reload()
    await page.getByRole('row').filter({ hasText: 'below' }).waitFor()
    await page.getByRole('link', { name: '日志', exact: true }).click()
    await page.getByRole('heading', { name: '使用日志' }).waitFor()
    expect(asked.filter((path) => !path.startsWith('/x/'))).toEqual([])
    const [session] = await page.context().cookies(`${gatehouse.url}/api/status`)
    expect(session).toMatchObject({ name: 'session', path: '/x/' })
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('sign-in returns to the requested page', async () => {
    const { page } = await openPage()
    await page.goto(`${gatehouse.url}/log`)
    await page.waitForURL('**/x/login')
    await page.getByLabel('用户名或邮箱').fill('root')
    await page.getByLabel('密码', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: '登录', exact: true }).click()
    await expectAt(page, '**/x/log')
    await page.context().close()
  })
})

describe('on another site than its API', () => {
  let gatehouse: RunningGatehouse
  let files: Server
  let origin = ''
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-elsewhere-'))
    files = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://files')
      void readFile(join(folder, pathname))
        .catch(() => readFile(join(folder, 'index.html')))
        .then((content) => {
          const type = { '.js': 'text/javascript', '.css': 'text/css' }[
            /\.\w+$/.exec(pathname)?.[0] ?? ''
          ]
          response.setHeader('Content-Type', type ?? 'text/html; charset=utf-8').end(content)
        })
    })
    await new Promise<void>((done) => files.listen(0, 'localhost', done))
    // It listens on a port.
    origin = `http://localhost:${(files.address() as AddressInfo).port}`
    gatehouse = await startGatehouse({
      env: { CONSOLE_ORIGINS: origin, INITIAL_ROOT_PASSWORD: PASSWORD, HOST: '127.0.0.1' },
    })
    process.env['VITE_API_BASE'] = gatehouse.url
    process.env['VITE_BASE_PATH'] = '/'
    await build({ root: ROOT, logLevel: 'silent', build: { outDir: folder, emptyOutDir: true } })
    delete process.env['VITE_API_BASE']
    delete process.env['VITE_BASE_PATH']
  })
  afterAll(async () => {
    files.closeAllConnections()
    files.close()
    await gatehouse.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('signs in, creates a token, and stays signed in', async () => {
    const { page, problems } = await openPage()
    await page.goto(`${origin}/login`)
    await signIn(page)
    await makeToken(page, 'from elsewhere')
    await page.reload()
    await page.getByRole('row').filter({ hasText: 'from elsewhere' }).waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('rejects a site that is not on the list', async () => {
    const { page } = await openPage()
    const foreign = origin.replace('localhost', '127.0.0.1')
    expect(foreign).not.toBe(origin)
    await page.route(`${foreign}/**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>foreign</title>' }),
    )
    await page.goto(foreign)
    const outcome = await page.evaluate(
      async (address) =>
        fetch(address, { credentials: 'include' }).then(
          () => 'read',
          () => 'kept away',
        ),
      `${gatehouse.url}/api/status`,
    )
    expect(outcome).toBe('kept away')
    await page.context().close()
  })
})
