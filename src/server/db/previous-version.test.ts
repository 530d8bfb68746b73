import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFastUpstream, type FastUpstream } from '../../../tools/fake-upstream/fast-upstream.ts'
import { reconcile } from '../ledger/reconcile.ts'
import { PREVIOUS_BY_ENGINE, type PreviousDatabase } from '../test/previous-databases.ts'
import { ROOT_PASSWORD, startTestServer, type TestServer } from '../test/test-app.ts'
import { openBare, type Queries } from './database.ts'
import { schemaAge } from './migrate.ts'

type Row = Record<string, unknown>

const TABLES = ['logs', 'ledger', 'channels', 'users', 'tokens'] as const
/** Columns that move when calls that were open are closed. */
const MOVING = new Set(['quota', 'used_quota', 'request_count', 'remain_quota', 'accessed_time'])

/** Rows by table, without what may move. */
async function writtenRows(db: Queries): Promise<Record<string, Row[]>> {
  const rowsOf = async (table: (typeof TABLES)[number]) => {
    const { rows } = await sql<Row>`SELECT * FROM ${sql.table(table)} ORDER BY id`.execute(db)
    const isKept = (column: string): boolean => table === 'logs' || !MOVING.has(column)
    return rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([column]) => isKept(column))),
    )
  }
  return Object.fromEntries(
    await Promise.all(TABLES.map(async (table) => [table, await rowsOf(table)])),
  )
}

describe.each(PREVIOUS_BY_ENGINE)('a database of the previous version (%s)', (_engine, open) => {
  let previous: PreviousDatabase
  let server: TestServer
  let upstream: FastUpstream
  let openCalls: number
  let rowsBefore: Record<string, Row[]>
  beforeAll(async () => {
    previous = await open()
    const before = await openBare(previous.location)
    expect(await schemaAge(before.db, before.engine)).toBe('older')
    openCalls = (await before.db.selectFrom('reservations').select('request_id').execute()).length
    rowsBefore = await writtenRows(before.db)
    await before.close()
    upstream = await startFastUpstream()
    server = await startTestServer(() => Promise.resolve(previous.location))
  })
  afterAll(async () => {
    await server.close()
    await upstream.close()
    await previous.remove()
  })

  test('every row is there, with unchanged values', async () => {
    const rowsAfter = await writtenRows(server.database.read)
    for (const [table, rows] of Object.entries(rowsBefore)) {
      expect(rows.length).toBeGreaterThan(0)
      // Calls that are closed add rows.
      const after = rowsAfter[table]?.slice(0, rows.length) ?? []
      const kept = rows.map((row, at) =>
        Object.fromEntries(Object.keys(row).map((column) => [column, after[at]?.[column]])),
      )
      expect({ [table]: kept }).toEqual({ [table]: rows })
    }
  })

  const signIn = (username: string, password: string) =>
    server.call('POST', '/api/user/login', { body: { username, password } })

  test('calls that were open when it was killed are closed, and the books balance', async () => {
    expect(openCalls).toBeGreaterThan(0)
    const { read } = server.database
    expect(await read.selectFrom('reservations').select('request_id').execute()).toEqual([])
    expect(await reconcile(server.database)).toMatchObject({ count: 0 })
  })

  test('its users can sign in, and its tokens can call models', async () => {
    expect((await signIn('ada', 'password1')).json).toMatchObject({ success: true })
    const { headers } = await signIn('root', ROOT_PASSWORD)
    const cookie = [headers['set-cookie'] ?? []]
      .flat()
      .map((set) => set.split(';')[0])
      .join('; ')
    const channel = { id: 1, base_url: upstream.url, key: 'sk-upstream' }
    const changed = await server.call('PUT', '/api/channel/', { as: { cookie }, body: channel })
    expect(changed.json).toMatchObject({ success: true })
    const tokens = await server.database.read
      .selectFrom('tokens')
      .select('key')
      .where('name', 'in', ['limited', 'unlimited'])
      .execute()
    expect(tokens).toHaveLength(6)
    for (const { key } of tokens) {
      const answer = await server.call('POST', '/v1/chat/completions', {
        headers: { authorization: `Bearer sk-${key}` },
        body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] },
      })
      expect([answer.status, answer.message]).toEqual([200, 'undefined'])
    }
    expect(await reconcile(server.database)).toMatchObject({ count: 0 })
  })
})
