import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startFakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { Role } from '../../contract/user.ts'
import { openDatabase } from '../commands/open-database.ts'
import { openBare } from '../db/database.ts'
import { aRedemption, aToken, aUser, PASSWORD } from '../test/factories.ts'
import {
  newFolder,
  plainPostgres,
  plainSqlite,
  sqliteFixture,
  type PlainDatabase,
} from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import {
  aServedModel,
  bookedCall,
  chatBody,
  eventually,
  post,
  requestIdOf,
  stream,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { startTestServer, type TestCaller } from '../test/test-app.ts'
import { LEFT_OUT, moveDatabase } from './move-database.ts'
import { openSource } from './source-store.ts'

const fileOf = ({ location }: PlainDatabase): string => {
  if (location.engine !== 'sqlite') throw new Error('this one is a file')
  return location.path
}

async function emptyPostgres(): Promise<PlainDatabase & { url: string }> {
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  return { ...plainPostgres(url), url }
}

/** A file created by this version, without user data. */
async function freshSqlite(): Promise<PlainDatabase> {
  const database = plainSqlite(path.join(newFolder(), 'gatehouse.db'))
  await (await openDatabase(database.location)).close()
  return database
}

async function adoptedSqlite(): Promise<PlainDatabase> {
  const database = sqliteFixture()
  await (await openDatabase(database.location)).close()
  return database
}

/** Moves the database and returns the progress lines. */
async function moved(from: PlainDatabase, to: { url: string }): Promise<string> {
  const lines: string[] = []
  const source = openSource(fileOf(from))
  const target = await openBare({ engine: 'postgres', url: to.url })
  try {
    const progress = (line: string) => void lines.push(line)
    await moveDatabase({ source, target, secret: null, progress })
    return lines.join('\n')
  } finally {
    source.close()
    await target.close()
  }
}

/** Tables and their columns, without those of one engine only. */
async function structureOf(database: PlainDatabase): Promise<Map<string, string[]>> {
  const rows = await database.rows(
    database.location.engine === 'sqlite'
      ? `SELECT tables.name AS "table", columns.name AS "column"
        FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table'`
      : `SELECT table_name AS "table", column_name AS "column"
        FROM information_schema.columns WHERE table_schema = current_schema()`,
  )
  const byTable = Map.groupBy(rows, ({ table }) => String(table))
  return new Map(
    [...byTable]
      .filter(([table]) => !LEFT_OUT.has(table))
      .map(([table, columns]) => [table, columns.map(({ column }) => String(column)).toSorted()]),
  )
}

/** Every value as a text that is the same on both engines, sorted independently of the engine. */
async function allRows(database: PlainDatabase): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {}
  for (const [table, columns] of await structureOf(database)) {
    const rows = await database.rows(
      `SELECT ${columns.map((name) => `"${name}"`).join(', ')} FROM "${table}"`,
    )
    const texts = rows.map((row) =>
      JSON.stringify(
        columns.map((name) => {
          const value = row[name]
          return value === null || Buffer.isBuffer(value) ? value : String(value)
        }),
      ),
    )
    tables[table] = texts.toSorted()
  }
  return tables
}

const tablesOf = (database: PlainDatabase) =>
  database.rows(
    'SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()',
  )

test('both engines have the same tables and columns, except the listed ones', async () => {
  const onPostgres = await emptyPostgres()
  await (await openDatabase(onPostgres.location)).close()
  const onSqlite = await structureOf(await freshSqlite())
  expect(await structureOf(onPostgres)).toEqual(onSqlite)
  expect(onSqlite.size).toBeGreaterThan(25)
})

/** Creates data of users and programs. Returns the credentials to use it again. */
async function useIt(setup: RelaySetup) {
  const root = await aUser(setup, { role: Role.root })
  const model = await aServedModel(setup)
  const user = await aUser(setup, { quota: 500_000 })
  const { id: tokenId, key } = await aToken(setup, user.id, { unlimited_quota: true })
  const client = { key, userId: user.id, tokenId }
  const { cookie } = user
  const code = await aRedemption(setup, root.id, { quota: 77 })
  const { id: highestId } = await aToken(setup, user.id)
  const limited = { id: client.tokenId, requests_per_minute: 50, quota_per_day: 1_000_000 }
  const acts: [method: string, path: string, as: TestCaller, body?: object][] = [
    ['POST', '/api/user/topup', { cookie }, { key: code.key }],
    ['DELETE', `/api/token/${highestId}`, { cookie }],
    ['PUT', `/api/limit/token/${client.tokenId}`, root, limited],
    ['PUT', '/api/option/', root, { key: 'Notice', value: '通知 👋 "quoted", \\ and {braces}' }],
  ]
  for (const [method, where, as, body] of acts) {
    const answer = await setup.call(method, where, { as, ...(body && { body }) })
    expect([where, answer.message, answer.json['success']]).toEqual([where, '', true])
  }
  await setup.database.write
    .insertInto('token_captures')
    .values({ token_id: client.tokenId, mode: 'full' })
    .execute()
  await setup.database.announce('everything')
  const requestId = requestIdOf(await post(setup, client, chatBody(model)))
  await bookedCall(setup, requestId)
  await stream(setup, client, chatBody(model))
  await post(setup, client, chatBody('a-model-that-nobody-serves'))
  await eventually(
    () => setup.database.read.selectFrom('log_bodies').selectAll().executeTakeFirst(),
    'what was said',
  )
  return { root, client, user, model, highestId }
}

const OF_ALL = ['log/', 'log/stat?type=2', 'user/', 'redemption/', 'audit/']
const OF_ONE = ['log/self', 'user/dashboard', 'token/', 'limit/self', 'log/self/1']

/** Data that pages show to both users. */
function shown(setup: RelaySetup, { root, user }: { root: TestCaller; user: TestCaller }) {
  const places = [
    ...OF_ALL.map((place) => [place, root] as const),
    ...OF_ONE.map((place) => [place, user] as const),
  ]
  return Promise.all(
    places.map(async ([place, as]) => [
      place,
      (await setup.call('GET', `/api/${place}`, { as })).data,
    ]),
  )
}

test('a server on the moved database continues where the other stopped', async () => {
  const upstream = await startFakeUpstream()
  onTestFinished(upstream.close)
  const file = plainSqlite(path.join(newFolder(), 'gatehouse.db'))
  const behind = { upstream, troubles: new Map<string, string>() }
  const first = { ...(await startTestServer(async () => file.location)), ...behind }
  await first.app.options.set('DefaultModelRatio', '1')
  const people = await useIt(first)
  const { client, user, model, highestId } = people
  const before = await shown(first, people)
  const isNothing = (data: unknown) => data === undefined || Object(data).length === 0
  expect(before.filter(([, data]) => isNothing(data))).toEqual([])
  const nowSeconds = first.clock.nowSeconds()
  const open = { requestId: 'left-open', amount: 100, nowSeconds, node: first.app.node }
  await first.app.ledger.reserve({ ...client, ...open })
  await first.close()
  expect(await file.rows('SELECT request_id FROM limit_holds')).toEqual([
    { request_id: 'left-open' },
  ])
  const bytes = fs.readFileSync(fileOf(file))
  const target = await emptyPostgres()
  await moved(file, target)
  expect(await allRows(target)).toEqual(await allRows(file))
  expect(fs.readFileSync(fileOf(file)).equals(bytes)).toBe(true)

  // Its books must balance when it is closed.
  const second = { ...(await startTestServer(async () => target.location)), ...behind }
  expect(await target.rows('SELECT * FROM reservations')).toEqual([])
  expect(await shown(second, people)).toEqual(before)
  const body = { username: user.username, password: PASSWORD }
  const signIn = await second.call('POST', '/api/user/login', { body })
  expect(signIn.json['success']).toBe(true)
  const answer = await post(second, client, chatBody(model))
  expect(answer.status).toBe(200)
  await bookedCall(second, requestIdOf(answer))
  expect((await aToken(second, user.id)).id).toBe(highestId + 1)
  expect(await target.rows(`SELECT running FROM limits WHERE id = ${client.tokenId}`)).toEqual([
    { running: 0 },
  ])
  await second.close()
})

test('rows of One API are moved unchanged, and texts that PostgreSQL cannot store are reported', async () => {
  const file = await adoptedSqlite()
  const long = 'k'.repeat(60)
  await file.run(`UPDATE tokens SET "key" = '${long}', name = NULL WHERE id = 1;
    UPDATE users SET inviter_id = 9223372036854775807, email = NULL WHERE id = 2;
    UPDATE logs SET content = 'a' || char(0) || 'b' WHERE id = 1;
    UPDATE logs SET content = CAST(x'61EDA08062' AS text) WHERE id = 2;
    UPDATE logs SET content = 'a real \u{fffd}' WHERE id = 3;
    ALTER TABLE users ADD COLUMN setting text;
    CREATE TABLE keyless AS SELECT * FROM abilities;
    DROP TABLE abilities; ALTER TABLE keyless RENAME TO abilities;
    CREATE TABLE midjourneys (id integer PRIMARY KEY)`)
  const target = await emptyPostgres()
  const said = await moved(file, target)
  expect(said).toContain('logs 1: content contained NUL characters, which were removed\n')
  expect(said).toContain('logs 2: content contained invalid bytes')
  expect(said).not.toContain('logs 3:')
  expect(said).toContain('column users.setting does not belong to Gatehouse and is skipped')
  expect(said).toContain('table midjourneys does not belong to Gatehouse and is skipped')
  expect(said).toContain('logs: 27 rows')
  const contents = 'SELECT content FROM logs WHERE id <= 3 ORDER BY id'
  expect(await target.rows(contents)).toEqual([
    { content: 'ab' },
    { content: expect.stringMatching(/^a\u{fffd}+b$/u) },
    { content: 'a real \u{fffd}' },
  ])
  const token = await target.rows('SELECT "key", name FROM tokens WHERE id = 1')
  expect(token).toEqual([{ key: long, name: null }])
  const user = await target.rows('SELECT inviter_id, email FROM users WHERE id = 2')
  expect(user).toEqual([{ inviter_id: '9223372036854775807', email: null }])
  await file.run(`ALTER TABLE users DROP COLUMN setting; DROP TABLE midjourneys;
    UPDATE logs SET content = 'ab' WHERE id = 1; UPDATE logs SET content = (
      SELECT content FROM logs WHERE id = 3) WHERE id = 2`)
  await target.run('UPDATE logs SET content = (SELECT content FROM logs WHERE id = 3) WHERE id = 2')
  const [there, here] = [await allRows(target), await allRows(file)]
  // JavaScript cannot represent one figure exactly.
  delete there['users']
  delete here['users']
  expect(there).toEqual(here)
})

test('differences in the ledger from before the move stay and do not stop it', async () => {
  const file = await adoptedSqlite()
  await file.run('UPDATE users SET quota = quota + 5 WHERE id = 2')
  const said = await moved(file, await emptyPostgres())
  expect(said).toMatch(/user 2: I1 quota is/)
  expect(said).toContain('1 differences, which the file has too')
})

test.each([
  ['of One API', 'DROP TABLE ledger', /not a Gatehouse database.*gatehouse adopt/],
  [
    'of an older version',
    'DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)',
    /by an older Gatehouse/,
  ],
  ['of a newer version', `INSERT INTO schema_migrations VALUES (9000, 'x', 0)`, /newer Gatehouse/],
  // Found at the end, after all other tables were copied.
  [
    'with a wrong value',
    `UPDATE users SET quota = 'lots' WHERE id = 3`,
    /users 3: quota has a value of the wrong type/,
  ],
])('a file %s is rejected, and nothing is left behind', async (_, change, reason) => {
  const file = await adoptedSqlite()
  await file.run(change)
  const target = await emptyPostgres()
  await expect(moved(file, target)).rejects.toThrow(reason)
  expect(await tablesOf(target)).toEqual([])
})

test('a database that is not empty is not changed', async () => {
  const file = await freshSqlite()
  const target = await emptyPostgres()
  await moved(file, target)
  const before = await allRows(target)
  await expect(moved(file, target)).rejects.toThrow('the database is not empty')
  expect(await allRows(target)).toEqual(before)
})
