import type { z } from 'zod'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Endpoint } from '../../contract/endpoint.ts'
import { ChannelTypeNumber } from '../../contract/channel-type-number.ts'
import { LogType } from '../../contract/log.ts'
import type { RouteTrace } from '../../contract/route-api.ts'
import { Role } from '../../contract/user.ts'
import { heldKeys } from '../channel/key/channel-key.ts'
import { insertTraces, type StoredTrace } from '../log/trace/trace-store.ts'
import { isSecretOption, optionKeys } from '../../contract/option/options.ts'
import { randomText } from '../secrets.ts'
import { undescribed } from '../test/described-answer.ts'
import {
  needsState,
  addressOf,
  labelledEndpoints,
  schemaOf,
  type JsonSchema,
} from '../test/endpoint-call.ts'
import {
  aChannel,
  aLogRow,
  aRedemption,
  anAccessToken,
  aSettledCall,
  aToken,
  aUser,
  PASSWORD,
  type TestUser,
} from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'

/**
 * A server with one row of every kind and a secret in every column that stores one. Every endpoint
 * is called successfully. No response may contain a member that the contract does not declare, or a
 * secret that does not belong to its reader.
 */

const CANARY = 'canary'
const aSecret = (): string => `${CANARY}${randomText(26)}`

interface World {
  server: TestServer
  people: Record<'root' | 'admin' | 'user', TestUser>
  /** Ids of existing rows, by noun. */
  ids: { user: number; token: number; channel: number; log: number; redemption: number }
  /** Id of the channel's key. */
  keyId: string
  /** Every secret of the installation that none of these users may read. */
  secrets: string[]
}

async function createWorld(server: TestServer): Promise<World> {
  const { database, app } = server
  const root = await aUser(server, { role: Role.root })
  const admin = await aUser(server, { role: Role.admin })
  const user = await aUser(server, { quota: 1000 })
  const secrets: string[] = []
  const plant = (): string => {
    const secret = aSecret()
    secrets.push(secret)
    return secret
  }

  const config = {
    ak: plant(),
    sk: plant(),
    vertex_ai_adc: plant(),
    proxy: `http://name:${plant()}@127.0.0.1:9`,
    header_override: { 'X-Key': plant() },
    region: 'r',
  }
  const channelKey = { type: ChannelTypeNumber.openai, key: plant() }
  const channel = await aChannel(server, { ...channelKey, config: JSON.stringify(config) })
  const [{ id: keyId = '' } = {}] = heldKeys(channelKey)
  // The paths of channels are called with this id.
  await insertTraces(database.write, [aTrace(String(channel))])
  for (const key of optionKeys.filter(isSecretOption)) {
    await app.options.set(key, plant())
  }
  const listed = { client_id: 'client', client_secret: plant() }
  await app.options.set('SignInProviders', JSON.stringify({ discord: listed }))
  for (const { id } of [root, admin, user]) {
    // One API stored it in plain text; we store a hash.
    const adopted = plant()
    const { password } = await database.write
      .updateTable('users')
      .set({ access_token: adopted })
      .where('id', '=', id)
      .returning('password')
      .executeTakeFirstOrThrow()
    secrets.push(password)
  }
  secrets.push(
    await anAccessToken(server, admin.id),
    PASSWORD,
    root.cookie.slice('session='.length),
  )
  const stranger = await aUser(server)
  await aToken(server, stranger.id, { key: plant().padEnd(48, 'x') })

  const token = await aToken(server, user.id, { name: 'own', unlimited_quota: true })
  const call = await aSettledCall(server, { userId: user.id, tokenId: token.id, cost: 5 })
  await aLogRow(server, { type: LogType.test, channelId: channel })
  const log = await database.read
    .selectFrom('logs')
    .select('id')
    .where('request_id', '=', call.requestId)
    .executeTakeFirstOrThrow()
  // A user to be read, changed and deleted.
  const subject = await aUser(server)
  const redemption = (await aRedemption(server, admin.id)).id
  const ids = { user: subject.id, token: token.id, channel, log: log.id, redemption }
  return { server, people: { root, admin, user }, ids, keyId, secrets }
}

function aTrace(requestId: string): StoredTrace {
  const trace: RouteTrace = {
    created_at: 1,
    outcome: 'failed',
    username: 'somebody',
    token_name: 'own',
    model: 'm',
    group: 'default',
    attempts: [],
    channels: [],
    omitted: 0,
  }
  return { request_id: requestId, created_at: 1, trace: JSON.stringify(trace) }
}

/** So that a run that may continue beside other tests contacts no channel. */
const NO_CHANNEL = 999_999

/** Input that a call needs to succeed; endpoints that are not listed need none. */
function inputOf({
  people,
  ids,
  keyId,
}: World): Record<string, { body?: unknown; query?: string }> {
  return {
    'POST /api/user/login': { body: { username: people.user.username, password: PASSWORD } },
    'POST /api/verify': { body: { password: PASSWORD } },
    'PUT /api/user/self': { body: { display_name: 'x' } },
    'POST /api/user/': { body: { username: randomText(8), password: PASSWORD } },
    'PUT /api/user/': { body: { id: ids.user, display_name: 'y' } },
    'POST /api/user/manage': { body: { username: people.user.username, action: 'enable' } },
    'POST /api/token/': { body: { name: 'new' } },
    'POST /api/token/:id/rotate': { body: { grace_hours: 1 } },
    'PUT /api/token/?status_only': { body: { id: ids.token, status: 1 } },
    'POST /api/user/access_tokens': { body: { name: 'script', scopes: ['read'] } },
    'PUT /api/limit/token/:id': { body: { calls_at_once: 3 } },
    'PUT /api/token/': { body: { id: ids.token, name: 'renamed', unlimited_quota: true } },
    // A duplicate line, so that there is something to report.
    'POST /api/channel/': { body: { name: 'new', key: `${CANARY}-in\n${CANARY}-in` } },
    'POST /api/channel/upstream_models': {
      body: { type: 1, key: 'k', base_url: 'http://127.0.0.1:9' },
    },
    'POST /api/channel/route': { body: { model: 'gpt-4o-mini' } },
    'PUT /api/channel/key/': { body: { id: ids.channel, key_id: keyId, action: 'resume' } },
    'PUT /api/channel/': { body: { id: ids.channel, name: 'renamed' } },
    'POST /api/channel/batch': { body: { ids: [ids.channel], action: 'disable' } },
    'POST /api/channel/batch/test': { body: { ids: [NO_CHANNEL] } },
    'POST /api/channel/batch/copy': {
      body: { source_id: ids.channel, ids: [ids.channel], fields: ['models'], dry_run: true },
    },
    'POST /api/user/register': { body: { username: randomText(8), password: PASSWORD } },
    'GET /api/verification': { query: 'email=new@example.test' },
    'GET /api/reset_password': { query: 'email=new@example.test' },
    'POST /api/mail/test': { body: { email: 'new@example.test' } },
    'POST /api/user/reset': { body: { email: 'new@example.test', token: 'f'.repeat(32) } },
    'POST /api/topup': { body: { user_id: ids.user, quota: 5 } },
    'POST /api/redemption/': { body: { name: 'new', quota: 5, count: 2 } },
    'PUT /api/redemption/?status_only': { body: { id: ids.redemption, status: 2 } },
    'PUT /api/redemption/': { body: { id: ids.redemption, name: 'renamed', quota: 5 } },
    'PUT /api/option/': { body: { key: 'About', value: 'x' } },
    'PUT /api/prices/': { body: { rows: [] } },
    'POST /api/model-capabilities/preview': { body: { entries: '{"gpt-4o":{}}' } },
    'DELETE /api/log/': { query: 'target_timestamp=1' },
    'GET /api/dashboard': { query: 'start_timestamp=1800000000&end_timestamp=1800003600' },
    'GET /api/dashboard/export': {
      query: 'start_timestamp=1800000000&end_timestamp=1800003600',
    },
  }
}

/** Endpoints that cannot succeed here: no code to redeem, no upstream to call. */
const REFUSED = new Set([
  'POST /api/user/topup',
  'GET /api/channel/test/:id',
  'GET /api/channel/update_balance/:id',
  'GET /api/channel/upstream_models/:id',
  'POST /api/channel/upstream_models',
  'POST /api/model-capabilities/refresh',
  'POST /api/user/reset',
  // No test user has a second factor.
  'POST /api/user/login/2fa',
  'POST /api/user/2fa/enable',
  'POST /api/user/2fa/disable',
  'POST /api/user/2fa/backup_codes',
  'DELETE /api/user/:id/2fa',
  // The test server has no domain name, and no test user a passkey.
  'POST /api/user/passkey/register/begin',
  'POST /api/user/passkey/register/finish',
  'POST /api/user/passkey/login/begin',
  'POST /api/user/passkey/login/finish',
  'POST /api/user/passkey/verify/begin',
  'POST /api/user/passkey/verify/finish',
  'PUT /api/user/passkey/:passkey',
  'DELETE /api/user/passkey/:passkey',
  'DELETE /api/user/sessions/:session',
  // The user was deleted before.
  'DELETE /api/user/:id/sessions',
  'DELETE /api/user/access_tokens/:token',
  'DELETE /api/user/:id/access_tokens/:token',
  'GET /api/oauth/email/bind',
  'GET /api/oauth/github',
  'GET /api/oauth/lark',
  'GET /api/oauth/linuxdo',
  'GET /api/oauth/discord',
  'GET /api/oauth/oidc',
  'GET /api/oauth/oidc/:name',
  'GET /api/oauth/wechat',
  'GET /api/oauth/wechat/bind',
  'DELETE /api/oauth/:provider',
  // No repository is configured.
  'GET /api/release',
])

/** Endpoints whose errors lack the extra members, because clients expect it so. */
const BARE = new Set(['GET /api/channel/update_balance/:id'])

const idFor = ({ path }: Endpoint, { ids }: World): number => {
  if (path.startsWith('/api/user')) return ids.user
  if (/^\/api\/(token|limit)\//.test(path)) return ids.token
  if (path.startsWith('/api/redemption')) return ids.redemption
  return path.startsWith('/api/channel') ? ids.channel : ids.log
}

/** Calls that delete something other calls need run last, and signing out after all of them. */
const endingRank = ({ method, path }: Endpoint): number => {
  if (path === '/api/user/logout') return 3
  if (method !== 'DELETE') return 0
  return path === '/api/user/self' ? 2 : 1
}

const inOrder = labelledEndpoints.toSorted(([, a], [, b]) => endingRank(a) - endingRank(b))

/** Members that a response always has; the others are optional. */
function requiredOf(shape: z.ZodType): string[] {
  const { required } = schemaOf(shape, 'output')
  return Array.isArray(required) ? required.map(String) : []
}

forEachDatabase('answers', (open) => {
  let world: World
  let mailbox: Mailbox

  beforeAll(async () => {
    world = await createWorld(await startTestServer(open))
    mailbox = await startMailbox()
    await mailThrough(world.server, mailbox)
  })
  afterAll(async () => {
    await world.server.close()
    await mailbox.close()
  })

  /** With the lowest sufficient role, so that own rows are found. */
  const callerFor = ({ options: { access } }: Endpoint): TestUser =>
    access === 'admin' || access === 'root' ? world.people.root : world.people.user

  async function send(label: string, endpoint: Endpoint, as: TestUser): Promise<TestAnswer> {
    const { body, query } = inputOf(world)[label] ?? {}
    const address = addressOf(endpoint, idFor(endpoint, world))
    return world.server.call(
      endpoint.method,
      query === undefined ? address : `${address}?${query}`,
      {
        // Signing in ends the session that the request came with.
        as: label === 'POST /api/user/login' ? {} : as,
        ...(body === undefined ? {} : { body }),
      },
    )
  }

  // Runs first, because later calls delete rows that these need.
  test.each(['root', 'admin', 'user'] as const)(
    'no response to %s contains a secret',
    async (who) => {
      for (const [label, endpoint] of inOrder.filter(([, listed]) => endingRank(listed) === 0)) {
        const answer = await send(label, endpoint, world.people[who])
        const seen = `${JSON.stringify(answer.headers)} ${answer.text}`
        const leaked = world.secrets.filter((secret) => seen.includes(secret))
        expect(leaked, `${label}`).toEqual([])
      }
    },
  )

  test.each(inOrder)('%s returns exactly what it declares', async (label, endpoint) => {
    const isRefused = REFUSED.has(label)
    const answer = await send(label, endpoint, callerFor(endpoint))
    expect(answer.status).toBe(needsState(endpoint) ? 403 : 200)
    const { data, extra, answer: kind = 'envelope' } = endpoint.options
    if (kind === 'stream') return
    expect(undescribed(endpoint, answer)).toEqual([])
    if (kind === 'raw') {
      expect(data).toBeDefined()
      if (data !== undefined) expect(strangers(schemaOf(data, 'output'), answer.json)).toEqual([])
      return
    }
    expect(answer.json['success'], `${answer.message}`).toBe(!isRefused)
    const declared = [
      'success',
      'message',
      ...(data === undefined || isRefused ? [] : ['data']),
      ...(extra === undefined || BARE.has(label) ? [] : requiredOf(extra)),
    ]
    expect(Object.keys(answer.json).toSorted()).toEqual(declared.toSorted())
    if (data !== undefined && !isRefused) {
      expect(strangers(schemaOf(data, 'output'), answer.data)).toEqual([])
    }
  })
})

/** Members of a value that its schema lacks, and required ones that are missing. */
function strangers(schema: JsonSchema, value: unknown, at = ''): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      strangers(Object(schema['items']), item, `${at}[${index}]`),
    )
  }
  if (typeof value !== 'object' || value === null) return []
  const branches = [schema['anyOf'], schema['oneOf']]
    .flat()
    .filter((branch) => branch !== undefined)
  if (branches.length > 0) {
    const found = branches.map((branch) => strangers(Object(branch), value, at))
    return found.find((list) => list.length === 0) ?? found.flat()
  }
  const { properties } = schema
  // A map with arbitrary names and values of one type.
  if (properties === undefined) {
    return Object.entries(value).flatMap(([name, member]) =>
      strangers(Object(schema['additionalProperties']), member, `${at}.${name}`),
    )
  }
  const known: Record<string, unknown> = Object(properties)
  const required = [schema['required']].flat().filter((name) => typeof name === 'string')
  return [
    ...required
      .filter((name) => !Object.hasOwn(value, name))
      .map((name) => `${at}.${name} missing`),
    ...Object.entries(value).flatMap(([name, member]) =>
      Object.hasOwn(known, name)
        ? strangers(Object(known[name]), member, `${at}.${name}`)
        : [`${at}.${name} undeclared`],
    ),
  ]
}
