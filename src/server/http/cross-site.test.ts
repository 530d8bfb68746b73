import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Endpoint } from '../../contract/endpoint.ts'
import { errorText } from '../../contract/errors.ts'
import { tokenApi } from '../../contract/token-api.ts'
import { userApi } from '../../contract/user-api.ts'
import { Role } from '../../contract/user.ts'
import { addressOf, isChanging, labelledEndpoints, needsState } from '../test/endpoint-call.ts'
import { anAccessToken, aUser, type TestUser } from '../test/factories.ts'
import { onSqlite } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import type { OriginHeaders } from './csrf.ts'

const FOREIGN = 'https://evil.example'

/** Headers that name another site, each as a browser sends them. */
const FOREIGN_HEADERS: Record<string, (own: string) => OriginHeaders> = {
  'a fetch from another site': () => ({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }),
  'a form on another site': () => ({ 'sec-fetch-site': 'cross-site', origin: FOREIGN }),
  'another sub-domain': () => ({ 'sec-fetch-site': 'same-site' }),
  'a browser that only sends Origin': () => ({ origin: FOREIGN }),
  'a sandboxed frame': () => ({ origin: 'null' }),
  'a browser that only sends Referer': () => ({ referer: `${FOREIGN}/page` }),
  'a foreign Referer beside an own Origin': (own) => ({ origin: own, referer: `${FOREIGN}/` }),
  'an own Origin that Sec-Fetch-Site contradicts not, Referer does': (own) => ({
    'sec-fetch-site': 'same-origin',
    origin: own,
    referer: FOREIGN,
  }),
  'a host that begins like ours': (own) => ({ origin: `${own}.evil.example` }),
  'a name and password that look like ours': (own) => ({
    origin: `${own.replace('://', '://x@')}@evil.example`,
  }),
  'an Origin that is no address': () => ({ origin: 'gate.example' }),
}

/** Headers of ourselves, or of no browser at all. */
const OWN_HEADERS: Record<string, (own: string) => OriginHeaders> = {
  'no header at all': () => ({}),
  'our own page': (own) => ({
    'sec-fetch-site': 'same-origin',
    'sec-fetch-mode': 'cors',
    origin: own,
    referer: `${own}/token`,
    accept: 'application/json',
  }),
  'our own page in a browser without Sec-Fetch': (own) => ({ origin: own, referer: `${own}/` }),
  'our own page that sends no Referer': () => ({ 'sec-fetch-site': 'same-origin' }),
}

onSqlite('calls from other sites', (open) => {
  let server: TestServer
  let root: TestUser & { accessToken: string }

  /** A caller with all rights, by cookie or by token. */
  async function aRoot() {
    const user = await aUser(server, { role: Role.root })
    return { ...user, accessToken: await anAccessToken(server, user.id) }
  }

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aRoot()
  })
  afterAll(() => server.close())

  const changing = labelledEndpoints.filter(([, endpoint]) => isChanging(endpoint))
  const reading = labelledEndpoints.filter(([, endpoint]) => !isChanging(endpoint))

  /** Signing out and making another access token end what the caller came with. */
  const caller = async ({ options }: Endpoint) =>
    options.changesState === true ? await aRoot() : root

  async function expectForeignRefused(endpoint: Endpoint, headers: OriginHeaders): Promise<void> {
    const { cookie } = root
    const body = endpoint.options.body === undefined ? {} : { body: {} }
    const refused = errorText('cross_site', 'zh')
    const byCookie = await server.call(endpoint.method, addressOf(endpoint), {
      as: { cookie },
      headers: defined(headers),
      ...body,
    })
    expect(byCookie).toMatchObject({ status: 403, json: { success: false, message: refused } })
    // A token is not sent by a browser on its own.
    const { accessToken } = await caller(endpoint)
    const byToken = await server.call(endpoint.method, addressOf(endpoint), {
      as: { accessToken },
      headers: defined(headers),
      ...body,
    })
    expect(byToken.message).not.toBe(refused)
  }

  async function expectOwnAdmitted(endpoint: Endpoint, headers: OriginHeaders): Promise<void> {
    const body = endpoint.options.body === undefined ? {} : { body: {} }
    const answer = await server.call(endpoint.method, addressOf(endpoint), {
      as: await caller(endpoint),
      headers: defined(headers),
      ...body,
    })
    expect(answer.message).not.toBe(errorText('cross_site', 'zh'))
    expect(answer.status === 403).toBe(needsState(endpoint))
  }

  // One rule for every endpoint evaluates the headers: `csrf.test.ts`.
  test.each(changing)('%s is not done from another site', async (_label, endpoint) => {
    await expectForeignRefused(endpoint, { 'sec-fetch-site': 'cross-site', origin: FOREIGN })
    await expectOwnAdmitted(endpoint, { 'sec-fetch-site': 'same-origin', origin: server.url })
  })

  test.each([
    ['a POST', userApi.create],
    ['a PUT', tokenApi.update],
    ['a DELETE', tokenApi.remove],
    ['a GET that changes state', userApi.logout],
  ])('%s, by whatever headers a browser tells it', async (_what, endpoint) => {
    await forEachValue(Object.entries(FOREIGN_HEADERS), (_from, headersOf) =>
      expectForeignRefused(endpoint, headersOf(server.url)),
    )
    await forEachValue(Object.entries(OWN_HEADERS), (_from, headersOf) =>
      expectOwnAdmitted(endpoint, headersOf(server.url)),
    )
  })

  // The wire has GETs that change state: neither a link nor an image is enough, on our pages too.
  test.each(changing.filter(([, { method }]) => method === 'GET'))(
    '%s is not done by following a link or by showing an image',
    async (_label, endpoint) => {
      const { cookie } = root
      const referer = `${server.url}/about`
      for (const headers of [
        { 'sec-fetch-mode': 'navigate', referer },
        { accept: 'text/html,*/*', referer },
        { accept: 'image/avif,image/*,*/*;q=0.8', referer },
        { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'image', referer },
        { 'user-agent': 'Mozilla/5.0', accept: '*/*' },
      ]) {
        const answer = await server.call('GET', addressOf(endpoint), { as: { cookie }, headers })
        expect(answer.status).toBe(403)
      }
    },
  )

  const nobodys = changing.filter(
    ([, { method, options }]) => options.access === 'anyone' && method !== 'GET',
  )
  test.each(nobodys)('%s is not done without a cookie either', async (_label, endpoint) => {
    const send = (headers: OriginHeaders) =>
      server.call(endpoint.method, addressOf(endpoint), { headers: defined(headers), body: {} })
    await forEachValue(Object.entries(FOREIGN_HEADERS), async (_what, headersOf) => {
      const answer = await send(headersOf(server.url))
      expect(answer).toMatchObject({ status: 403, json: { success: false } })
    })
    await forEachValue(Object.entries(OWN_HEADERS), async (_what, headersOf) => {
      const { message } = await send(headersOf(server.url))
      expect(message).not.toBe(errorText('cross_site', 'zh'))
    })
  })

  test.each(reading)('%s only reads', async (_label, endpoint) => {
    const headers = { 'sec-fetch-site': 'cross-site', origin: FOREIGN }
    const own = await server.call('GET', addressOf(endpoint), { as: root })
    const foreign = await server.call('GET', addressOf(endpoint), { as: root, headers })
    expect(foreign.status).toBe(own.status)
    expect(foreign.status).not.toBe(403)
  })
})

const defined = (headers: OriginHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
