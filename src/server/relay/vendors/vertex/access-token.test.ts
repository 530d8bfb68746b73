import { describe, expect, test } from 'vitest'
import type { FakeUpstream } from '../../../../../tools/fake-upstream/fake-upstream.ts'
import { vertexCredentials } from '../../../../../tools/fake-upstream/providers/vertex-answers.ts'
import { createEgress, type Egress } from '../../../egress/egress.ts'
import { startScriptedUpstream } from '../../../test/relay-setup.ts'
import { useUpstream } from '../../../test/use-upstream.ts'
import { accessToken } from './access-token.ts'

let upstream: FakeUpstream
let egress: Egress
useUpstream((now) => ({ upstream, egress } = now))

const NOW = 1_800_000_000
let made = 0
/** Credentials without a cached token. */
function credentials(over: Record<string, unknown> = {}): string {
  made += 1
  // The upstream writes a JSON object.
  const known = JSON.parse(vertexCredentials(upstream.url)) as Record<string, unknown>
  return JSON.stringify({ ...known, made, ...over })
}
const ask = (text: string, nowSeconds = NOW, by = egress) =>
  accessToken(text, { egress: by, nowSeconds })
const TOKEN = { kind: 'token', value: 'ya29.fake-access-token' }
const words = (token: Awaited<ReturnType<typeof ask>>): string =>
  token.kind === 'refused' ? token.body.toString() : ''

describe('a service account', () => {
  test('gets one token for a burst of calls, and another five minutes before it expires', async () => {
    const text = credentials()
    expect(await Promise.all([ask(text), ask(text), ask(text)])).toEqual([TOKEN, TOKEN, TOKEN])
    expect(await ask(text, NOW + 3599 - 301)).toEqual(TOKEN)
    expect(upstream.seen()).toHaveLength(1)
    expect(await ask(text, NOW + 3599 - 300)).toEqual(TOKEN)
    expect(upstream.seen()).toHaveLength(1)
  })

  test('that is unknown is rejected, and may try again', async () => {
    const text = credentials({ private_key_id: 'other' })
    const token = await ask(text)
    expect(token).toMatchObject({ kind: 'refused', status: 401 })
    expect(words(token)).toContain('Invalid JWT header')
    await ask(text)
    expect(upstream.seen()).toHaveLength(2)
  })

  test.each([
    ['a private key that is none', () => credentials({ private_key: 'not a key' })],
    ['a kind nobody knows', () => credentials({ type: 'external_account' })],
    ['an address that is none', () => credentials({ token_uri: 'file:///etc/passwd' })],
    ['no JSON', () => 'hello'],
  ])('with %s: refused, and nobody is asked', async (_what, text) => {
    expect(await ask(text())).toMatchObject({ kind: 'refused', status: 401 })
    expect(upstream.seen()).toHaveLength(0)
  })
})

test('a user’s credentials send their refresh token', async () => {
  const server = await startScriptedUpstream((_request, response) => {
    response.writeHead(200).end('{"access_token":"of-a-user","expires_in":3599}')
  })
  const text = JSON.stringify({
    type: 'authorized_user',
    client_id: 'id',
    client_secret: 'secret',
    refresh_token: 'refresh',
    token_uri: server.url,
  })
  expect(await ask(text)).toEqual({ kind: 'token', value: 'of-a-user' })
  await server.close()
})

test.each([
  [503, '{"error":"backend"}', 503],
  [429, '{"error":"slow down"}', 429],
  [400, '{"error":"invalid_client"}', 401],
  [200, '<html>hello</html>', 502],
  [404, 'not found', 502],
])('a token server that answers %i %s: %i', async (status, body, expected) => {
  const server = await startScriptedUpstream((_request, response) => {
    response.writeHead(status).end(body)
  })
  expect(await ask(credentials({ token_uri: server.url }))).toMatchObject({
    kind: 'refused',
    status: expected,
  })
  await server.close()
})

test('fails if the token server is unreachable or blocked', async () => {
  const failed = { kind: 'failed', reason: 'unreachable' }
  expect(await ask(credentials({ token_uri: 'http://127.0.0.1:9/token' }))).toEqual(failed)
  const strict = createEgress({ allowPrivate: false })
  expect(await ask(credentials(), NOW, strict)).toEqual(failed)
  // Metadata servers issue tokens for other purposes.
  const metadata = 'http://169.254.169.254/token'
  expect(await ask(credentials({ token_uri: metadata }))).toEqual(failed)
  await strict.close()
  expect(upstream.seen()).toHaveLength(0)
})
