import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../commands/open-database.ts'
import { openBare } from '../../db/database.ts'
import { reconcile } from '../../ledger/reconcile.ts'
import { oneApiRows, postgresFixture, type PlainDatabase } from '../../test/one-api-databases.ts'
import { startTestServer } from '../../test/test-app.ts'
import { reportAdoption } from '../adopt-report.ts'

const typesOf = (database: PlainDatabase, names: readonly string[]) =>
  database.rows(`SELECT table_name || '.' || column_name || ' ' || data_type AS found
    FROM information_schema.columns WHERE table_schema = 'public'
    AND table_name || '.' || column_name IN (${names.map((name) => `'${name}'`).join(', ')})
    ORDER BY 1`)

async function openSaying({ location }: PlainDatabase): Promise<string> {
  const said: string[] = []
  const opened = await openDatabase(location, (line) => said.push(line))
  await opened.close()
  return said.join('\n')
}

/** With figures that fit into 32 bits. */
async function smallFixture(): Promise<PlainDatabase> {
  const database = await postgresFixture()
  await database.run(`UPDATE users SET quota = 1000000 WHERE quota > 1000000;
    UPDATE channels SET balance = 7, config = NULL`)
  return database
}

/** As New API declares them, and as programs make them that move a database from MySQL. */
const NARROW = `
  ALTER TABLE users ALTER quota TYPE integer, ALTER used_quota TYPE integer,
    ALTER request_count TYPE integer, ALTER email TYPE varchar(50), ALTER id TYPE integer;
  ALTER SEQUENCE users_id_seq AS integer;
  ALTER TABLE tokens ALTER unlimited_quota DROP DEFAULT,
    ALTER unlimited_quota TYPE smallint USING unlimited_quota::int,
    ALTER unlimited_quota SET DEFAULT 0,
    ALTER remain_quota TYPE numeric(22, 2), ALTER used_quota TYPE double precision;
  ALTER TABLE abilities ALTER enabled TYPE smallint USING enabled::int;
  ALTER TABLE channels ALTER balance TYPE integer, ALTER config TYPE json USING NULL;
  ALTER TABLE logs ALTER is_stream DROP DEFAULT,
    ALTER is_stream TYPE smallint USING is_stream::int, ALTER quota TYPE integer`
/** Types of these columns after adoption. */
const TAKEN = [
  'abilities.enabled boolean',
  'channels.balance numeric',
  'channels.config text',
  'logs.is_stream boolean',
  'logs.quota bigint',
  'tokens.remain_quota bigint',
  'tokens.unlimited_quota boolean',
  'tokens.used_quota bigint',
  'users.email text',
  'users.id bigint',
  'users.quota bigint',
  'users.request_count bigint',
  'users.used_quota bigint',
]

test('columns that are too narrow, or of another kind, become what has to fit in them', async () => {
  const database = await smallFixture()
  const before = await oneApiRows(database)
  await database.run(NARROW)
  await database.run('UPDATE tokens SET remain_quota = 1e19 WHERE id = 11')
  const bare = await openBare(database.location)
  onTestFinished(() => bare.close())
  const told = (await reportAdoption(bare)).lines.join('\n')
  expect(told).toContain('users.quota (integer → bigint)')
  expect(told).toContain('tokens.unlimited_quota (smallint → boolean)')
  expect(await openSaying(database)).toContain('tokens.unlimited_quota (smallint → boolean)')
  const names = TAKEN.map((found) => found.split(' ')[0] ?? '')
  expect(await typesOf(database, names)).toEqual(TAKEN.map((found) => ({ found })))
  expect(
    await database.rows(`SELECT CAST(data_type AS text) AS type FROM pg_sequences
      WHERE sequencename = 'users_id_seq'`),
  ).toEqual([{ type: 'bigint' }])
  expect(await database.rows('SELECT remain_quota FROM tokens WHERE id = 11')).toEqual([
    { remain_quota: String(2 ** 50) },
  ])
  await database.run('UPDATE tokens SET remain_quota = 499839 WHERE id = 11')
  const columns = (table: keyof typeof before) => Object.keys(before[table][0] ?? {})
  expect(await oneApiRows(database, columns)).toEqual(before)
  expect(await openSaying(database)).toBe('')
})

test('points beyond 32 bits are granted, kept and booked after adopting such a database', async () => {
  const database = await smallFixture()
  await database.run(NARROW)
  const server = await startTestServer(() => Promise.resolve(database.location))
  const body = { username: 'root', password: 'RootPass1' }
  const { headers } = await server.call('POST', '/api/user/login', { body })
  const as = { cookie: String(headers['set-cookie']).split(';')[0] ?? '' }
  const topped = { user_id: 2, quota: 5_000_000_000, remark: '' }
  const granted = await server.call('POST', '/api/topup', { as, body: topped })
  expect(granted.json).toMatchObject({ success: true })
  const token = { name: 'large', remain_quota: 5_000_000_000, unlimited_quota: false }
  const made = await server.call('POST', '/api/token/', { as, body: token })
  expect(made.json).toMatchObject({ success: true })
  const listed = await server.call('GET', '/api/token/', { as })
  expect(listed.json).toMatchObject({ success: true })
  expect(server.faults).toEqual([])
  await server.close()
  const opened = await openDatabase(database.location)
  expect(await reconcile(opened)).toMatchObject({ count: 0 })
  await opened.close()
})

test('what cannot be read as what it should be is refused by its name, and nothing changes', async () => {
  const database = await postgresFixture()
  await database.run(`ALTER TABLE users ALTER quota DROP DEFAULT, ALTER quota TYPE text;
    ALTER TABLE logs ALTER created_at TYPE timestamptz USING to_timestamp(created_at)`)
  const before = await oneApiRows(database)
  const reason =
    'have unsupported types: users.quota is text, logs.created_at is timestamp with time zone;'
  const bare = await openBare(database.location)
  onTestFinished(() => bare.close())
  expect((await reportAdoption(bare)).lines).toEqual([expect.stringContaining(reason)])
  await expect(openDatabase(database.location)).rejects.toThrow(reason)
  expect(await oneApiRows(database)).toEqual(before)
})

test('a database that is ours already is widened at the next start, unless a view is in the way', async () => {
  const database = await smallFixture()
  await openSaying(database)
  await database.run('ALTER TABLE users ALTER quota TYPE integer')
  await database.run('CREATE VIEW balances AS SELECT id, quota FROM users')
  expect(await openSaying(database)).toMatch(
    /users\.quota[^]*the column types were not changed.*a view/,
  )
  await database.run('DROP VIEW balances')
  expect(await openSaying(database)).toBe('changing column types: users.quota (integer → bigint)')
  expect(await typesOf(database, ['users.quota'])).toEqual([{ found: 'users.quota bigint' }])
})

test('a view of a column whose type changes is reported before the adoption', async () => {
  const database = await smallFixture()
  await database.run('ALTER TABLE users ALTER quota TYPE integer')
  await database.run('CREATE VIEW balances AS SELECT id, quota FROM users')
  const bare = await openBare(database.location)
  onTestFinished(() => bare.close())
  expect((await reportAdoption(bare)).lines.join('\n')).toMatch(/1 views read.*\(balances\)/)
})

test('a schema without CREATE rights, a standby and a path without a schema are reported before the adoption', async () => {
  const database = await postgresFixture()
  const bare = await openBare(database.location)
  onTestFinished(() => bare.close())
  const told = async () => (await reportAdoption(bare)).lines.join('\n')
  expect(await told()).not.toContain('adoption stops')
  await sql`SET default_transaction_read_only = on`.execute(bare.db)
  expect(await told()).toContain('1 databases are read-only')
  await sql`SET default_transaction_read_only = off`.execute(bare.db)
  await sql`SET ROLE pg_read_all_data`.execute(bare.db)
  expect(await told()).toMatch(
    /1 schemas do not allow the connected role to create tables.*\(public\)/,
  )
  await sql`SET search_path = nowhere`.execute(bare.db)
  expect(await told()).toContain('contains no schema that it may use')
})
