import { afterAll, beforeAll, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { addressOf, isChanging, labelledEndpoints, needsState } from '../test/endpoint-call.ts'
import { anAccessToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
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

forEachDatabase('calls from other sites', (open) => {
  let server: TestServer
  let root: TestUser & { accessToken: string }

  /** Somebody who may do everything, by cookie or by token. */
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

  test.each(changing)('%s', async (_label, endpoint) => {
    const { cookie, accessToken } = root
    const body = endpoint.options.body === undefined ? {} : { body: {} }
    const refused = errorText('cross_site', 'zh')
    for (const [what, headersOf] of Object.entries(FOREIGN_HEADERS)) {
      const headers = defined(headersOf(server.url))
      const byCookie = await server.call(endpoint.method, addressOf(endpoint), {
        as: { cookie },
        headers,
        ...body,
      })
      expect(byCookie, `${what}`).toMatchObject({
        status: 403,
        json: { success: false, message: refused },
      })
      // A token is not sent by a browser on its own.
      const byToken = await server.call(endpoint.method, addressOf(endpoint), {
        as: endpoint.options.changesState === true ? bearer(await aRoot()) : { accessToken },
        headers,
        ...body,
      })
      expect(byToken.message, `${what}`).not.toBe(refused)
    }
    for (const [what, headersOf] of Object.entries(OWN_HEADERS)) {
      const answer = await server.call(endpoint.method, addressOf(endpoint), {
        // Signing out and making another access token end what the caller came with.
        as: endpoint.options.changesState === true ? await aRoot() : root,
        headers: defined(headersOf(server.url)),
        ...body,
      })
      expect(answer.message, `${what}`).not.toBe(refused)
      expect(answer.status === 403, `${what}`).toBe(needsState(endpoint))
    }
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
    for (const [what, headersOf] of Object.entries(FOREIGN_HEADERS)) {
      const headers = defined(headersOf(server.url))
      const answer = await server.call(endpoint.method, addressOf(endpoint), { headers, body: {} })
      expect(answer, `${what}`).toMatchObject({ status: 403, json: { success: false } })
    }
    for (const [what, headersOf] of Object.entries(OWN_HEADERS)) {
      const headers = defined(headersOf(server.url))
      const answer = await server.call(endpoint.method, addressOf(endpoint), { headers, body: {} })
      expect(answer.message, `${what}`).not.toBe(errorText('cross_site', 'zh'))
    }
  })

  test.each(reading)('%s only reads', async (_label, endpoint) => {
    const headers = { 'sec-fetch-site': 'cross-site', origin: FOREIGN }
    const own = await server.call('GET', addressOf(endpoint), { as: root })
    const foreign = await server.call('GET', addressOf(endpoint), { as: root, headers })
    expect(foreign.status).toBe(own.status)
    expect(foreign.status).not.toBe(403)
  })
})

const bearer = ({ accessToken }: { accessToken: string }) => ({ accessToken })

const defined = (headers: OriginHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
