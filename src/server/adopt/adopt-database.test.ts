import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startFakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { openDatabase } from '../commands/open-database.ts'
import { openBare } from '../db/database.ts'
import { reconcile } from '../ledger/reconcile.ts'
import { createTestDatabase } from '../test/postgres.ts'
import {
  dumpedRows,
  MYSQL_DUMP,
  newFolder,
  ONE_API_TABLES,
  oneApiRows,
  plainPostgres,
  plainSqlite,
  postgresFixture,
  sqliteFixture,
  type OneApiTableName,
  type PlainDatabase,
  type PlainRow,
} from '../test/one-api-databases.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { loadDumps } from './import-dump.ts'

type Rows = Record<OneApiTableName, PlainRow[]>

/** A database that was adopted, and what One API had in it. */
interface Adopted {
  database: PlainDatabase
  before: Rows
}

async function adopted(database: PlainDatabase): Promise<Adopted> {
  const before = await oneApiRows(database)
  await (await openDatabase(database.location)).close()
  return { database, before }
}

async function imported(database: PlainDatabase): Promise<Adopted> {
  const bare = await openBare(database.location)
  await loadDumps(bare, [fs.createReadStream(MYSQL_DUMP)], () => {})
  await bare.close()
  return { database, before: dumpedRows() }
}

async function emptyPostgres(): Promise<PlainDatabase> {
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  return plainPostgres(url)
}

const emptySqlite = (): PlainDatabase => plainSqlite(path.join(newFolder(), 'new.db'))

const CASES: [string, () => Promise<Adopted>][] = [
  ['a SQLite file', () => adopted(sqliteFixture())],
  ['a PostgreSQL database', async () => adopted(await postgresFixture())],
  ['a MySQL dump on SQLite', () => imported(emptySqlite())],
  ['a MySQL dump on PostgreSQL', async () => imported(await emptyPostgres())],
]

const columnsOf = (before: Rows) => (table: OneApiTableName) => Object.keys(before[table][0] ?? {})

const numeric = (rows: PlainRow[]): PlainRow[] =>
  // A decimal column of PostgreSQL answers texts; the figure counts.
  rows.map((row) => ('balance' in row ? { ...row, balance: Number(row['balance']) } : row))

describe.each(CASES)('%s of a real One API server', (_name, adopt) => {
  test('keeps every row, column by column', async () => {
    const { database, before } = await adopt()
    const after = await oneApiRows(database, columnsOf(before))
    for (const table of ONE_API_TABLES) {
      expect(before[table].length).toBeGreaterThan(3)
      expect([table, numeric(after[table])]).toEqual([table, numeric(before[table])])
    }
  })

  test('has books that explain every balance, and is left alone the next time', async () => {
    const { database } = await adopt()
    const opened = await openDatabase(database.location)
    expect(await reconcile(opened)).toMatchObject({ count: 0 })
    await opened.close()
    const everything = async () => ({
      oneApi: await oneApiRows(database),
      ledger: await database.rows('SELECT * FROM ledger ORDER BY id'),
      hours: await database.rows('SELECT * FROM usage_hourly ORDER BY 1, 2, 3, 4, 5'),
    })
    const once = await everything()
    expect(once.ledger).toHaveLength(6 + 20 + 7)
    expect(once.hours.length).toBeGreaterThan(5)
    await (await openDatabase(database.location)).close()
    expect(await everything()).toEqual(once)
  })

  test('takes rows as One API writes them, so that it can go back', async () => {
    const { database, before } = await adopt()
    for (const table of ONE_API_TABLES) {
      const columns = columnsOf(before)(table).filter((name) => name !== 'id')
      const names = columns.map((name) => `"${name}"`).join(', ')
      const changed = columns.map((name) => {
        // Unique columns get unique values.
        const isUnique = /^(username|access_token|aff_code)$/.test(name)
        if (name === 'key' && table !== 'channels') return `substr('new' || "key", 1, 30)`
        if (table === 'abilities' && name === 'model') return `'new' || model`
        return isUnique ? `substr('n' || "${name}", 1, 30)` : `"${name}"`
      })
      const one =
        table === 'options' ? `"key" = 'Notice'` : table === 'abilities' ? 'true' : 'id = 3'
      // SQLite assigns the ids itself; PostgreSQL uses One API's sequences.
      await database.run(
        `INSERT INTO ${table} (${names}) SELECT ${changed.join(', ')} FROM ${table} WHERE ${one}`,
      )
    }
    const after = await oneApiRows(database)
    for (const table of ONE_API_TABLES) {
      expect(after[table].length).toBeGreaterThan(before[table].length)
    }
  })

  test('continues above the ids that One API assigns while it uses the database again', async () => {
    const { database, before } = await adopt()
    await database.run(`INSERT INTO users (username, password, aff_code) VALUES ('newer', '', 'nEw0');
      INSERT INTO tokens (user_id, "key", name) VALUES (1, 'newer', 'newer');
      INSERT INTO channels (type, "key", name, status) VALUES (1, 'k', 'newer', 2);
      INSERT INTO redemptions ("key", name) VALUES ('newer', 'newer');
      INSERT INTO logs (user_id, created_at, type, content) VALUES (1, 1700000000, 3, 'newer')`)
    const server = await startTestServer(() => Promise.resolve(database.location))
    const as = await signedIn(server, 'root')
    const made: [string, object][] = [
      ['user', { username: 'newest', password: 'password1' }],
      ['token', { name: 'newest', unlimited_quota: true }],
      ['channel', { type: 1, name: 'newest', key: 'k', models: 'm', group: 'default' }],
      ['redemption', { name: 'newest', quota: 1, count: 1 }],
    ]
    for (const [what, body] of made) {
      const { json } = await server.call('POST', `/api/${what}/`, { as, body })
      expect([what, json]).toEqual([what, expect.objectContaining({ success: true })])
    }
    await expectBilledCall(server, before)
    expect(server.faults).toEqual([])
    await server.close()
  })

  test('serves: people sign in, programs call, points move from where they were', async () => {
    const { database, before } = await adopt()
    const server = await startTestServer(() => Promise.resolve(database.location))
    await expectSignIns(server)
    await expectAdoptedAccessToken(server, before)
    await expectBilledCall(server, before)
    const options = await server.call('GET', '/api/option/', { as: await signedIn(server, 'root') })
    expect(options.text).toContain('示例网关')
    expect(options.text).not.toMatch(/very-secret|smtp-secret/)
    expect(server.faults).toEqual([])
    // Compares the books once more.
    await server.close()
  })
})

const PASSWORDS = { root: 'RootPass1', alice: 'password1', bob: 'password1', carol: 'password1' }

async function signedIn(server: TestServer, username: keyof typeof PASSWORDS) {
  const body = { username, password: PASSWORDS[username] }
  const { json, headers } = await server.call('POST', '/api/user/login', { body })
  expect(json).toMatchObject({ success: true, data: { username } })
  return { cookie: String(headers['set-cookie']).split(';')[0] ?? '' }
}

async function expectSignIns(server: TestServer): Promise<void> {
  for (const username of ['root', 'alice', 'bob', 'carol'] as const) {
    await signedIn(server, username)
  }
  for (const username of ['erin', 'dave']) {
    const body = { username, password: 'password1' }
    const { json } = await server.call('POST', '/api/user/login', { body })
    expect(json).toMatchObject({ success: false })
  }
}

async function expectAdoptedAccessToken(server: TestServer, before: Rows): Promise<void> {
  const alice = before.users.find(({ id }) => id === 2)
  const accessToken = String(alice?.['access_token'])
  const self = await server.call('GET', '/api/user/self', { as: { accessToken } })
  expect(self.data).toMatchObject({ username: 'alice', quota: 999_784, used_quota: 216 })
}

/** bob is in the group vip (×0.8); gpt-4o has ×0.5 and ×3: (11 + 7 × 3) × 0.4, rounded up. */
const COST = 13

async function expectBilledCall(server: TestServer, before: Rows): Promise<void> {
  const upstream = await startFakeUpstream()
  onTestFinished(() => upstream.close())
  const root = await signedIn(server, 'root')
  const moved = await server.call('PUT', '/api/channel/', {
    as: root,
    // A new address requires the secrets again.
    body: { id: 1, base_url: upstream.url, key: 'sk-channel-1', config: '{"ak":"a","sk":"s"}' },
  })
  expect(moved.json).toMatchObject({ success: true })
  const token = before.tokens.find(({ id }) => id === 11)
  const answer = await server.call('POST', '/v1/chat/completions', {
    headers: { authorization: `Bearer sk-${String(token?.['key'])}` },
    body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'What is the answer?' }] },
  })
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('usage')])
  const usage = answer.json['usage']
  expect(usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7 })
  const bob = await server.call('GET', '/api/user/3', { as: root })
  expect(bob.data).toMatchObject({
    quota: 2_099_826 - COST,
    used_quota: 174 + COST,
    request_count: 6,
  })
  const tokens = await server.call('GET', '/api/token/11', { as: await signedIn(server, 'bob') })
  expect(tokens.data).toMatchObject({ remain_quota: 499_839 - COST, used_quota: 161 + COST })
  const stat = await server.call('GET', '/api/log/stat?username=bob', { as: root })
  expect(stat.data).toMatchObject({ quota: 174 + COST })
}

test('a copy of a SQLite file is made beside it, with what its write-ahead log holds', async () => {
  const { location, rows, run } = sqliteFixture()
  if (location.engine !== 'sqlite') throw new Error('a SQLite fixture is a file')
  await run('PRAGMA journal_mode = WAL')
  await run(`UPDATE users SET display_name = 'only in the log' WHERE id = 2`)
  const before = await rows('SELECT * FROM users ORDER BY id')
  await (await openDatabase(location)).close()
  const copies = fs
    .readdirSync(path.dirname(location.path))
    .filter((name) => name.startsWith('one-api.db.before-gatehouse-'))
  expect(copies).toEqual([expect.stringMatching(/-\d{8}-\d{6}$/)])
  const copy = plainSqlite(path.join(path.dirname(location.path), copies[0] ?? ''))
  expect(await copy.rows('SELECT * FROM users ORDER BY id')).toEqual(before)
  expect(await copy.rows(`SELECT name FROM sqlite_master WHERE name = 'ledger'`)).toEqual([])
})

test('a SQLite file keeps statements that One API’s own migration can read', async () => {
  const database = sqliteFixture()
  await (await openDatabase(database.location)).close()
  const tables = ONE_API_TABLES.map((name) => `'${name}'`).join(', ')
  const rows = await database.rows(
    `SELECT sql FROM sqlite_master WHERE tbl_name IN (${tables}) AND sql IS NOT NULL`,
  )
  for (const { sql } of rows) {
    // Pattern with which One API's database library parses such a statement; with another form it
    // does not start.
    expect(sql).toMatch(
      /^CREATE TABLE [`"'\t]?[\w-]+[`"'\t]?\s*\(.*\)$|^CREATE( UNIQUE)? INDEX [`"'\t]?[\w-]+[`"'\t]? ON .*$/is,
    )
  }
  expect(rows.length).toBeGreaterThan(30)
})

test('on PostgreSQL columns only become wider, and long lists fit', async () => {
  const database = await postgresFixture()
  const types = () =>
    database.rows(`SELECT table_name, column_name, data_type, column_default IS NULL AS bare
      FROM information_schema.columns WHERE table_schema = 'public'
      AND table_name IN ('channels','tokens','users','options','redemptions','abilities','logs')
      AND column_name NOT IN ('test_model', 'limited') AND column_name NOT LIKE 'gh\\_%'
      ORDER BY 1, 2`)
  const before = await types()
  await (await openDatabase(database.location)).close()
  const after = await types()
  const changed = after.filter((row, at) => JSON.stringify(row) !== JSON.stringify(before[at]))
  expect(after).toHaveLength(before.length)
  expect(changed.map((row) => [row['table_name'], row['column_name'], row['data_type']])).toEqual([
    ['abilities', 'group', 'text'],
    ['channels', 'group', 'text'],
    ['channels', 'model_mapping', 'text'],
    ['users', 'group', 'text'],
  ])
  await database.run(`UPDATE channels SET "group" = repeat('group,', 40) WHERE id = 1`)
})

test('of processes that start together one adopts, and the others find it done', async () => {
  const database = await postgresFixture()
  const opened = await Promise.all([1, 2, 3].map(() => openDatabase(database.location)))
  expect(await database.rows(`SELECT count(*) AS n FROM ledger`)).toEqual([{ n: 33 }])
  for (const one of opened) await one.close()
})
