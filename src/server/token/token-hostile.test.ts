import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { tokenApi } from '../../contract/token-api.ts'
import { TOKEN_NAME_LENGTH_MAX } from '../../contract/token.ts'
import { NO_OBJECTS, ODD_MEMBERS, TOO_MUCH } from '../test/corpora/bodies.ts'
import { NUMBERS, STORED_NUMBERS } from '../test/corpora/numbers.ts'
import { SUBNETS } from '../test/corpora/subnets.ts'
import { STORED_TEXTS, TEXTS, textsAround, UNREADABLE_TEXTS } from '../test/corpora/texts.ts'
import { EXPIRIES } from '../test/corpora/times.ts'
import { expectPlainAnswer } from '../test/expect-plain-answer.ts'
import { aToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase, onSqlite } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { acceptedBody } from '../test/parse-call.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { tokenFieldRefusal } from './token.ts'

const isName = (what: string, text: string): boolean =>
  [...text].length <= TOKEN_NAME_LENGTH_MAX && !UNREADABLE_TEXTS.has(what)
const UNSTORABLE: ReadonlySet<string> = new Set([
  'the character 0',
  'half a character',
  'a mebibyte',
])
// The quota of One API's unlimited tokens is negative.
const isQuota = (value: number | null): value is number =>
  value !== null && value >= -1 && value <= QUOTA_MAX

describe('what a token form takes, by its shape and its rules', () => {
  const NOTHING = { name: '', expired_time: 0, remain_quota: 0, subnet: '' }
  /** Expected stored value, or null. */
  const accepted = (members: string) =>
    acceptedBody(tokenApi.create, `{"name":"hostile",${members}}`, (body) =>
      tokenFieldRefusal({
        name: body.name ?? NOTHING.name,
        expired_time: body.expired_time ?? NOTHING.expired_time,
        remain_quota: body.remain_quota ?? NOTHING.remain_quota,
        subnet: body.subnet ?? NOTHING.subnet,
      }),
    )

  test('a name that shows all that is in it, and is not too long', async () => {
    await forEachValue(TEXTS, async (what, text) => {
      const body = await accepted(`"name":${JSON.stringify(text)}`)
      expect(body?.name).toBe(isName(what, text) ? text : undefined)
    })
    await forEachValue(textsAround(TOKEN_NAME_LENGTH_MAX), async (_what, text, fits) => {
      expect((await accepted(`"name":${JSON.stringify(text)}`)) !== null).toBe(fits)
    })
  })

  test('models of every name', () =>
    forEachValue(TEXTS, async (what, text) => {
      const body = await accepted(`"models":${JSON.stringify(text)}`)
      expect(body?.models).toBe(UNSTORABLE.has(what) ? undefined : text)
    }))

  test('networks that parsers read in one way', () =>
    forEachValue(SUBNETS, async (text, isFine) => {
      const body = await accepted(`"subnet":${JSON.stringify(text)}`)
      expect(body?.subnet).toBe(isFine ? text : undefined)
    }))

  test('a quota that the books can hold', () =>
    forEachValue(NUMBERS, async (_what, json, value) => {
      const body = await accepted(`"remain_quota":${json}`)
      expect(body === null ? null : Number(body.remain_quota) + 0).toBe(
        isQuota(value) ? value : null,
      )
    }))

  test('an expiry in whole seconds', () =>
    forEachValue(EXPIRIES, async (_what, json, isFine) => {
      const body = await accepted(`"expired_time":${json}`)
      expect(body?.expired_time).toBe(isFine ? Number(json) : undefined)
    }))

  test('no status that is no whole number', () =>
    forEachValue(NUMBERS, async (_what, json, value) => {
      const body = await acceptedBody(tokenApi.setStatus, `{"id":1,"status":${json}}`, () => null)
      expect(body === null ? null : body.status + 0).toBe(value)
    }))
})

/** Values that databases may treat differently: stored as sent, or rejected as a whole. */
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

  test('any name', () =>
    forEachValue(STORED_TEXTS, async (what, text) => {
      const { isMade, row } = await created(`"name":${JSON.stringify(text)}`)
      expect(isMade).toBe(isName(what, text))
      if (isMade) expect(row?.name).toBe(text)
    }))

  test('any models', () =>
    forEachValue(STORED_TEXTS, async (what, text) => {
      const { isMade, row } = await created(`"models":${JSON.stringify(text)}`)
      expect(isMade).toBe(!UNSTORABLE.has(what))
      if (isMade) expect(row?.models).toBe(text)
    }))

  test('many networks', () =>
    forEachValue(SUBNETS.slice(-4), async (text, isFine) => {
      const { isMade, row } = await created(`"subnet":${JSON.stringify(text)}`)
      expect(isMade).toBe(isFine)
      if (isMade) expect(row?.subnet).toBe(text)
    }))

  test('any quota', () =>
    forEachValue(STORED_NUMBERS, async (_what, json, value) => {
      const { isMade, row } = await created(`"remain_quota":${json}`)
      expect(isMade).toBe(isQuota(value))
      if (isMade) expect(row?.remain_quota).toBe(value === 0 ? 0 : value)
    }))

  test('any expiry', () =>
    forEachValue(EXPIRIES, async (_what, json, isFine) => {
      const { isMade, row } = await created(`"expired_time":${json}`)
      expect(isMade).toBe(isFine)
      if (isMade) expect(row?.expired_time).toBe(json === '0' ? -1 : Number(json))
    }))

  describe('a token that is there', () => {
    test('is given any status', () =>
      forEachValue(STORED_NUMBERS, async (_what, json, value) => {
        const token = await aToken(server, owner.id, { remain_quota: 9 })
        const [before] = await stored()
        const path = '/api/token/?status_only=true'
        const body = `{"id":${token.id},"status":${json},"name":"x","remain_quota":1e9}`
        const isSet = await expectPlainAnswer((headers) => call('PUT', path, body, headers))
        expect(isSet).toBe(value !== null)
        expect((await stored())[0]).toEqual({ ...before, status: value ?? 1 })
      }))

    test('is named by its own id alone', () =>
      forEachValue(STORED_NUMBERS, async (_what, json, value) => {
        const before = await stored()
        if (before.some(({ id }) => id === value)) return
        const body = `{"id":${json},"name":"x"}`
        const isDone = await expectPlainAnswer((headers) =>
          call('PUT', '/api/token/', body, headers),
        )
        expect(isDone).toBe(false)
        expect(await stored()).toEqual(before)
      }))

    test('of many switched concurrently keeps every point', async () => {
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

/** Bodies as bytes: what is made of them does not depend on what is in them. */
onSqlite('hostile bodies for tokens', (open) => {
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

  const stored = () =>
    server.database.read.selectFrom('tokens').selectAll().orderBy('id', 'desc').execute()
  const isDone = (method: string, path: string, body: string | Buffer) =>
    expectPlainAnswer((headers) => server.call(method, path, { as: owner, body, headers }))

  test('unknown members change nothing, or are too many', () =>
    forEachValue(ODD_MEMBERS, async (what, members) => {
      const body = `{"name":"hostile","remain_quota":5,${members}}`
      expect(await isDone('POST', '/api/token/', body)).toBe(!TOO_MUCH.has(what))
      const token = { name: 'hostile', remain_quota: 5, user_id: owner.id, status: 1 }
      if (!TOO_MUCH.has(what)) expect((await stored())[0]).toMatchObject(token)
    }))

  test.each([
    ['POST', '/api/token/'],
    ['PUT', '/api/token/'],
    ['PUT', '/api/token/?status_only=true'],
  ])('%s %s takes objects only', async (method, path) => {
    const before = await stored()
    await forEachValue(NO_OBJECTS, async (_what, body) => {
      expect(await isDone(method, path, body)).toBe(false)
    })
    expect(await stored()).toEqual(before)
  })
})
