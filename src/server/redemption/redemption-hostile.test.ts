import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { REDEMPTION_NAME_LENGTH_MAX } from '../../contract/redemption.ts'
import { NO_OBJECTS, ODD_MEMBERS, TOO_MUCH } from '../test/corpora/bodies.ts'
import { NUMBERS } from '../test/corpora/numbers.ts'
import { TEXTS, textsAround, UNREADABLE_TEXTS } from '../test/corpora/texts.ts'
import { expectPlainAnswer } from '../test/expect-plain-answer.ts'
import { anAdmin, aRedemption, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type CallInput, type TestServer } from '../test/test-app.ts'

/** Codes are money: whatever is sent, all of them are made or none, and none is used twice. */
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

  test.each(TEXTS)('as a name: %s', async (what, text) => {
    const { isMade, rows } = await created(`"name":${JSON.stringify(text)}`)
    const fits =
      text.trim() !== '' &&
      [...text].length <= REDEMPTION_NAME_LENGTH_MAX &&
      !UNREADABLE_TEXTS.has(what)
    expect(isMade).toBe(fits)
    expect(rows.map(({ name }) => name)).toEqual(fits ? [text] : [])
  })

  test.each(textsAround(REDEMPTION_NAME_LENGTH_MAX))('as a name: %s', async (_what, text, fits) => {
    expect((await created(`"name":${JSON.stringify(text)}`)).isMade).toBe(fits)
  })

  test.each(NUMBERS)('as quota: %s', async (_what, json, value) => {
    const { isMade, rows } = await created(`"quota":${json}`)
    const fits = value !== null && value >= 0 && value <= QUOTA_MAX
    expect(isMade).toBe(fits)
    expect(rows.map(({ quota }) => quota)).toEqual(fits ? [value || 100] : [])
  })

  test.each(NUMBERS)('as count: %s', async (_what, json, value) => {
    const { isMade, rows } = await created(`"count":${json}`)
    const fits = value !== null && value >= 1 && value <= 100
    expect(isMade).toBe(fits)
    expect(rows).toHaveLength(fits ? value : 0)
  })

  test.each(ODD_MEMBERS)('beside its members: %s', async (what, members) => {
    const { isMade, rows } = await created(members)
    const code = { name: 'hostile', quota: 5, status: 1, user_id: admin.id }
    expect(isMade).toBe(!TOO_MUCH.has(what))
    expect(rows).toHaveLength(isMade ? 1 : 0)
    expect(rows).toMatchObject(isMade ? [code] : [])
  })

  describe.each([
    ['POST', '/api/redemption/'],
    ['PUT', '/api/redemption/'],
    ['PUT', '/api/redemption/?status_only=true'],
    ['POST', '/api/user/topup'],
  ])('%s %s', (method, path) => {
    test.each(NO_OBJECTS)('with %s for a body', async (_what, body) => {
      const before = await stored()
      expect(await expectPlainAnswer((headers) => call(method, path, body, { headers }))).toBe(
        false,
      )
      expect(await stored()).toEqual(before)
    })
  })

  test.each(NUMBERS)('as status: %s', async (_what, json, value) => {
    const { id } = await aRedemption(server, admin.id)
    const path = '/api/redemption/?status_only=true'
    const body = `{"id":${id},"status":${json},"quota":1e9}`
    const isSet = await expectPlainAnswer((headers) => call('PUT', path, body, { headers }))
    expect(isSet).toBe(value === 1)
    expect((await stored())[0]).toMatchObject({ id, status: 1, quota: 100 })
  })

  describe('redeeming', () => {
    test.each(TEXTS)('%s is no code', async (_what, text) => {
      const body = JSON.stringify({ key: text })
      const isRedeemed = await expectPlainAnswer((headers) =>
        call('POST', '/api/user/topup', body, { headers, as: user }),
      )
      expect(isRedeemed).toBe(false)
    })

    test('nearly a code is none: other cases, digits that look alike, parts, patterns', async () => {
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
      // Copied with what stands around it, it is the code.
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
