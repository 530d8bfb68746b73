import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { TOKEN_NAME_LENGTH_MAX } from '../../contract/token.ts'
import { NO_OBJECTS, ODD_MEMBERS, TOO_MUCH } from '../test/corpora/bodies.ts'
import { NUMBERS } from '../test/corpora/numbers.ts'
import { SUBNETS } from '../test/corpora/subnets.ts'
import { TEXTS, textsAround, UNREADABLE_TEXTS } from '../test/corpora/texts.ts'
import { EXPIRIES } from '../test/corpora/times.ts'
import { expectPlainAnswer } from '../test/expect-plain-answer.ts'
import { aToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

/** What is sent to the token form, whoever sends it: stored as it was sent, or refused whole. */
forEachDatabase('hostile input to tokens', (open) => {
  let server: TestServer
  let owner: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    owner = await aUser(server)
  })
  afterAll(() => server.close())
  afterEach(() => {
    expect(server.faults.splice(0)).toEqual([])
  })

  const call = (method: string, path: string, body: unknown, headers = {}) =>
    server.call(method, path, { as: owner, body, headers })
  const stored = async () =>
    server.database.read.selectFrom('tokens').selectAll().orderBy('id', 'desc').execute()

  /** Creates with one member as JSON text; answers whether a token was made, and its row. */
  async function created(members: string) {
    const before = await stored()
    const body = `{"name":"hostile",${members}}`
    const isMade = await expectPlainAnswer((headers) => call('POST', '/api/token/', body, headers))
    const after = await stored()
    expect(after.slice(isMade ? 1 : 0)).toEqual(before)
    return { isMade, row: after[0] }
  }

  test.each(TEXTS)('as a name: %s', async (what, text) => {
    const { isMade, row } = await created(`"name":${JSON.stringify(text)}`)
    const fits = [...text].length <= TOKEN_NAME_LENGTH_MAX && !UNREADABLE_TEXTS.has(what)
    expect(isMade).toBe(fits)
    if (isMade) expect(row?.name).toBe(text)
  })

  test.each(textsAround(TOKEN_NAME_LENGTH_MAX))('as a name: %s', async (_what, text, fits) => {
    expect((await created(`"name":${JSON.stringify(text)}`)).isMade).toBe(fits)
  })

  test.each(TEXTS)('as models: %s', async (what, text) => {
    const { isMade, row } = await created(`"models":${JSON.stringify(text)}`)
    const isStorable = !['the character 0', 'half a character', 'a mebibyte'].includes(what)
    expect(isMade).toBe(isStorable)
    if (isMade) expect(row?.models).toBe(text)
  })

  test.each(SUBNETS)('as networks: %s', async (text, isFine) => {
    const { isMade, row } = await created(`"subnet":${JSON.stringify(text)}`)
    expect(isMade).toBe(isFine)
    if (isMade) expect(row?.subnet).toBe(text)
  })

  test.each(NUMBERS)('as quota: %s', async (_what, json, value) => {
    const { isMade, row } = await created(`"remain_quota":${json}`)
    // What One API's unlimited tokens carry.
    const fits = value !== null && value >= -1 && value <= QUOTA_MAX
    expect(isMade).toBe(fits)
    if (isMade) expect(row?.remain_quota).toBe(value === 0 ? 0 : value)
  })

  test.each(EXPIRIES)('as expiry: %s', async (_what, json, isFine) => {
    const { isMade, row } = await created(`"expired_time":${json}`)
    expect(isMade).toBe(isFine)
    if (isMade) expect(row?.expired_time).toBe(json === '0' ? -1 : Number(json))
  })

  test.each(ODD_MEMBERS)('beside its members: %s', async (what, members) => {
    const { isMade, row } = await created(`"remain_quota":5,${members}`)
    expect(isMade).toBe(!TOO_MUCH.has(what))
    const token = { name: 'hostile', remain_quota: 5, user_id: owner.id, status: 1 }
    if (isMade) expect(row).toMatchObject(token)
  })

  describe.each([
    ['POST', '/api/token/'],
    ['PUT', '/api/token/'],
    ['PUT', '/api/token/?status_only=true'],
  ])('%s %s', (method, path) => {
    test.each(NO_OBJECTS)('with %s for a body', async (_what, body) => {
      const before = await stored()
      const isMade = await expectPlainAnswer((headers) => call(method, path, body, headers))
      expect(isMade).toBe(false)
      expect(await stored()).toEqual(before)
    })
  })

  describe('a token that is there', () => {
    test.each(NUMBERS)('is given as status: %s', async (_what, json, value) => {
      const token = await aToken(server, owner.id, { remain_quota: 9 })
      const path = '/api/token/?status_only=true'
      const body = `{"id":${token.id},"status":${json},"name":"x","remain_quota":1e9}`
      const isSet = await expectPlainAnswer((headers) => call('PUT', path, body, headers))
      expect(isSet).toBe(value !== null)
      expect((await stored())[0]).toEqual({ ...token, status: value ?? 1 })
    })

    test.each(NUMBERS)('is named by the id: %s', async (_what, json, value) => {
      const before = await stored()
      const body = `{"id":${json},"name":"x"}`
      const mine = before.some(({ id }) => id === value)
      if (mine) return
      const isDone = await expectPlainAnswer((headers) => call('PUT', '/api/token/', body, headers))
      expect(isDone).toBe(false)
      expect(await stored()).toEqual(before)
    })

    test('of many switched at once keeps every point', async () => {
      const token = await aToken(server, owner.id, { remain_quota: 1000 })
      const path = '/api/token/?status_only=1'
      await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          call('PUT', path, { id: token.id, status: (at % 2) + 1 }),
        ),
      )
      expect((await stored())[0]).toMatchObject({ remain_quota: 1000, used_quota: 0 })
    })
  })
})
