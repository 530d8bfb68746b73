import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../test/postgres.ts'
import { forEachDatabase, type DatabaseLocation } from '../test/for-each-database.ts'
import { openDatabase } from '../commands/open-database.ts'
import { openBare } from './database.ts'
import { migrate, migrations, schemaAge, type RunScript } from './migrate.ts'

const WITH_ROWIDS = 15
const WITH_NAME_KEYS = 22
const OPEN_CALL = {
  request_id: 'an-open-call',
  user_id: 2,
  token_id: 3,
  user_amount: 500,
  token_amount: 400,
  created_at: 1_800_000_000,
  node: 'a-node',
  checkpoint: '{"cost":7}',
}

/**
 * A database of a version that kept reservations in a different kind of table, with one open call.
 */
function writeEarlierReservation(file: string): void {
  const database = new Sqlite(file)
  database.exec(`CREATE TABLE schema_migrations (
    version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)`)
  for (const { version, name, script } of migrations('sqlite')) {
    if (version > WITH_ROWIDS) continue
    database.exec(script)
    database.prepare('INSERT INTO schema_migrations VALUES (?, ?, 0)').run(version, name)
  }
  database
    .prepare('INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
    .run(...Object.values(OPEN_CALL))
  database.close()
}

/** Creates the tables of the version before a script. */
async function writeVersion(location: DatabaseLocation, before: number): Promise<void> {
  const bare = await openBare(location)
  await bare.db.transaction().execute(async (trx) => {
    await sql`CREATE TABLE schema_migrations (
      version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)`.execute(trx)
    for (const { version, name, script } of migrations(bare.engine)) {
      if (version >= before) continue
      await bare.runScript(script, trx)
      await trx.insertInto('schema_migrations').values({ version, name, applied_at: 0 }).execute()
    }
  })
  await bare.close()
}

const waitingLocks = async (client: pg.Client): Promise<number> =>
  (await client.query(`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'relation'`))
    .rowCount ?? 0

forEachDatabase('migrating', (_open, engine) => {
  async function empty(): Promise<{ location: DatabaseLocation; drop: () => Promise<void> }> {
    // The usual ones are copies of a migrated database.
    if (engine === 'sqlite') {
      const path = join(await mkdtemp(join(tmpdir(), 'gatehouse-empty-')), 'gatehouse.db')
      const drop = () => rm(dirname(path), { recursive: true, force: true })
      return { location: { engine, path }, drop }
    }
    const { url, drop } = await createTestDatabase()
    return { location: { engine: 'postgres', url }, drop }
  }

  test('processes that start in parallel create the tables once', async () => {
    const { location, drop } = await empty()
    const handles = await Promise.all(Array.from({ length: 4 }, () => openDatabase(location)))
    const [first] = handles
    const applied = await first?.write
      .selectFrom('schema_migrations')
      .select('version')
      .orderBy('version')
      .execute()
    expect(applied?.map(({ version }) => version)).toEqual(
      migrations(location.engine).map(({ version }) => version),
    )
    for (const handle of handles) await handle.close()
    await drop()
  })

  test('an interrupted first start leaves nothing that looks like One API', async () => {
    const { location, drop } = await empty()
    const bare = await openBare(location)
    let scripts = 0
    const runOne: RunScript = async (script, trx) => {
      if (scripts === 1) throw new Error('the process ends here')
      scripts += 1
      await bare.runScript(script, trx)
    }
    await expect(migrate(bare.db, bare.engine, runOne)).rejects.toThrow('ends here')
    await bare.close()
    const lines: string[] = []
    const database = await openDatabase(location, (line) => lines.push(line))
    expect(lines).toEqual([])
    await database.close()
    await drop()
  })

  test('an up-to-date database is not changed', async () => {
    const { location, drop } = await empty()
    const once = await openDatabase(location)
    await once.write.insertInto('options').values({ key: 'k', value: 'v' }).execute()
    await once.close()
    const again = await openDatabase(location)
    expect(await again.read.selectFrom('options').selectAll().execute()).toEqual([
      { key: 'k', value: 'v' },
    ])
    await again.close()
    await drop()
  })

  test('additions of a later version are kept; its incompatible changes are rejected', async () => {
    const { location, drop } = await empty()
    const today = await openDatabase(location)
    const later = { version: 9000, name: 'later', applied_at: 0 }
    await today.write.insertInto('schema_migrations').values(later).execute()
    await today.close()
    const beside = await openDatabase(location)
    expect(await schemaAge(beside.read, location.engine)).toBe('current')
    await beside.write
      .insertInto('settings')
      .values({ name: 'schema_contract', value: '9000' })
      .execute()
    expect(await schemaAge(beside.read, location.engine)).toBe('newer')
    await beside.close()
    await expect(openDatabase(location)).rejects.toThrow('newer Gatehouse (migration 9000)')
    await drop()
  })

  test('a migration backs off while a table is read, so that it does not block others', async () => {
    const { location, drop } = await empty()
    if (location.engine === 'sqlite') return
    await writeVersion(location, WITH_NAME_KEYS)
    const [reader, other] = [new pg.Client(location.url), new pg.Client(location.url)]
    await Promise.all([reader.connect(), other.connect()])
    await reader.query('BEGIN')
    await reader.query('SELECT count(*) FROM sessions')
    const opening = openDatabase(location)
    await expect.poll(() => waitingLocks(other), { interval: 20 }).toBeGreaterThan(0)
    // Queues behind the migration, which waits for the reader.
    await other.query('SELECT count(*) FROM sessions')
    expect((await other.query('SELECT 1 FROM schema_migrations WHERE version = 23')).rowCount).toBe(
      0,
    )
    await reader.query('COMMIT')
    const database = await opening
    expect(await schemaAge(database.read, 'postgres')).toBe('current')
    await Promise.all([reader.end(), other.end(), database.close()])
    await drop()
  })

  test('0022 binds WeChat identities to the current helper server, and frees those of deleted users', async () => {
    const { location, drop } = await empty()
    await writeVersion(location, WITH_NAME_KEYS)
    const bare = await openBare(location)
    await bare.db.transaction().execute(async (trx) => {
      await sql`INSERT INTO users (id, username, password, status, wechat_id, aff_code) VALUES
        (1, 'bound', '', 1, 'wx_bound', 'a'), (2, 'adopted', '', 1, 'wx_adopted', 'b'),
        (3, 'twin', '', 1, 'wx_twin', 'c'), (4, 'other twin', '', 1, 'wx_twin', 'd'),
        (5, 'deleted', '', 3, 'wx_deleted', 'e')`.execute(trx)
      await sql`INSERT INTO options (key, value)
        VALUES ('WeChatServerAddress', 'https://wx.example/')`.execute(trx)
      await sql`INSERT INTO external_identities (provider, subject, user_id, created_at) VALUES
        ('wechat', 'wx_bound', 1, 0), ('github', '77', 1, 0), ('wechat', 'wx_deleted', 5, 0)`.execute(
        trx,
      )
    })
    await bare.close()
    const database = await openDatabase(location)
    const rows = await database.read
      .selectFrom('external_identities')
      .select(['subject', 'user_id'])
      .orderBy('subject')
      .execute()
    expect(rows).toEqual([
      { subject: '77', user_id: 1 },
      { subject: 'https://wx.example wx_adopted', user_id: 2 },
      { subject: 'https://wx.example wx_bound', user_id: 1 },
    ])
    const names = await database.read
      .selectFrom('name_keys')
      .select('username')
      .orderBy('user_id')
      .execute()
    expect(names.map(({ username }) => username)).toEqual([
      'bound',
      'adopted',
      'twin',
      'other twin',
    ])
    await database.close()
    await drop()
  })

  test('calls that were open under an earlier version are open afterwards', async () => {
    const { location, drop } = await empty()
    // Only on SQLite was their table different.
    if (location.engine === 'sqlite') writeEarlierReservation(location.path)
    const database = await openDatabase(location)
    const stillOpen = await database.read.selectFrom('reservations').selectAll().execute()
    expect(stillOpen).toEqual(location.engine === 'sqlite' ? [OPEN_CALL] : [])
    await database.close()
    await drop()
  })
})
