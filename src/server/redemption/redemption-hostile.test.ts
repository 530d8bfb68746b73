import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { redemptionApi } from '../../contract/redemption-api.ts'
import { REDEMPTION_NAME_LENGTH_MAX } from '../../contract/redemption.ts'
import { NO_OBJECTS, ODD_MEMBERS, TOO_MUCH } from '../test/corpora/bodies.ts'
import { NUMBERS, STORED_NUMBERS } from '../test/corpora/numbers.ts'
import { STORED_TEXTS, TEXTS, textsAround, UNREADABLE_TEXTS } from '../test/corpora/texts.ts'
import { expectPlainAnswer } from '../test/expect-plain-answer.ts'
import { anAdmin, aRedemption, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { acceptedBody } from '../test/parse-call.ts'
import { startTestServer, type CallInput, type TestServer } from '../test/test-app.ts'
import { redemptionFieldRefusal, transitionRefusal } from './redemption.ts'

const isName = (what: string, text: string): boolean =>
  text.trim() !== '' &&
  [...text].length <= REDEMPTION_NAME_LENGTH_MAX &&
  !UNREADABLE_TEXTS.has(what)
const isQuota = (value: number | null): value is number =>
  value !== null && value >= 0 && value <= QUOTA_MAX
const isCount = (value: number | null): value is number =>
  value !== null && value >= 1 && value <= 100

describe('what a code form takes, by its shape and its rules', () => {
  /** Whether it is taken. */
  const accepted = async (members: string) =>
    (await acceptedBody(
      redemptionApi.create,
      `{"name":"hostile","quota":5,"count":1,${members}}`,
      ({ name = '', quota = 0, count = 0 }) => redemptionFieldRefusal({ name, quota, count }),
    )) !== null

  test('a name that shows all that is in it', async () => {
    await forEachValue(TEXTS, async (what, text) => {
      expect(await accepted(`"name":${JSON.stringify(text)}`)).toBe(isName(what, text))
    })
    await forEachValue(textsAround(REDEMPTION_NAME_LENGTH_MAX), async (_what, text, fits) => {
      expect(await accepted(`"name":${JSON.stringify(text)}`)).toBe(fits)
    })
  })

  test('a quota that the books can hold, and a count that one call can make', () =>
    forEachValue(NUMBERS, async (_what, json, value) => {
      expect(await accepted(`"quota":${json}`)).toBe(isQuota(value))
      expect(await accepted(`"count":${json}`)).toBe(isCount(value))
    }))

  test('a status that people set', () =>
    forEachValue(NUMBERS, async (_what, json, value) => {
      const body = await acceptedBody(
        redemptionApi.setStatus,
        `{"id":1,"status":${json}}`,
        ({ status }) => transitionRefusal(1, Number(status)),
      )
      // 2 is disabled.
      expect(body !== null).toBe(value === 1 || value === 2)
    }))
})

/**
 * Codes are money: for every input either all codes are created or none, and no code is used twice.
 */
forEachDatabase('hostile input to redemption codes', (open) => {
  let server: TestServer
  let admin: TestUser
  let user: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())
  // A user who sends twenty wrong codes waits, with a good code too.
  beforeEach(async () => {
    user = await aUser(server)
  })
  afterEach(() => {
    expect(server.faults.splice(0)).toEqual([])
  })

  const call = (method: string, path: string, body: unknown, more: CallInput = {}) =>
    server.call(method, path, { as: admin, body, ...more })
  const stored = async () =>
    server.database.read.selectFrom('redemptions').selectAll().orderBy('id', 'desc').execute()

  async function created(members: string) {
    const before = await stored()
    const body = `{"name":"hostile","quota":5,"count":1,${members}}`
    const isMade = await expectPlainAnswer((headers) =>
      call('POST', '/api/redemption/', body, { headers }),
    )
    const after = await stored()
    expect(after.slice(after.length - before.length)).toEqual(before)
    return { isMade, rows: after.slice(0, after.length - before.length) }
  }

  test('any name', () =>
    forEachValue(STORED_TEXTS, async (what, text) => {
      const { isMade, rows } = await created(`"name":${JSON.stringify(text)}`)
      expect(isMade).toBe(isName(what, text))
      expect(rows.map(({ name }) => name)).toEqual(isMade ? [text] : [])
    }))

  test('any quota', () =>
    forEachValue(STORED_NUMBERS, async (_what, json, value) => {
      const { isMade, rows } = await created(`"quota":${json}`)
      expect(isMade).toBe(isQuota(value))
      expect(rows.map(({ quota }) => quota)).toEqual(isQuota(value) ? [value || 100] : [])
    }))

  test('any count', () =>
    forEachValue(STORED_NUMBERS, async (_what, json, value) => {
      const { isMade, rows } = await created(`"count":${json}`)
      expect(isMade).toBe(isCount(value))
      expect(rows).toHaveLength(isCount(value) ? value : 0)
    }))

  test('unknown members change nothing, or are too many', () =>
    forEachValue(ODD_MEMBERS, async (what, members) => {
      const { isMade, rows } = await created(members)
      const code = { name: 'hostile', quota: 5, status: 1, user_id: admin.id }
      expect(isMade).toBe(!TOO_MUCH.has(what))
      expect(rows).toHaveLength(isMade ? 1 : 0)
      expect(rows).toMatchObject(isMade ? [code] : [])
    }))

  test.each([
    ['POST', '/api/redemption/'],
    ['PUT', '/api/redemption/'],
    ['PUT', '/api/redemption/?status_only=true'],
    ['POST', '/api/user/topup'],
  ])('%s %s takes objects only', async (method, path) => {
    const before = await stored()
    await forEachValue(NO_OBJECTS, async (_what, body) => {
      expect(await expectPlainAnswer((headers) => call(method, path, body, { headers }))).toBe(
        false,
      )
    })
    expect(await stored()).toEqual(before)
  })

  test('any status', () =>
    forEachValue(STORED_NUMBERS, async (_what, json, value) => {
      const { id } = await aRedemption(server, admin.id)
      const path = '/api/redemption/?status_only=true'
      const body = `{"id":${id},"status":${json},"quota":1e9}`
      const isSet = await expectPlainAnswer((headers) => call('PUT', path, body, { headers }))
      expect(isSet).toBe(value === 1)
      expect((await stored())[0]).toMatchObject({ id, status: 1, quota: 100 })
    }))

  describe('redeeming', () => {
    test('a text that is no code', () =>
      forEachValue(STORED_TEXTS, async (_what, text) => {
        user = await aUser(server)
        const body = JSON.stringify({ key: text })
        const isRedeemed = await expectPlainAnswer((headers) =>
          call('POST', '/api/user/topup', body, { headers, as: user }),
        )
        expect(isRedeemed).toBe(false)
      }))

    test('a similar text is not a code: other cases, digits that look alike, parts, patterns', async () => {
      const { key } = await aRedemption(server, admin.id)
      const near = [
        key.toUpperCase(),
        key.slice(0, -1),
        `${key}0`,
        key.replace(/\d/, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
        `${key.slice(0, 31)}_`,
        `${key.slice(0, 31)}%`,
        `${key}' --`,
        key.split('').join(' '),
      ]
      for (const text of near.filter((candidate) => candidate !== key)) {
        const body = { key: text }
        const isRedeemed = await expectPlainAnswer((headers) =>
          call('POST', '/api/user/topup', body, { headers, as: user }),
        )
        expect([text, isRedeemed]).toEqual([text, false])
      }
      // White space that was copied with the code is ignored.
      const answer = await call('POST', '/api/user/topup', { key: ` ${key}\n` }, { as: user })
      expect(answer.data).toBe(100)
    })

    test('a code that is deleted while many redeem it is used once or never', async () => {
      const before = await balance()
      const { id, key } = await aRedemption(server, admin.id, { quota: 70 })
      const redeeming = Array.from({ length: 10 }, () =>
        call('POST', '/api/user/topup', { key }, { as: user }),
      )
      await Promise.all([call('DELETE', `/api/redemption/${id}`, {}), ...redeeming])
      const redeemed = (await Promise.all(redeeming)).filter(({ json }) => json['success'] === true)
      expect(redeemed.length).toBeLessThanOrEqual(1)
      expect((await balance()) - before).toBe(70 * redeemed.length)
    })
  })

  async function balance(): Promise<number> {
    const { quota } = await server.database.read
      .selectFrom('users')
      .select('quota')
      .where('id', '=', user.id)
      .executeTakeFirstOrThrow()
    return quota ?? 0
  }
})
