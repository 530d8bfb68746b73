import { mkdtemp, rm } from 'node:fs/promises'
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { errorText, type ErrorCode, type ErrorParams } from '../../contract/errors.ts'
import type { ChannelFields } from '../channel/channel.ts'
import type { TimeLimits } from '../http/time-limits.ts'
import type { NewToken } from '../token/token-store.ts'
import { expectBooksBalanced } from './expect-books-balanced.ts'
import { aChannel, anAdmin, aToken, aUser } from './factories.ts'
import type { OpenTestDatabase } from './for-each-database.ts'
import { writeMigratedFile } from './migrated-file.ts'
import { startTestServer, type TestAnswer, type TestServer } from './test-app.ts'

/** A gateway with an upstream that fails on demand. */
export interface RelaySetup extends TestServer {
  upstream: FakeUpstream
  /** Current failures of the upstream by the first part of an address, `~at-1`. */
  troubles: Map<string, string>
}

/** A user with a token, for programs that call the relay. */
export interface RelayClient {
  key: string
  userId: number
  tokenId: number
}

export interface RelayInput {
  path?: string
  headers?: Record<string, string>
}

const CHAT_PATH = '/v1/chat/completions'
/** More than any test spends. */
const AMPLE_QUOTA = 1_000_000_000

/**
 * Starts both. By default every model has the price 1, so that points equal tokens. Without `open`
 * the database is a SQLite file, for tests that are not about money.
 */
export async function startRelay(
  open?: OpenTestDatabase,
  settings: Record<string, string> = {},
  timeLimits: Partial<TimeLimits> = {},
): Promise<RelaySetup> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-relay-'))
  const ownFile = path.join(folder, 'gatehouse.db')
  const troubles = new Map<string, string>()
  const upstream = await startFakeUpstream({
    wordsFor: (url) => troubles.get(url.split('/')[1] ?? '') ?? '',
  })
  const server = await startTestServer(
    open ??
      (async () => {
        await writeMigratedFile(ownFile)
        return { engine: 'sqlite', path: ownFile }
      }),
    settings,
    timeLimits,
  )
  await server.app.options.set('DefaultModelRatio', '1')
  return {
    ...server,
    upstream,
    troubles,
    async close() {
      await server.close()
      await upstream.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Creates a client; by default with ample quota and an unlimited token. */
export async function aClient(
  setup: RelaySetup,
  over: {
    quota?: number
    role?: number
    status?: number
    group?: string
    token?: Partial<NewToken> & { status?: number }
  } = {},
): Promise<RelayClient> {
  const { token, ...user } = over
  const { id } = await aUser(setup, { quota: AMPLE_QUOTA, ...user })
  const made = await aToken(setup, id, { unlimited_quota: true, ...token })
  return { key: made.key, userId: id, tokenId: made.id }
}

let lastModel = 0

/** Returns a model name that no other test uses, with the words that control the upstream. */
export function aModel(words = ''): string {
  lastModel += 1
  return words === '' ? `model-${lastModel}` : `model-${lastModel}+${words}`
}

/**
 * Creates a channel for a model; returns its id. `words` are part of its address and control the
 * upstream for any model.
 */
export function aRoute(
  setup: RelaySetup,
  model: string,
  { words = '', ...over }: Partial<ChannelFields> & { words?: string } = {},
): Promise<number> {
  const base = words === '' ? setup.upstream.url : `${setup.upstream.url}/~${words}`
  return aChannel(setup, { base_url: base, models: model, ...over })
}

/** Creates a model that is served as the words specify. */
export async function aServedModel(setup: RelaySetup, words = ''): Promise<string> {
  const model = aModel(words)
  await aRoute(setup, model)
  return model
}

/** Returns the result of a channel test for a model with a single channel. */
export async function channelTestOf(setup: RelaySetup, model: string): Promise<TestAnswer> {
  const { id } = await setup.database.read
    .selectFrom('channels')
    .select('id')
    .where('models', '=', model)
    .executeTakeFirstOrThrow()
  return setup.call('GET', `/api/channel/test/${id}`, { as: await anAdmin(setup) })
}

export const QUESTION = [{ role: 'user', content: 'What is the answer?' }]

/** The smallest chat request. */
export const chatBody = (model: string, over: Record<string, unknown> = {}) => ({
  model,
  messages: QUESTION,
  ...over,
})

/** Sends a request and waits for the whole response; a string or bytes are sent unchanged. */
export function post(
  setup: RelaySetup,
  client: Pick<RelayClient, 'key'>,
  body: unknown,
  input: RelayInput = {},
): Promise<TestAnswer> {
  return setup.call('POST', input.path ?? CHAT_PATH, {
    body,
    headers: { authorization: `Bearer sk-${client.key}`, ...input.headers },
  })
}

/** A response while it is received. */
export interface OpenAnswer {
  status: number
  headers: IncomingHttpHeaders
  response: IncomingMessage
  /** Content received so far. */
  text(): string
  bytes(): Buffer
  /** Resolves at the end: whether the response was complete or interrupted. */
  ended: Promise<'complete' | 'broken'>
  /** Disconnects the client. */
  leave(): void
}

/**
 * Sends a request and resolves when the response head has arrived; the body is read in the
 * background unless `isPaused`.
 */
export function openCall(
  setup: RelaySetup,
  client: Pick<RelayClient, 'key'>,
  body: unknown,
  input: RelayInput & { isPaused?: boolean } = {},
): Promise<OpenAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<OpenAnswer>()
  const sent = startCall(setup, client, body, input)
  sent.on('error', reject)
  sent.on('response', (response) => {
    const parts: Buffer[] = []
    if (input.isPaused !== true) response.on('data', (part: Buffer) => parts.push(part))
    const ended = new Promise<'complete' | 'broken'>((settle) => {
      response.on('error', () => {})
      response.on('close', () => settle(response.complete ? 'complete' : 'broken'))
    })
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers,
      response,
      text: () => Buffer.concat(parts).toString(),
      bytes: () => Buffer.concat(parts),
      ended,
      leave: () => void sent.destroy(),
    })
  })
  return promise
}

/** Sends a request only; for clients that disconnect before the response. */
export function startCall(
  setup: RelaySetup,
  client: Pick<RelayClient, 'key'>,
  body: unknown,
  input: RelayInput = {},
): http.ClientRequest {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(asText(body))
  const sent = http.request(setup.url + (input.path ?? CHAT_PATH), {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer sk-${client.key}`,
      'content-type': 'application/json',
      'content-length': bytes.length,
      ...input.headers,
    },
  })
  sent.on('error', () => {})
  sent.end(bytes)
  return sent
}

const asText = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body))

/** Sends a streaming request and reads it to the end. */
export async function stream(
  setup: RelaySetup,
  client: Pick<RelayClient, 'key'>,
  body: Record<string, unknown>,
  input: RelayInput = {},
): Promise<OpenAnswer & { end: 'complete' | 'broken' }> {
  const answer = await openCall(setup, client, { stream: true, ...body }, input)
  return { ...answer, end: await answer.ended }
}

export interface ScriptedUpstream {
  url: string
  close(): Promise<void>
}

/**
 * Starts an upstream that behaves as a test defines, for cases that the fake upstream does not
 * support.
 */
export async function startScriptedUpstream(
  answer: (request: IncomingMessage, response: http.ServerResponse, body: Buffer) => void,
): Promise<ScriptedUpstream> {
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => answer(request, response, Buffer.concat(parts)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has an address object.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Returns the data of each event of a stream, without comments. */
export const eventsOf = (text: string): string[] =>
  text
    .split(/\r\n\r\n|\n\n|\r\r/)
    .filter((event) => event.startsWith('data:'))
    .map((event) => event.slice('data:'.length).trim())

/** Returns the joined texts of a chat stream. */
export function textOf(text: string): string {
  const deltas = eventsOf(text).filter((event) => event !== '[DONE]')
  // The upstream's own chunks have this shape.
  const chunks = deltas.map(
    (event) => JSON.parse(event) as { choices?: { delta?: { content?: string } }[] },
  )
  return chunks.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join('')
}

export const requestIdOf = ({ headers }: Pick<TestAnswer, 'headers'>): string =>
  String(headers['x-oneapi-request-id'])

/**
 * Returns the ledger row of a call; waits for it, because an interrupted call is settled a moment
 * later.
 */
export async function bookedCall(setup: RelaySetup, requestId: string) {
  const ledger = await eventually(
    () =>
      setup.database.read
        .selectFrom('ledger')
        .selectAll()
        .where('request_id', '=', requestId)
        .executeTakeFirst(),
    `the booking of ${requestId}`,
  )
  const log = await setup.database.read
    .selectFrom('logs')
    .selectAll()
    .where('request_id', '=', requestId)
    .executeTakeFirstOrThrow()
  // The relay writes this text itself.
  const detail = JSON.parse(ledger.detail) as Record<string, string | number>
  return { ledger, log, detail, quota: log.quota ?? 0 }
}

/** Expects that nothing was booked and nothing is reserved for this user. */
export async function expectNothingCharged(
  setup: RelaySetup,
  { userId, tokenId }: RelayClient,
): Promise<void> {
  await eventually(async () => (await heldPoints(setup, userId)) === 0, 'the release')
  const { database } = setup
  const booked = await database.read
    .selectFrom('ledger')
    .select('id')
    .where('user_id', '=', userId)
    .where('kind', '=', 'consume')
    .execute()
  expect(booked).toEqual([])
  const user = await database.read
    .selectFrom('users')
    .select(['used_quota', 'request_count'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  expect(user).toEqual({ used_quota: 0, request_count: 0 })
  const token = await database.read
    .selectFrom('tokens')
    .select('used_quota')
    .where('id', '=', tokenId)
    .executeTakeFirstOrThrow()
  expect(token.used_quota).toBe(0)
}

export async function heldPoints({ database }: RelaySetup, userId: number): Promise<number> {
  const open = await database.read
    .selectFrom('reservations')
    .select('user_amount')
    .where('user_id', '=', userId)
    .execute()
  return open.reduce((sum, row) => sum + row.user_amount, 0)
}

export async function quotaOf({ database }: RelaySetup, userId: number): Promise<number> {
  const row = await database.read
    .selectFrom('users')
    .select('quota')
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  return row.quota
}

const POLL_MS = 5
const EVENTUALLY_MS = 60_000

/** Repeats `ask` until the result is neither false, null nor undefined. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  what: string,
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + EVENTUALLY_MS
  for (;;) {
    const answer = await ask()
    if (answer !== false && answer !== null && answer !== undefined) {
      // Just checked.
      return answer as Exclude<T, false | null | undefined>
    }
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/**
 * Waits some turns of the event loop, in which this process reads pending data; counted in turns,
 * because a slow machine has as many.
 */
export async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) await new Promise((resolve) => setTimeout(resolve, 3))
}

/** Expects an error in the relay's shape: message, code and the request id of the header. */
export function expectRefusal(
  answer: TestAnswer,
  refusal: { code: ErrorCode; status: number; params?: ErrorParams; wireCode?: string },
  language: 'zh' | 'en' = 'zh',
): void {
  const { code, status, params, wireCode = code } = refusal
  const sentence = errorText(code, language, params)
  expect({ status: answer.status, body: answer.json }).toEqual({
    status,
    body: {
      error: {
        message: `${sentence} (request id: ${requestIdOf(answer)})`,
        type: 'one_api_error',
        param: String(params?.['field'] ?? ''),
        code: wireCode,
      },
    },
  })
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
}

/** Expects a chat request to be rejected with this error, in both languages. */
export async function expectRefused(
  setup: RelaySetup,
  client: Pick<RelayClient, 'key'>,
  body: unknown,
  refusal: Parameters<typeof expectRefusal>[1],
): Promise<void> {
  expectRefusal(await post(setup, client, body), refusal)
  const headers = { 'accept-language': 'en-US,en;q=0.9' }
  expectRefusal(await post(setup, client, body, { headers }), refusal, 'en')
}

/** After a suite: expects a balanced ledger and no logged faults. */
export async function expectAllWell({ database, faults, app }: RelaySetup): Promise<void> {
  await app.ledger.drain()
  await expectBooksBalanced(database)
  expect(faults).toEqual([])
}

/** Returns a channel's status after all background work. */
export async function channelStatusOf(
  { app, database }: RelaySetup,
  channelId: number,
): Promise<number> {
  await app.background.idle()
  const row = await database.read
    .selectFrom('channels')
    .select('status')
    .where('id', '=', channelId)
    .executeTakeFirstOrThrow()
  return row.status
}
