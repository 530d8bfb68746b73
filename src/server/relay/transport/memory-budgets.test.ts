import type http from 'node:http'
import net from 'node:net'
import zlib from 'node:zlib'
import { expect, test } from 'vitest'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  eventually,
  expectNothingCharged,
  post,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelaySetup } from '../../test/use-relay.ts'
import { ByteBudget } from './byte-budget.ts'

const MEBIBYTE = 1024 * 1024
const REQUESTS_MB = 8

let setup: RelaySetup
useRelaySetup((started) => (setup = started), {
  settings: { MAX_BODY_MB: '2', RELAY_REQUESTS_MB: String(REQUESTS_MB), RELAY_ANSWERS_MB: '64' },
})

/** A gauge or counter of one of the budgets. */
async function figure(name: string, kind: 'requests' | 'answers'): Promise<number> {
  const { text } = await setup.call('GET', '/metrics')
  return Number(new RegExp(`^${name}\\{kind="${kind}"\\} (.*)$`, 'm').exec(text)?.[1])
}

const held = (kind: 'requests' | 'answers') => figure('gatehouse_relay_body_bytes', kind)

const ALICE = { name: 'a', share: 0.25 }
const BOB = { name: 'b', share: 0.25 }
const FREE = 64 * 1024

test('an owner may take what is free up to half of a budget, beyond that its share', () => {
  const budget = new ByteBudget(100)
  const lease = (of: typeof ALICE) => budget.lease([of])
  const [first, second, third, fourth] = [ALICE, BOB, ALICE, BOB].map(lease)
  expect(first?.resize(FREE + 50)).toBe(null)
  expect(second?.resize(FREE + 25)).toBe(null)
  expect(third?.resize(FREE + 1)).toBe('share')
  expect(fourth?.resize(FREE + 1)).toBe('share')
  expect(fourth?.resize(FREE + 26)).toBe('full')
  expect(fourth?.resize(FREE)).toBe(null)
  first?.release()
  expect(budget).toMatchObject({ held: 25, refusals: 3 })
  expect(third?.resize(FREE + 25)).toBe(null)
  // A released lease takes no bytes.
  first?.resize(FREE + 50)
  for (const one of [second, third, fourth]) one?.release()
  expect(budget.held).toBe(0)
})

interface Begun {
  /** The responses so far. */
  answer(): string
  isClosed(): boolean
  end(): void
}

/** Sends a request whose body lacks its last byte. */
function beginCall(key: string, bytes: number, path = '/v1/chat/completions'): Begun {
  const { hostname, port } = new URL(setup.url)
  const socket = net.connect(Number(port), hostname)
  let answer = ''
  let isClosed = false
  socket.on('data', (part: Buffer) => (answer += part.toString()))
  socket.on('error', () => {})
  socket.on('close', () => (isClosed = true))
  const head = `Host: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${bytes + 1}`
  socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n`)
  socket.write(Buffer.alloc(bytes, ' '))
  return { answer: () => answer, isClosed: () => isClosed, end: () => socket.destroy() }
}

test.each([
  ['/v1/chat/completions', /"code":"insufficient_user_quota"/],
  ['/v1/messages', /"type":"permission_error"/],
  ['/v1beta/models/m:generateContent', /"status":"PERMISSION_DENIED"/],
  ['/v1/messages/count_tokens', /"type":"permission_error"/],
])('a caller who can pay nothing is refused on the head: %s', async (path, words) => {
  const { key } = await aClient(setup, { quota: 0 })
  const calls = Array.from({ length: 6 }, () => beginCall(key, 2 * MEBIBYTE - 1, path))
  await eventually(() => calls.every((call) => call.answer() !== ''), 'the refusals')
  expect(await held('requests')).toBe(0)
  for (const call of calls) {
    expect(call.answer()).toMatch(/^HTTP\/1.1 403 /)
    expect(call.answer()).toMatch(/^connection: close\r$/im)
    expect(call.answer()).toMatch(words)
    call.end()
  }
})

test('does not reject a caller by its headers while open calls hold its whole balance', async () => {
  const { key, userId, tokenId } = await aClient(setup, { quota: 1000 })
  const operation = { requestId: 'held', userId, tokenId, amount: 1000, tokens: 0 }
  const { app } = setup
  await app.ledger.reserve({ ...operation, nowSeconds: app.clock.nowSeconds(), node: app.node })
  const call = beginCall(key, MEBIBYTE)
  await eventually(async () => (await held('requests')) > MEBIBYTE / 2, 'the body')
  expect(call.answer()).toBe('')
  call.end()
  await app.ledger.release('held')
})

test('a caller without balance may send a body if a model is free', async () => {
  const free = aModel()
  await aRoute(setup, free, { group: 'charity' })
  await setup.app.options.set('ModelRatio', JSON.stringify({ [free]: 0 }))
  const { key } = await aClient(setup, { quota: 0, group: 'charity' })
  const padding = ' '.repeat(MEBIBYTE)
  const answer = await post(setup, { key }, JSON.stringify(chatBody(free)) + padding)
  expect(answer.status).toBe(200)
})

test('request bodies share one budget, of which a token has a share', async () => {
  const before = await figure('gatehouse_relay_body_refused_total', 'requests')
  const greedy = await aClient(setup)
  const calls = Array.from({ length: 4 }, () => beginCall(greedy.key, 1.5 * MEBIBYTE))
  await eventually(() => calls.some((call) => call.answer() !== ''), 'a refusal')
  const [refused] = calls.filter((call) => call.answer() !== '')
  expect(refused?.answer()).toMatch(
    /^HTTP\/1.1 429 .*retry-after: 5\r.*"relay_requests_of_token"/is,
  )
  expect(refused?.answer()).toMatch(/^connection: close\r$/im)
  expect(await figure('gatehouse_relay_body_refused_total', 'requests')).toBeGreaterThan(before)
  expect(await held('requests')).toBeLessThanOrEqual((REQUESTS_MB / 2) * MEBIBYTE)
  // Other callers are served meanwhile.
  const model = aModel()
  await aRoute(setup, model)
  const body = JSON.stringify(chatBody(model)) + ' '.repeat(1.5 * MEBIBYTE)
  expect((await post(setup, await aClient(setup), body)).status).toBe(200)
  for (const call of calls) call.end()
  await eventually(async () => (await held('requests')) === 0, 'the memory')
})

test('request bodies beyond the budget are rejected: 503', async () => {
  const clients = await Promise.all(Array.from({ length: 6 }, () => aClient(setup)))
  const calls = clients.map(({ key }) => beginCall(key, 1.75 * MEBIBYTE))
  await eventually(() => calls.some((call) => call.answer() !== ''), 'a refusal')
  const answers = calls.map((call) => call.answer()).filter(Boolean)
  for (const answer of answers) {
    expect(answer).toMatch(/^HTTP\/1.1 503 .*retry-after: 5\r.*"relay_requests_full"/is)
  }
  for (const call of calls) call.end()
  await eventually(async () => (await held('requests')) === 0, 'the memory')
})

const completion = (content: string) =>
  JSON.stringify({ id: 'x', choices: [{ index: 0, message: { role: 'assistant', content } }] })

/** An upstream whose responses, compressed or not, have this many MiB. */
function anUpstream(megabytes: number, { isPacked }: { isPacked: boolean }) {
  const body = Buffer.from(completion('a'.repeat(megabytes * MEBIBYTE)))
  const sent = isPacked ? zlib.gzipSync(body) : body
  const encoding = isPacked ? { 'content-encoding': 'gzip' } : {}
  return startScriptedUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...encoding }).end(sent)
  })
}

test.each([
  [17, { isPacked: true }],
  [17, { isPacked: false }],
])('a chat response of %i MiB (%j) is a fault of its channel', async (megabytes, how) => {
  const upstream = await anUpstream(megabytes, how)
  const model = aModel()
  const lone = await aClient(setup)
  await aRoute(setup, model, { base_url: upstream.url, priority: 5 })
  const whole = await post(setup, lone, chatBody(model))
  expect(whole.status).toBe(502)
  expect(whole.json).toMatchObject({ error: { code: 'upstream_answer_too_large' } })
  const streamed = await stream(setup, lone, chatBody(model))
  expect(streamed.status).toBe(502)
  await expectNothingCharged(setup, lone)
  await aRoute(setup, model)
  expect((await post(setup, lone, chatBody(model))).status).toBe(200)
  await eventually(async () => (await held('answers')) === 0, 'the memory')
  await upstream.close()
})

test('responses that are read whole share one budget', async () => {
  const open: http.ServerResponse[] = []
  const upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(' '.repeat(15 * MEBIBYTE))
    open.push(response)
  })
  const model = aModel()
  await aRoute(setup, model, { base_url: upstream.url })
  const client: RelayClient = await aClient(setup)
  const ask = () => post(setup, client, chatBody(model))
  const slow = [ask(), ask()]
  await eventually(async () => (await held('answers')) > 29 * MEBIBYTE, 'two responses')
  const refused = await ask()
  expect(refused.status).toBe(503)
  expect(refused.headers['retry-after']).toBe('5')
  expect(refused.json).toMatchObject({ error: { code: 'relay_answers_full' } })
  for (const response of open) response.end(completion('Hi'))
  for (const answer of await Promise.all(slow)) expect(answer.status).toBe(200)
  await eventually(async () => (await held('answers')) === 0, 'the memory')
  // The channel is not to blame and stays in use.
  const again = ask()
  await eventually(() => open.length === 4, 'the next call')
  open[3]?.end(completion('Hi'))
  expect((await again).status).toBe(200)
  await upstream.close()
})
