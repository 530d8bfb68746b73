import { afterAll, beforeAll, expect, test } from 'vitest'
import { errorText } from '../../../contract/errors.ts'
import { anAdmin, aSettledCall, aToken, aUser, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'

const HOUR = 3600
const DAY = 86_400
const MANY = 205
const HEAD =
  '"user_id","username","model_name","requests","prompt_tokens","completion_tokens","quota","cost_usd"'

forEachDatabase('usage file', (open) => {
  let server: TestServer
  let admin: TestUser
  let alice: TestUser
  let bob: TestUser
  /** A midnight in UTC, ten days ago. */
  let first: number

  async function spend(
    user: TestUser,
    call: { at: number; model?: string; cost: number; calls?: number },
  ): Promise<void> {
    const { id: tokenId } = await aToken(server, user.id, { unlimited_quota: true })
    for (let count = 0; count < (call.calls ?? 1); count += 1) {
      await aSettledCall(server, {
        userId: user.id,
        tokenId,
        username: user.username,
        nowSeconds: call.at,
        cost: call.cost,
        promptTokens: 10,
        completionTokens: 3,
        modelName: call.model ?? 'gpt-4o-mini',
      })
    }
  }

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
    const now = server.clock.nowSeconds()
    first = now - (now % DAY) - 10 * DAY
    alice = await aUser(server, { username: 'alice', quota: 1_000_000 })
    bob = await aUser(server, { username: '=bob', quota: 1_000_000 })
    await spend(alice, { at: first + 2 * HOUR, cost: 100, calls: 2 })
    await spend(alice, { at: first + DAY + 17 * HOUR, cost: 7 })
    await spend(alice, { at: first + DAY, model: '@SUM(1)', cost: 300 })
    await spend(bob, { at: first + 2 * DAY + 17 * HOUR, cost: 5 })
  })
  afterAll(() => server.close())

  const get = (from: number, until: number, as: TestUser = admin) =>
    server.call('GET', `/api/dashboard/export?start_timestamp=${from}&end_timestamp=${until}`, {
      as,
    })
  const linesOf = async (from: number, until: number): Promise<string[]> => {
    const { text, status } = await get(from, until)
    expect(status).toBe(200)
    const [head, ...lines] = text.split('\r\n')
    expect([head, lines.pop()]).toEqual([HEAD, ''])
    return lines
  }
  const ofAlice = (...cells: string[]) =>
    `"${alice.id}","alice",${cells.map((cell) => `"${cell}"`).join(',')}`
  const ofBob = () => `"${bob.id}","'=bob","gpt-4o-mini","1","10","3","5","0.00001"`
  const totals = (...cells: number[]) =>
    `"total","","",${cells.map((cell) => `"${cell}"`).join(',')}`

  test('lists each user by model, highest cost first, with a line of totals', async () => {
    const all = [
      ofAlice("'@SUM(1)", '1', '10', '3', '300', '0.0006'),
      ofAlice('gpt-4o-mini', '3', '30', '9', '207', '0.000414'),
      ofBob(),
      totals(5, 50, 15, 512, 0.001024),
    ]
    expect(await linesOf(first, first + 3 * DAY)).toEqual(all)
    const { headers } = await get(first, first + DAY)
    expect(headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="usage.csv"',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    const { id } = await server.database.read
      .selectFrom('audit')
      .select('id')
      .where('action', '=', 'usage.export')
      .where('actor_id', '=', admin.id)
      .executeTakeFirstOrThrow()
    expect(id).toBeGreaterThan(0)
    // Reading the file as text removes the byte order mark.
    const file = await fetch(
      `${server.url}/api/dashboard/export?start_timestamp=1&end_timestamp=9`,
      {
        headers: { cookie: admin.cookie },
      },
    )
    expect(Buffer.from(await file.arrayBuffer()).toString()).toBe(
      `\uFEFF${HEAD}\r\n${totals(0, 0, 0, 0, 0)}\r\n`,
    )
  })

  test('days are the reader’s: the hours at both ends are counted separately', async () => {
    // In Shanghai, where midnight is 16:00 UTC.
    const midnight = first - 8 * HOUR
    expect(await linesOf(midnight, midnight + DAY)).toEqual([
      ofAlice('gpt-4o-mini', '2', '20', '6', '200', '0.0004'),
      totals(2, 20, 6, 200, 0.0004),
    ])
    expect(await linesOf(midnight + 2 * DAY, midnight + 3 * DAY)).toEqual([
      ofAlice('gpt-4o-mini', '1', '10', '3', '7', '0.000014'),
      totals(1, 10, 3, 7, 0.000014),
    ])
  })

  test('deleted users keep their line, and renamed ones appear with the new name', async () => {
    const set = (username: string) =>
      server.database.write
        .updateTable('users')
        .set({ username })
        .where('id', '=', bob.id)
        .execute()
    await set('robert')
    expect(await linesOf(first + 2 * DAY, first + 3 * DAY)).toEqual([
      ofBob().replace("'=bob", 'robert'),
      totals(1, 10, 3, 5, 0.00001),
    ])
    await set('=bob')
    const gone = await aUser(server, { username: 'gone', quota: 100 })
    await spend(gone, { at: first + 5 * DAY, cost: 1 })
    await server.call('DELETE', `/api/user/${gone.id}`, { as: admin })
    expect((await linesOf(first + 5 * DAY, first + 6 * DAY))[0]).toMatch(`"${gone.id}","gone",`)
  })

  test('contains all users if there are more than one piece holds', async () => {
    const at = first + 6 * DAY
    await Promise.all(
      Array.from({ length: MANY }, async () =>
        spend(await aUser(server, { quota: 9 }), { at, cost: 2 }),
      ),
    )
    const lines = await linesOf(at, at + DAY)
    expect(lines).toHaveLength(MANY + 1)
    const ids = lines.slice(0, -1).map((line) => Number(line.split('"')[1]))
    expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other))
    expect(lines.at(-1)).toBe(totals(MANY, 10 * MANY, 3 * MANY, 2 * MANY, MANY / 250_000))
  })

  test.each(['', 'start_timestamp=5&end_timestamp=5', 'start_timestamp=1&end_timestamp=99999999'])(
    'the range %j is rejected with a status',
    async (query) => {
      const answer = await server.call('GET', `/api/dashboard/export?${query}`, { as: admin })
      expect(answer).toMatchObject({
        status: 400,
        json: {
          success: false,
          message: errorText('dashboard_range_invalid', 'zh', { days: 366 }),
        },
      })
    },
  )

  test('ordinary users are rejected', async () => {
    const answer = await get(first, first + DAY, alice)
    expect(answer).toMatchObject({
      status: 403,
      json: { success: false, message: errorText('role_too_low', 'zh') },
    })
  })

  // Runs last, because it deletes rows that the others read.
  test('after log rows are deleted their days are summed up', async () => {
    const whole = await linesOf(first, first + 3 * DAY)
    const midnight = first - 8 * HOUR
    const path = `/api/log/?target_timestamp=${first + 8 * DAY}`
    expect((await server.call('DELETE', path, { as: admin })).json['success']).toBe(true)
    expect(await linesOf(first, first + 3 * DAY)).toEqual(whole)
    // A day that can no longer be split belongs to the range with most of it.
    expect((await linesOf(midnight + DAY, midnight + 2 * DAY)).at(-1)).toBe(
      totals(2, 20, 6, 307, 0.000614),
    )
  })
})
