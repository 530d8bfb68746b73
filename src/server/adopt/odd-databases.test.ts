import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../commands/open-database.ts'
import { openBare } from '../db/database.ts'
import { reconcile } from '../ledger/reconcile.ts'
import {
  FIXTURES_BY_ENGINE,
  oneApiRows,
  plainPostgres,
  plainSqlite,
  newFolder,
  postgresFixture,
  sqliteFixture,
  type PlainDatabase,
} from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { reportAdoption } from './adopt-report.ts'

/** Databases of older versions, databases in long use, and databases of unknown programs. */

async function adopt({ location }: PlainDatabase): Promise<void> {
  await (await openDatabase(location)).close()
}

async function expectBalanced({ location }: PlainDatabase): Promise<void> {
  const opened = await openDatabase(location)
  expect(await reconcile(opened)).toMatchObject({ differences: [] })
  await opened.close()
}

const signIn = async (server: TestServer) => {
  const body = { username: 'root', password: 'RootPass1' }
  const { headers } = await server.call('POST', '/api/user/login', { body })
  return { cookie: String(headers['set-cookie']).split(';')[0] ?? '' }
}

/** Columns that versions of the first year lack. */
const LATER_COLUMNS = {
  logs: [
    'request_id',
    'elapsed_time',
    'is_stream',
    'system_prompt_reset',
    'channel_id',
    'token_name',
  ],
  channels: ['system_prompt', 'config', 'model_mapping', 'priority', 'weight', 'used_quota'],
  users: ['oidc_id', 'lark_id', 'aff_code', 'inviter_id'],
  tokens: ['models', 'subnet', 'used_quota'],
  abilities: ['priority'],
} as const

async function dropLaterColumns(database: PlainDatabase): Promise<void> {
  const indexes = [
    'idx_logs_channel_id',
    'idx_logs_token_name',
    'idx_users_oidc_id',
    'idx_users_lark_id',
    'idx_users_aff_code',
    'idx_users_inviter_id',
    'idx_abilities_priority',
  ]
  for (const index of indexes) await database.run(`DROP INDEX ${index}`)
  for (const [table, columns] of Object.entries(LATER_COLUMNS)) {
    for (const column of columns) await database.run(`ALTER TABLE ${table} DROP COLUMN ${column}`)
  }
}

const LISTS = [
  '/api/user/',
  '/api/user/search?keyword=',
  '/api/token/',
  '/api/channel/',
  '/api/redemption/',
  '/api/log/',
  '/api/log/stat',
  '/api/user/dashboard',
  '/api/option/',
]

async function expectListsAnswer(database: PlainDatabase): Promise<void> {
  const server = await startTestServer(() => Promise.resolve(database.location))
  const as = await signIn(server)
  for (const path of LISTS) {
    const { status, json } = await server.call('GET', path, { as })
    expect([path, status, json['success'], json['message']]).toEqual([path, 200, true, ''])
  }
  expect(server.faults).toEqual([])
  await server.close()
}

describe.each(FIXTURES_BY_ENGINE)('on %s', (engine, open) => {
  test('an older version gets the columns it lacks, and keeps what it has', async () => {
    const database = await open()
    await dropLaterColumns(database)
    const before = await oneApiRows(database)
    await adopt(database)
    const columns = (table: keyof typeof before) => Object.keys(before[table][0] ?? {})
    expect(await oneApiRows(database, columns)).toEqual(before)
    expect(
      await database.rows('SELECT request_id, elapsed_time, is_stream FROM logs WHERE id = 11'),
    ).toEqual([{ request_id: '', elapsed_time: 0, is_stream: 0 }])
    expect(
      await database.rows('SELECT models, subnet, used_quota FROM tokens WHERE id = 11'),
    ).toEqual([{ models: null, subnet: '', used_quota: 0 }])
    await expectBalanced(database)
    await expectListsAnswer(database)
  })

  test('rows with nothing in them are read as zeros, and stay', async () => {
    const database = await open()
    await database.run(`INSERT INTO users (id, username, password) VALUES (70, 'bare', '')`)
    await database.run(`UPDATE users SET display_name = NULL, role = NULL, status = NULL,
      email = NULL, access_token = NULL, quota = NULL, used_quota = NULL, request_count = NULL,
      "group" = NULL, aff_code = NULL, inviter_id = NULL WHERE id = 70`)
    await database.run(`INSERT INTO tokens (id, user_id, "key", status, expired_time, remain_quota,
      unlimited_quota, used_quota, subnet) VALUES (70, 1, 'bare', NULL, NULL, NULL, NULL, NULL, NULL)`)
    await database.run(`INSERT INTO channels (id, type, status, weight, base_url, "group",
      used_quota, model_mapping, priority) VALUES
      (70, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
    await database.run(`INSERT INTO redemptions (id, status, quota) VALUES (70, NULL, NULL)`)
    await database.run(`INSERT INTO logs (id, type, username, token_name, model_name, quota,
      prompt_tokens, completion_tokens, request_id, elapsed_time, is_stream, system_prompt_reset)
      VALUES (70, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
    await database.run(`INSERT INTO options VALUES ('About', NULL)`)
    const before = await oneApiRows(database)
    await adopt(database)
    const columns = (table: keyof typeof before) => Object.keys(before[table][0] ?? {})
    expect(await oneApiRows(database, columns)).toEqual(before)
    await expectBalanced(database)
    await expectListsAnswer(database)
  })

  test('figures and times that cannot be right change no balance and do not upset the books', async () => {
    const database = await open()
    await database.run(`UPDATE users SET quota = -500, used_quota = -3 WHERE id = 3`)
    await database.run(`UPDATE tokens SET remain_quota = -7 WHERE id = 11`)
    // Milliseconds where seconds belong, a negative time, and negative figures.
    await database.run(`UPDATE logs SET created_at = created_at * 1000 WHERE id = 13`)
    await database.run(`UPDATE logs SET created_at = -5 WHERE id = 14`)
    await database.run(`UPDATE logs SET quota = -9, prompt_tokens = -4 WHERE id = 15`)
    await database.run(`UPDATE redemptions SET redeemed_time = 1795262182000 WHERE id = 1`)
    const before = await oneApiRows(database)
    await adopt(database)
    const columns = (table: keyof typeof before) => Object.keys(before[table][0] ?? {})
    expect(await oneApiRows(database, columns)).toEqual(before)
    await expectBalanced(database)
    await expectListsAnswer(database)
  })

  test('new ids start above all that were ever named', async () => {
    const database = await open()
    await database.run(`UPDATE logs SET channel_id = 90, user_id = 80 WHERE id = 11`)
    await adopt(database)
    const server = await startTestServer(() => Promise.resolve(database.location))
    const as = await signIn(server)
    const channel = { type: 1, name: 'new', key: 'k', models: 'm', group: 'default' }
    const made = await server.call('POST', '/api/channel/', { as, body: channel })
    expect(made.json).toMatchObject({ success: true })
    const user = { username: 'newcomer', password: 'password1' }
    const joined = await server.call('POST', '/api/user/', { as, body: user })
    expect(joined.json).toMatchObject({ success: true })
    expect(await database.rows(`SELECT id FROM channels WHERE name = 'new'`)).toEqual([{ id: 91 }])
    expect(await database.rows(`SELECT id FROM users WHERE username = 'newcomer'`)).toEqual([
      { id: 81 },
    ])
    await server.close()
  })

  test('options that do not fit do not stop the start; no retries and the old price stay', async () => {
    const database = await open()
    await database.run(`UPDATE options SET value = 'not json' WHERE "key" = 'GroupRatio'`)
    // One API completes what is saved with its own list, and one ratio of that is below zero.
    await database.run(`DELETE FROM options WHERE "key" IN ('ModelRatio', 'CompletionRatio');
      INSERT INTO options VALUES
        ('ModelRatio', '{"openrouter/auto":-500000,"mine":7.142857142857143,"odd":"x"}'),
        ('CompletionRatio', '{"deepseek-reasoner":3.9818181818181815,"mine":99999999}')`)
    await database.run(`INSERT INTO options VALUES ('QuotaForInviter', 'many'), ('Unheard', 'x'),
      ('ChannelDisableThreshold', ''), ('Theme', 'dark')`)
    await database.run(`DELETE FROM options WHERE "key" = 'RegisterEnabled';
      INSERT INTO options VALUES ('RegisterEnabled', 'no')`)
    await adopt(database)
    const server = await startTestServer(() => Promise.resolve(database.location))
    const { options } = server.app
    expect(options.number('RetryTimes')).toBe(0)
    expect(options.ratios().otherwise).toBe('30')
    // One API closes registration for any value other than `true`.
    expect(options.flag('RegisterEnabled')).toBe(false)
    expect(options.number('QuotaForInviter')).toBe(0)
    expect(options.ratios().group.size).toBe(0)
    // The operator's prices are kept, even with invalid entries beside them.
    const { model, completion } = options.ratios()
    expect([model.get('mine'), model.has('odd')]).toEqual(['7.142857142857143', false])
    expect(completion.get('deepseek-reasoner')).toBe('3.9818181818181815')
    expect(completion.get('mine')).toBe('1000000')
    // Values that the settings page received can be saved again.
    for (const { key, value } of options.listed().filter((option) => /^Mod|^Comp/.test(option.key)))
      await options.set(key, value)
    expect(options.ratios().model.get('mine')).toBe('7.142857142857143')
    await database.run(`INSERT INTO options VALUES ('DefaultModelRatio', 'abc')`)
    await options.reload()
    expect(options.ratios().otherwise).toBeUndefined()
    await server.close()
    await expectListsAnswer(database)
  })

  test('other tables are left alone, and a database of another program altogether', async () => {
    const database = await open()
    await database.run('CREATE TABLE quota_data (id integer, note text)')
    await database.run(`INSERT INTO quota_data VALUES (1, 'kept')`)
    await adopt(database)
    expect(await database.rows('SELECT note FROM quota_data')).toEqual([{ note: 'kept' }])
    const foreign = await emptyDatabase(engine)
    await foreign.run('CREATE TABLE users (id integer, email text)')
    await expect(openDatabase(foreign.location)).rejects.toThrow(
      'the database belongs to another program: its table users has no column username',
    )
    expect(await foreign.rows('SELECT * FROM users')).toEqual([])
    const first = await open()
    await first.run('ALTER TABLE channels DROP COLUMN models')
    await expect(openDatabase(first.location)).rejects.toThrow(
      'channels has no column models, or to One API before 0.4; start a later version on it first',
    )
  })

  test('names of ours that another program has taken are named beforehand, and nothing changes', async () => {
    const database = await open()
    await database.run('CREATE TABLE sessions (token text)')
    await database.run('ALTER TABLE users ADD COLUMN limited integer')
    const before = await oneApiRows(database)
    const sentence =
      'nother program uses names that Gatehouse needs: table sessions, column users.limited; rename them'
    const bare = await openBare(database.location, { readonly: true })
    const { origin, lines } = await reportAdoption(bare)
    await bare.close()
    expect([origin.kind, lines]).toEqual(['foreign', [expect.stringContaining(`A${sentence}`)]])
    await expect(openDatabase(database.location)).rejects.toThrow(`a${sentence}`)
    expect(await oneApiRows(database)).toEqual(before)
    await database.run('ALTER TABLE sessions RENAME TO other_sessions')
    await database.run('ALTER TABLE users RENAME COLUMN limited TO other_limited')
    await adopt(database)
    await expectListsAnswer(database)
  })

  test('columns of others that nothing fills are named beforehand, and nothing changes', async () => {
    const database = await open()
    await database.run(`ALTER TABLE tokens ADD COLUMN team text NOT NULL DEFAULT 'none';
      CREATE TABLE made (id integer PRIMARY KEY, user_id integer, "key" char(32), status integer,
        name text, quota integer, created_time integer, redeemed_time integer, batch text NOT NULL);
      DROP TABLE redemptions`)
    await database.run('ALTER TABLE made RENAME TO redemptions')
    const sentence = 'nknown columns are required and have no default: redemptions.batch;'
    const bare = await openBare(database.location, { readonly: true })
    expect((await reportAdoption(bare)).lines).toEqual([expect.stringContaining(`U${sentence}`)])
    await bare.close()
    await expect(openDatabase(database.location)).rejects.toThrow(`u${sentence}`)
    await database.run('ALTER TABLE redemptions DROP COLUMN batch')
    await adopt(database)
    await expectListsAnswer(database)
  })

  test('a table of ours stands in the way in an empty database too', async () => {
    const database = await emptyDatabase(engine)
    await database.run('CREATE TABLE schema_migrations (version bigint, dirty boolean)')
    await expect(openDatabase(database.location)).rejects.toThrow(
      'names that Gatehouse needs: table schema_migrations;',
    )
  })

  test('rows with ids beyond counting get others, wherever they are named', async () => {
    const database = await open()
    await database.run(`INSERT INTO users (id, username, password, quota)
        VALUES (9223372036854775806, 'far', '', 7);
      INSERT INTO tokens (id, user_id, "key", name, remain_quota)
        VALUES (-9007199254740993, 9223372036854775806, 'far', 'far', 5);
      INSERT INTO channels (id, type, "key", name, models) VALUES (9007199254740993, 1, 'k', 'far', 'm');
      INSERT INTO abilities ("group", model, channel_id, enabled)
        VALUES ('default', 'm', 9007199254740993, true);
      INSERT INTO redemptions (id, user_id, "key") VALUES (9007199254740993, 1, 'far');
      INSERT INTO logs (id, user_id, created_at, type, content, quota, channel_id)
        VALUES (9223372036854775807, 9223372036854775806, 1700000000, 2, 'far', 3, 9007199254740993),
          (9223372036854775806, 1, 1700000000, 2, 'near', 4, 1)`)
    const bare = await openBare(database.location, { readonly: true })
    const { lines } = await reportAdoption(bare)
    await bare.close()
    expect(lines).toContain(
      '  2 logs have ids out of range; they get new ones (9223372036854775806, 9223372036854775807)',
    )
    await adopt(database)
    await expectBalanced(database)
    await expectListsAnswer(database)
    expect(
      await database.rows(`SELECT l.id, u.username, t.name AS token, c.name AS channel, a.model
        FROM logs AS l JOIN users AS u ON u.id = l.user_id JOIN tokens AS t ON t.user_id = u.id
        JOIN channels AS c ON c.id = l.channel_id JOIN abilities AS a ON a.channel_id = c.id
        WHERE l.content = 'far'`),
    ).toEqual([{ id: 29, username: 'far', token: 'far', channel: 'far', model: 'm' }])
    expect(
      await database.rows('SELECT sum(quota) AS spent FROM usage_daily WHERE user_id = 7'),
    ).toEqual([{ spent: 3 }])
  })

  test('a balance of a channel that is no number does not fail the list of all', async () => {
    const database = await open()
    const [none, endless] = engine === 'sqlite' ? [`'n/a'`, '9e999'] : [`'NaN'`, `'Infinity'`]
    await database.run(`UPDATE channels SET balance = ${none} WHERE id = 1;
      UPDATE channels SET balance = ${endless} WHERE id = 2;
      UPDATE channels SET balance = 12.75 WHERE id = 3`)
    await adopt(database)
    const rows = await database.rows('SELECT balance FROM channels WHERE id < 4 ORDER BY id')
    expect(rows.map(({ balance }) => Number(balance))).toEqual([0, 2 ** 50, 12.75])
    await expectListsAnswer(database)
  })

  test('what fails in the middle leaves everything as it was', async () => {
    const database = await open()
    // A foreign index with one of our names stops the migration halfway.
    await database.run('CREATE INDEX gh_usage_hourly_hour ON users (quota)')
    const before = await oneApiRows(database)
    await expect(openDatabase(database.location)).rejects.toThrow(/gh_usage_hourly_hour/)
    expect(await oneApiRows(database)).toEqual(before)
    await database.run('DROP INDEX gh_usage_hourly_hour')
    await adopt(database)
    await expectBalanced(database)
  })
})

async function emptyDatabase(engine: string): Promise<PlainDatabase> {
  if (engine === 'sqlite') return plainSqlite(`${newFolder()}/other.db`)
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  return plainPostgres(url)
}

test('bytes where a SQLite file should have texts become the texts they spell', async () => {
  const database = sqliteFixture()
  await database.run(`UPDATE users SET display_name = X'E4BDA0E5A5BD' WHERE id = 2;
    UPDATE channels SET name = X'80', model_mapping = X'7B7D' WHERE id = 1;
    UPDATE options SET value = CAST('ours' AS blob) WHERE "key" = 'SystemName';
    UPDATE options SET value = CAST(value AS blob) WHERE "key" = 'ModelRatio';
    UPDATE logs SET content = X'6869' WHERE id = 11`)
  const bare = await openBare(database.location, { readonly: true })
  const { lines } = await reportAdoption(bare)
  await bare.close()
  expect(lines).toContain(
    '  2 options have bytes in text columns; they are converted to text (ModelRatio, SystemName)',
  )
  await adopt(database)
  expect(
    await database.rows(`SELECT display_name, (SELECT hex(name) FROM channels WHERE id = 1) AS name,
      (SELECT value FROM options WHERE "key" = 'SystemName') AS option,
      (SELECT content FROM logs WHERE id = 11) AS content FROM users WHERE id = 2`),
  ).toEqual([{ display_name: '你好', name: '80', option: 'ours', content: 'hi' }])
  await expectListsAnswer(database)
})

test('bytes that are no text stay as they are in a SQLite file', async () => {
  const database = sqliteFixture()
  await database.run(`UPDATE logs SET content = CAST(x'61ff62' AS text) WHERE id = 11`)
  await database.run(`UPDATE users SET display_name = CAST(x'fe' AS text) WHERE id = 2`)
  await adopt(database)
  expect(await database.rows(`SELECT hex(content) AS bytes FROM logs WHERE id = 11`)).toEqual([
    { bytes: '61FF62' },
  ])
  await expectBalanced(database)
  await expectListsAnswer(database)
})

test('a PostgreSQL database whose ids lost their sequences gets new ones', async () => {
  const database = await postgresFixture()
  await database.run('ALTER TABLE users ALTER COLUMN id DROP DEFAULT')
  await database.run('DROP SEQUENCE users_id_seq')
  await database.run(`SELECT setval('tokens_id_seq', 1)`)
  await adopt(database)
  expect(
    await database.rows(`SELECT nextval(pg_get_serial_sequence('users', 'id')) AS u,
      nextval(pg_get_serial_sequence('tokens', 'id')) AS t`),
  ).toEqual([{ u: 7, t: 21 }])
})

test('columns that PostgreSQL cannot change are reported before the adoption', async () => {
  const database = await postgresFixture()
  await database.run('CREATE VIEW report AS SELECT u."group", c.name FROM users u, channels c')
  const bare = await openBare(database.location)
  onTestFinished(() => bare.close())
  const told = async () => (await reportAdoption(bare)).lines.join('\n')
  expect(await told()).toContain('1 views read columns whose type must change')
  expect(await told()).toContain('(report)')
  await expect(adopt(database)).rejects.toThrow(/1 views read columns .* until they are dropped/)
  await database.run(`DROP VIEW report;
    CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE TRIGGER regrouped AFTER UPDATE OF "group" ON users
      FOR EACH ROW EXECUTE FUNCTION nothing();
    CREATE TRIGGER changed AFTER UPDATE ON users FOR EACH ROW EXECUTE FUNCTION nothing();
    CREATE POLICY vips ON users USING ("group" = 'vip');
    ALTER TABLE channels ADD COLUMN groups text GENERATED ALWAYS AS ("group" || ',') STORED`)
  const three =
    /3 database rules .* \(default value for column groups .*, policy vips .*, trigger regrouped on table users\)/
  expect(await told()).toMatch(three)
  await expect(adopt(database)).rejects.toThrow(three)
  await database.run(`DROP TRIGGER regrouped ON users; DROP POLICY vips ON users;
    ALTER TABLE channels DROP COLUMN groups`)
  expect(await told()).not.toContain('adoption stops')
  await sql`SET ROLE pg_read_all_data`.execute(bare.db)
  expect(await told()).toContain('7 tables belong to another role')
})
