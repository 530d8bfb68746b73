import zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorText, type ErrorCode, type ErrorParams } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { aUser, type TestUser } from '../test/factories.ts'
import { startRelay, type RelaySetup } from '../test/relay-setup.ts'
import { BODY_DEPTH_MAX, BODY_LIMITS, sizeText } from './body-limit.ts'

let setup: RelaySetup
let user: TestUser
let admin: TestUser
beforeAll(async () => {
  setup = await startRelay()
  user = await aUser(setup)
  admin = await aUser(setup, { role: Role.admin })
})
afterAll(() => setup.close())

const brotli = (text: string): Buffer =>
  zlib.brotliCompressSync(text, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })

const members = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"member${index}":0`).join()}}`

const refusal = (code: ErrorCode, params?: ErrorParams): object => ({
  success: false,
  message: errorText(code, 'zh', params),
})

const tooComplex = (name: keyof typeof BODY_LIMITS): object =>
  refusal('body_too_complex', { values: BODY_LIMITS[name].valuesMax, depth: BODY_DEPTH_MAX })
const tooLarge = (name: keyof typeof BODY_LIMITS): object =>
  refusal('body_too_large', { limit: sizeText(BODY_LIMITS[name].bytesMax) })
const compressed = refusal('body_compression_refused')

/**
 * Milliseconds of CPU time of a call in this thread, which also runs the server. Threads of the
 * database and compilation in the background do not count.
 */
async function cost(call: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage()
  await call()
  const { user: own, system } = process.threadCpuUsage(before)
  return (own + system) / 1000
}

const MANY = members(170_000)
const PACKED = { body: brotli(MANY), headers: { 'content-encoding': 'br' } }
const DEEP = `${'['.repeat(1e6)}${']'.repeat(1e6)}`

describe('a body that would block the event loop is rejected quickly', () => {
  const callers = { 'POST /api/user/login': () => ({}), 'PUT /api/user/self': () => user }
  test.each([
    ['170,000 members in brotli', 415, compressed, PACKED],
    ['170,000 members', 413, null, { body: MANY }],
    ['a million nested lists', 413, null, { body: DEEP }],
    ['nested lists within the size', 200, null, { body: DEEP.slice(0, 60_000) }],
    ['members within the size', 200, null, { body: members(4000) }],
  ])('%s', async (_what, status, expected, input) => {
    for (const [endpoint, as] of Object.entries(callers)) {
      const [method = '', path = ''] = endpoint.split(' ')
      await setup.call(method, path, { as: as(), body: {} })
      const spent = await cost(async () => {
        const answer = await setup.call(method, path, { as: as(), ...input })
        expect([endpoint, answer.status]).toEqual([endpoint, status])
        if (expected !== null) expect(answer.json).toEqual(expected)
      })
      expect(spent).toBeLessThan(150)
    }
  })
})

describe('limits per route', () => {
  const kibibytes = (count: number): string => JSON.stringify({ name: 'x'.repeat(count * 1024) })
  const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  const asUser = () => user
  const asAdmin = () => admin

  test.each([
    ['POST', '/api/user/login', () => ({}), kibibytes(64), tooLarge('public')],
    ['POST', '/api/user/register', () => ({}), members(1001), tooComplex('public')],
    ['POST', '/api/user/reset', () => ({}), nested(33), tooComplex('public')],
    ['POST', '/api/token/', asUser, kibibytes(256), tooLarge('ordinary')],
    ['POST', '/api/token/', asUser, members(10_001), tooComplex('ordinary')],
    ['PUT', '/api/user/', asAdmin, kibibytes(256), tooLarge('ordinary')],
    ['PUT', '/api/option/', asAdmin, members(200_001), tooComplex('bulk')],
    ['PUT', '/api/option/', asAdmin, `[${'0,'.repeat(200_000)}0]`, tooComplex('bulk')],
    ['PUT', '/api/option/', asAdmin, kibibytes(8 * 1024), tooLarge('bulk')],
  ])('%s %s', async (...[method, path, as, body, expected]) => {
    const answer = await setup.call(method, path, { as: as(), body })
    expect(answer.json).toEqual(expected)
  })

  test('nesting up to the limit and large texts of administrators are accepted', async () => {
    const deep = await setup.call('POST', '/api/user/login', { body: nested(BODY_DEPTH_MAX) })
    expect(deep.json).not.toEqual(tooComplex('public'))
    const option = { key: 'About', value: '关'.repeat(1e6) }
    const long = await setup.call('PUT', '/api/option/', { as: admin, body: option })
    expect(long.json).toMatchObject({ success: true })
  })

  test('only administrators’ bulk endpoints accept compressed bodies, within the same limits', async () => {
    const call = (text: string) =>
      setup.call('PUT', '/api/option/', {
        as: admin,
        body: brotli(text),
        headers: { 'content-encoding': 'br' },
      })
    const option = { key: 'About', value: 'x'.repeat(1e6) }
    expect((await call(JSON.stringify(option))).json).toMatchObject({ success: true })
    expect((await call(members(200_001))).json).toEqual(tooComplex('bulk'))
    expect((await call(kibibytes(8 * 1024))).status).toBe(413)
    const users = await setup.call('PUT', '/api/user/', { as: admin, ...PACKED })
    expect([users.status, users.json]).toEqual([415, compressed])
  })
})
