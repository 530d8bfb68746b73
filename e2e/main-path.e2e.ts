import OpenAI from 'openai'
import OpenAI4 from 'openai-v4'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../src/server/test/postgres.ts'
import { startFakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { launchBrowser, WAIT_MS } from './browser.ts'
import { startGatehouse, type RunningGatehouse } from './running-gatehouse.ts'

/**
 * The main use case, from an empty database to balanced books: sign in, connect an upstream, create
 * a token, call a model with the official clients, and account for every point in the console.
 */

const NEW_PASSWORD = 'correct horse 1'
/**
 * Usage that the fake upstream's fixed response reports, and the price of gpt-4o-mini in a fresh
 * installation.
 */
const PROMPT_TOKENS = 11
const COMPLETION_TOKENS = 7
const MODEL_RATIO = 0.075
const COMPLETION_RATIO = 4
/** Takes a minute to respond, unless the client disconnects. It has no price of its own. */
const SLOW_MODEL = 'slow-chunk-100+chunks-600'
const POINTS = Math.ceil((PROMPT_TOKENS + COMPLETION_TOKENS * COMPLETION_RATIO) * MODEL_RATIO)

const ROOT_QUOTA = 500_000_000_000_000
/** Two clients: whole, streamed, with tools, embedding, aborted. */
const CALLS = 10
const CONSUMPTION = '/api/log/?p=0&type=2'

interface CallRow {
  quota: number
  completion_tokens: number
}

type Upstream = Awaited<ReturnType<typeof startFakeUpstream>>

interface Engine {
  name: string
  database(): Promise<{ postgresUrl?: string; drop(): Promise<void> }>
}

const ENGINES: Engine[] = [
  { name: 'SQLite', database: async () => ({ drop: async () => {} }) },
  {
    name: 'PostgreSQL',
    async database() {
      const { url, drop } = await createTestDatabase()
      return { postgresUrl: url, drop }
    },
  },
]

describe.each(ENGINES)('the main path on $name', ({ database }) => {
  let browser: Browser
  let page: Page
  let gatehouse: RunningGatehouse
  let upstream: Upstream
  let dropDatabase: () => Promise<void>
  let key = ''
  const problems: string[] = []

  beforeAll(async () => {
    const { drop, ...settings } = await database()
    dropDatabase = drop
    upstream = await startFakeUpstream()
    gatehouse = await startGatehouse(settings)
    browser = await launchBrowser()
    const context = await browser.newContext({ locale: 'zh-CN' })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: gatehouse.url })
    context.setDefaultTimeout(WAIT_MS)
    page = await context.newPage()
    page.on('pageerror', (error) => problems.push(String(error)))
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text())
    })
  })

  afterAll(async () => {
    await browser.close()
    await gatehouse.stop()
    await upstream.close()
    await dropDatabase()
  })

  const field = (name: string) => page.getByRole('textbox', { name, exact: true })
  const row = (name: string) => page.getByRole('row').filter({ hasText: name })

  /** Calls the management API with the browser's session. */
  const ask = <T>(path: string): Promise<T> =>
    page.evaluate(async (address) => {
      const { data } = await (await fetch(address)).json()
      return data
    }, path)

  test('root signs in with the default password and must change it first', async () => {
    await page.goto(`${gatehouse.url}/login`)
    await page.getByLabel('用户名或邮箱').fill('root')
    await page.getByLabel('密码', { exact: true }).fill('123456')
    await page.getByRole('button', { name: '登录', exact: true }).click()
    await page.waitForURL('**/user/edit**')
    await page.getByText('请立刻修改默认密码！').waitFor()
    await page.goto(`${gatehouse.url}/token`)
    await page.waitForURL('**/user/edit**')
    await page.getByLabel('新密码', { exact: true }).fill(NEW_PASSWORD)
    await page.getByLabel('再次输入新密码').fill(NEW_PASSWORD)
    const current = page.getByLabel('当前密码')
    if (await current.isVisible()) await current.fill('123456')
    await page.getByRole('button', { name: '保存', exact: true }).click()
    await page.getByText('用户信息更新成功！').waitFor()
    expect(await ask('/api/user/self')).not.toHaveProperty('must_change_password')
  })

  test('a channel to the upstream is created and passes its test', async () => {
    await page.getByRole('link', { name: '渠道', exact: true }).click()
    await page.getByRole('link', { name: '添加渠道', exact: true }).first().click()
    await page.waitForURL('**/channel/add')
    // The list stays visible until the form's code has loaded.
    await page.getByRole('heading', { name: '添加渠道' }).waitFor()
    await field('名称').fill('主力')
    await field('接口地址（Base URL）').fill(`${upstream.url}/`)
    await page.getByPlaceholder('上游发给您的密钥').fill('sk-upstream-secret')
    for (const model of ['gpt-4o-mini', 'text-embedding-3-small', SLOW_MODEL]) {
      await page.getByPlaceholder('自定义模型名称').fill(model)
      await page.getByRole('button', { name: '填入', exact: true }).click()
    }
    await page.getByRole('button', { name: '创建', exact: true }).click()
    await page.waitForURL('**/channel')
    await row('主力').getByRole('button', { name: '测试', exact: true }).click()
    await expect.poll(() => row('主力').innerText()).toMatch(/\d\.\d+ 秒/)
  })

  test('a default ratio prices models without a price', async () => {
    const answer = await page.evaluate(async () => {
      const body = JSON.stringify({ key: 'DefaultModelRatio', value: '1' })
      const response = await fetch('/api/option/', { method: 'PUT', body })
      const parsed: unknown = await response.json()
      return parsed
    })
    expect(answer).toMatchObject({ success: true })
  })

  test('a token is created and copied', async () => {
    await page.getByRole('link', { name: '令牌', exact: true }).click()
    await page.getByRole('link', { name: '添加令牌', exact: true }).first().click()
    await page.waitForURL('**/token/add')
    await page.getByRole('heading', { name: '添加令牌' }).waitFor()
    await field('名称').fill('官方客户端')
    await page.getByRole('button', { name: '创建', exact: true }).click()
    await page.waitForURL('**/token')
    await row('官方客户端').getByRole('button', { name: '复制', exact: true }).click()
    await page.getByText('已复制到剪贴板！').waitFor()
    key = await page.evaluate(() => navigator.clipboard.readText())
    expect(key).toMatch(/^sk-[0-9A-Za-z]{48}$/)
  })

  for (const [version, Client] of [
    ['newest', OpenAI],
    // Both have the methods used below; only their types are incompatible.
    ['4.x', OpenAI4 as unknown as typeof OpenAI],
  ] as const) {
    test(`the official client (${version}) streams, calls tools, embeds, lists and aborts`, async () => {
      const client = new Client({ apiKey: key, baseURL: `${gatehouse.url}/v1`, maxRetries: 0 })
      const messages = [{ role: 'user' as const, content: 'What is the answer?' }]
      const whole = await client.chat.completions.create({ model: 'gpt-4o-mini', messages })
      expect(whole.choices[0]?.message.content).toBe('The answer is forty-two.')
      expect(whole.usage).toMatchObject({
        prompt_tokens: PROMPT_TOKENS,
        completion_tokens: COMPLETION_TOKENS,
      })

      const stream = await client.chat.completions.create({
        model: 'gpt-4o-mini',
        messages,
        stream: true,
      })
      let text = ''
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      expect(text).toBe('The answer is forty-two.')

      const tools = await client.chat.completions.create({
        model: 'gpt-4o-mini',
        messages,
        tool_choice: 'required',
        tools: [
          {
            type: 'function',
            function: { name: 'weather', parameters: { type: 'object', properties: {} } },
          },
        ],
      })
      const call = tools.choices[0]?.message.tool_calls?.[0]
      expect(call).toMatchObject({ type: 'function', function: { name: 'weather' } })

      const embedding = await client.embeddings.create({
        model: 'text-embedding-3-small',
        input: 'a',
      })
      expect(embedding.data[0]?.embedding.length).toBeGreaterThan(0)

      const models = await client.models.list()
      expect(models.data.map(({ id }) => id)).toContain('gpt-4o-mini')

      const slow = await client.chat.completions.create({
        model: SLOW_MODEL,
        messages,
        stream: true,
      })
      for await (const chunk of slow) {
        expect(chunk.object).toBe('chat.completion.chunk')
        slow.controller.abort()
      }
      const [left] = upstream.seen().filter(({ outcome }) => outcome !== 'answered')
      await expect.poll(() => left?.outcome).toBe('client-gone')
    })
  }

  test('log, statistics, token and balance agree to the point', async () => {
    // Aborted streams are settled a moment after the client has disconnected.
    await expect.poll(async () => (await ask<CallRow[]>(CONSUMPTION)).length).toBe(CALLS)
    const rows = await ask<CallRow[]>(CONSUMPTION)
    const fixed = rows.filter(({ completion_tokens }) => completion_tokens === COMPLETION_TOKENS)
    expect(fixed.map(({ quota }) => quota)).toEqual(Array.from({ length: 6 }, () => POINTS))
    const total = rows.reduce((sum, { quota }) => sum + quota, 0)

    // On PostgreSQL the sums of channels are up to two seconds behind.
    const counted = async () => (await ask<{ quota: number }>('/api/log/stat?type=2')).quota
    await expect.poll(counted).toBe(total)

    await page.getByRole('link', { name: '日志', exact: true }).click()
    await page.getByText('gpt-4o-mini').first().waitFor()
    await page.getByText('点击查看统计').first().click()
    await page.getByText(`${total.toLocaleString('en-US')} 点`).waitFor()

    await expect
      .poll(async () => (await ask<unknown[]>('/api/token/?p=0'))[0])
      .toMatchObject({ used_quota: total, remain_quota: 500_000 - total })
    await expect
      .poll(() => ask('/api/user/self'))
      .toMatchObject({
        used_quota: total,
        quota: ROOT_QUOTA - total,
        request_count: CALLS,
      })
  })

  test('the books balance, and the browser logged no errors', async () => {
    expect(problems).toEqual([])
    expect(await gatehouse.reconcile()).toContain('0 differences')
  })
})
