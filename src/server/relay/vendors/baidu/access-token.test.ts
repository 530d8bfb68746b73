import { expect, test } from 'vitest'
import type { FakeUpstream } from '../../../../../tools/fake-upstream/fake-upstream.ts'
import { BAIDU_ACCOUNT } from '../../../../../tools/fake-upstream/providers/baidu-answers.ts'
import type { Egress } from '../../../egress/egress.ts'
import { startScriptedUpstream } from '../../../test/relay-setup.ts'
import { useUpstream } from '../../../test/use-upstream.ts'
import { baiduToken, forgetBaiduToken } from './access-token.ts'

let upstream: FakeUpstream
let egress: Egress
useUpstream((now) => ({ upstream, egress } = now))

const NOW = 1_800_000_000
const MONTH = 30 * 24 * 3600
let made = 0
/** The valid key; no other test uses it. */
function aKey(): string {
  made += 1
  return `${BAIDU_ACCOUNT.apiKey}${' '.repeat(made)}|${BAIDU_ACCOUNT.secretKey}`
}
const ask = (key: string, nowSeconds = NOW, base = upstream.url) =>
  baiduToken(key, { egress, base, nowSeconds })

test('a burst of calls requests one token, and another in its last hour', async () => {
  const key = aKey()
  const [first, ...others] = await Promise.all([ask(key), ask(key), ask(key)])
  expect(first).toMatchObject({ kind: 'token', value: expect.stringMatching(/^24\.fake-\d+$/) })
  expect(others).toEqual([first, first])
  expect(await ask(key, NOW + MONTH - 3601)).toEqual(first)
  const [seen, ...more] = upstream.seen()
  expect(more).toEqual([])
  expect(seen?.method).toBe('POST')
  expect(seen?.url).toBe(
    '/oauth/2.0/token?grant_type=client_credentials&client_id=fake-baidu-api-key-0123' +
      '&client_secret=fake-baidu-secret',
  )
  expect(await ask(key, NOW + MONTH - 3600)).not.toEqual(first)
})

test('requests a forgotten token again', async () => {
  const key = aKey()
  const first = await ask(key)
  forgetBaiduToken(key, 'another')
  expect(await ask(key)).toEqual(first)
  forgetBaiduToken(key, first.kind === 'token' ? first.value : '')
  expect(await ask(key)).not.toEqual(first)
})

test('returns Baidu’s error for an unknown key, and retries on the next call', async () => {
  const refused = await ask('nobody|knows')
  expect(refused).toMatchObject({ kind: 'refused', status: 401 })
  expect(refused.kind === 'refused' && refused.body.toString()).toContain('unknown client id')
  await ask('nobody|knows')
  expect(upstream.seen()).toHaveLength(2)
})

test.each([
  [503, '{"error":"busy"}', 503],
  [429, 'slow down', 429],
  [400, '{"error":"invalid_client"}', 401],
  [200, '<html>hello</html>', 502],
  [404, 'not found', 502],
])('a token server that answers %i %s: %i', async (status, body, expected) => {
  const server = await startScriptedUpstream((_request, response) => {
    response.writeHead(status).end(body)
  })
  expect(await ask(aKey(), NOW, server.url)).toMatchObject({ kind: 'refused', status: expected })
  await server.close()
})

test('uses a short-lived token for half of its lifetime', async () => {
  let asked = 0
  const server = await startScriptedUpstream((_request, response) => {
    asked += 1
    response.end(JSON.stringify({ access_token: `short-${asked}`, expires_in: 600 }))
  })
  const key = aKey()
  const [first, second, third] = [
    await ask(key, NOW, server.url),
    await ask(key, NOW + 299, server.url),
    await ask(key, NOW + 300, server.url),
  ]
  expect([first, second, third]).toEqual([
    { kind: 'token', value: 'short-1' },
    { kind: 'token', value: 'short-1' },
    { kind: 'token', value: 'short-2' },
  ])
  await server.close()
})

test('fails if the token server is unreachable or blocked', async () => {
  const failed = { kind: 'failed', reason: 'unreachable' }
  expect(await ask(aKey(), NOW, 'http://127.0.0.1:9')).toEqual(failed)
  expect(await ask(aKey(), NOW, 'http://169.254.169.254')).toEqual(failed)
})
