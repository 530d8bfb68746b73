import { afterAll, beforeAll, expect, test } from 'vitest'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

/** Files that a browser downloads before a page is usable. */

const SIGN_IN_BYTES_MAX = 160_000

let visit: Visit

beforeAll(async () => {
  visit = await startVisit()
})
afterAll(async () => visit.stop())

test('the sign-in page is compressed to less than 160 kB', async () => {
  const { page, context } = await visit.open('/robots.txt')
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  let bytes = 0
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
  await session.send('Network.clearBrowserCache')
  await page.goto(`${visit.gatehouse.url}/login`)
  await page.getByRole('button', { name: '登录', exact: true }).waitFor()
  await settled(page)
  expect(bytes).toBeGreaterThan(20_000)
  expect(bytes).toBeLessThan(SIGN_IN_BYTES_MAX)
  await context.close()
})

test('each browser gets a supported encoding, with the same name and type', async () => {
  const html = await (await fetch(`${visit.gatehouse.url}/login`)).text()
  const [path = ''] = /assets\/start-[\w-]+\.js/.exec(html) ?? []
  const texts = await Promise.all(
    ['br', 'gzip', 'identity'].map(async (encoding) => {
      const answer = await fetch(`${visit.gatehouse.url}/${path}`, {
        headers: { 'accept-encoding': encoding },
      })
      expect(answer.headers.get('content-encoding') ?? 'identity').toBe(encoding)
      expect(answer.headers.get('content-type')).toMatch(/javascript/)
      expect(answer.headers.get('cache-control')).toContain('immutable')
      return answer.text()
    }),
  )
  expect(new Set(texts).size).toBe(1)
})

test('a page references every file that it needs, and each is fetched once', async () => {
  const { page, context, problems } = await visit.open('/robots.txt', visit.root)
  const fetched: string[] = []
  page.on('request', (request) => fetched.push(new URL(request.url()).pathname))
  await page.goto(`${visit.gatehouse.url}/token/edit/1`)
  await page.getByRole('heading', { name: '编辑令牌' }).waitFor()
  await settled(page)
  const named = await page.evaluate(() =>
    [...document.querySelectorAll('script ~ link[fetchpriority=low]')].map(
      (link) => new URL(link.getAttribute('href') ?? '', document.baseURI).pathname,
    ),
  )
  expect(named.some((path) => path.startsWith('/assets/token-form-page-'))).toBe(true)
  expect(fetched.filter((path, index) => fetched.indexOf(path) !== index)).toEqual([])
  expect(problems).toEqual([])
  await context.close()
})

test('a file of another build is not found', async () => {
  const answer = await fetch(`${visit.gatehouse.url}/assets/start-00000000.js`)
  expect(answer.status).toBe(404)
  expect(answer.headers.get('cache-control')).toBe('no-store')
})

test('crawlers get robots.txt instead of the console', async () => {
  const answer = await fetch(`${visit.gatehouse.url}/robots.txt`)
  expect(answer.headers.get('content-type')).toContain('text/plain')
  expect(await answer.text()).toContain('User-agent: *')
})
