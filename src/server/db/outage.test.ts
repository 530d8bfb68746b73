import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { errors, errorText } from '../../contract/errors.ts'
import { anAdmin } from '../test/factories.ts'
import { forEachDatabase, type DatabaseLocation } from '../test/for-each-database.ts'
import {
  aClient,
  aServedModel,
  chatBody,
  post,
  startRelay,
  type RelaySetup,
} from '../test/relay-setup.ts'

/** Limits the size of the SQLite file, or locks the PostgreSQL database. */
async function breakDatabase(
  setup: RelaySetup,
  location: DatabaseLocation,
): Promise<{ mend(): Promise<unknown> }> {
  if (location.engine === 'sqlite') {
    const allow = (pages: number) =>
      sql.raw(`PRAGMA max_page_count = ${pages}`).execute(setup.database.write)
    await allow(1)
    return { mend: () => allow(1_000_000) }
  }
  const { pathname } = new URL(location.url)
  const name = pathname.slice(1)
  const maintenance = new pg.Client({ connectionString: location.url.replace(name, 'postgres') })
  await maintenance.connect()
  await maintenance.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`)
  await maintenance.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
    [name],
  )
  return {
    async mend() {
      await maintenance.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS true`)
      await maintenance.end()
    },
  }
}

forEachDatabase('a database outage', (open) => {
  let setup: RelaySetup
  let location: DatabaseLocation
  beforeAll(async () => {
    location = await open()
    setup = await startRelay(() => Promise.resolve(location))
  })
  afterAll(() => setup.close())

  test('is reported as such, and requests succeed after it ends', async () => {
    const client = await aClient(setup)
    const model = await aServedModel(setup)
    const admin = await anAdmin(setup)
    // Larger than the rest of the last page.
    const remark = { body: { name: 'a token', models: 'm'.repeat(30_000) }, as: admin }
    const create = () => setup.call('POST', '/api/token/', remark)

    const { mend } = await breakDatabase(setup, location)
    const refused = await create()
    const { status, code, retryAfter } = errors.database_unavailable
    const soon = String(retryAfter)
    expect([refused.status, refused.message, refused.headers['retry-after']]).toEqual([
      status,
      errorText('database_unavailable', 'zh', {}),
      soon,
    ])
    if (location.engine === 'postgres') {
      const unserved = await post(setup, client, chatBody(model))
      expect([unserved.status, unserved.json['error'], unserved.headers['retry-after']]).toEqual([
        status,
        expect.objectContaining({ code }),
        soon,
      ])
    }
    expect(setup.faults.splice(0).join()).toContain('a call failed')

    await mend()
    expect((await create()).json).toMatchObject({ success: true })
    expect((await post(setup, client, chatBody(model))).status).toBe(200)
    setup.faults.length = 0
  })
})
