import { describe, expect, onTestFinished, test } from 'vitest'
import { openBare } from '../db/database.ts'
import { adopt, reportOf } from '../test/adopting.ts'
import {
  FIXTURES_BY_ENGINE,
  newFolder,
  plainPostgres,
  plainSqlite,
  sqliteFixture,
  type PlainDatabase,
} from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { startTestServer } from '../test/test-app.ts'
import { loadDumps } from './import-dump.ts'
import { subnetsOf } from './relative/subnets.ts'

/**
 * Databases with numbers that JavaScript cannot represent exactly, and those of programs derived
 * from One API.
 */

const MOST = 2 ** 50

async function expectUserListAnswers({ location }: PlainDatabase): Promise<void> {
  const server = await startTestServer(() => Promise.resolve(location))
  const body = { username: 'root', password: 'RootPass1' }
  const { headers } = await server.call('POST', '/api/user/login', { body })
  const as = { cookie: String(headers['set-cookie']).split(';')[0] ?? '' }
  for (const path of ['/api/user/', '/api/user/2', '/api/redemption/', '/api/log/']) {
    const { json, status } = await server.call('GET', path, { as })
    expect([path, status, json['success']]).toEqual([path, 200, true])
  }
  expect(server.faults).toEqual([])
  await server.close()
}

describe.each(FIXTURES_BY_ENGINE)('on %s', (_engine, open) => {
  // One row that cannot be counted with must not fail the lists of all.
  test('a row of nines is the most there can be, and every list answers', async () => {
    const database = await open()
    await database.run(`UPDATE users SET quota = 1000000000000000000 WHERE id = 2;
      UPDATE tokens SET remain_quota = 9223372036854775807, expired_time = -9223372036854775807
        WHERE id = 11;
      UPDATE redemptions SET quota = 999999999999999999 WHERE id = 2;
      UPDATE logs SET quota = 9223372036854775807 WHERE id = 11`)
    expect(await reportOf(database)).toMatch(/1 users have fractional figures.*out of range.*\(2\)/)
    expect(await adopt(database)).toMatch(/1 tokens had fractional figures or figures out of range/)
    expect(
      await database.rows(`SELECT (SELECT quota FROM users WHERE id = 2) AS u,
        (SELECT quota FROM redemptions WHERE id = 2) AS r,
        (SELECT quota FROM logs WHERE id = 11) AS l, remain_quota, expired_time
        FROM tokens WHERE id = 11`),
    ).toEqual(
      [{ u: MOST, r: MOST, l: MOST, remain_quota: MOST, expired_time: -MOST }].map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, big(value)])),
      ),
    )
    await expectUserListAnswers(database)
  })

  test('keys that two rows share are named beforehand, and stop it before anything changes', async () => {
    const database = await open()
    await database.run(`DROP INDEX idx_tokens_key;
      UPDATE tokens SET "key" = (SELECT "key" FROM tokens WHERE id = 11) WHERE id = 12`)
    const found = await reportOf(database)
    expect(found).toMatch(/2 tokens have the same key as another.*\(11, 12\)/)
    await expect(adopt(database)).rejects.toThrow(
      /^2 tokens have the same key as another.*\(11, 12\)/,
    )
    expect(await reportOf(database)).toBe(found)
  })

  test('what a relative has deleted, limited or let expire is not open again', async () => {
    const database = await open()
    await database.run(RELATIVE)
    const before = await reportOf(database)
    expect(before).toMatch(/other columns, not changed: .*tokens\.model_limits/)
    // It is read here too.
    expect(before).not.toMatch(/not changed: .*channels\.test_model/)
    expect(before).toMatch(/1 tokens are marked as deleted.*\(11\)/)
    expect(before).toMatch(/1 tokens have their own group.*\(13\)/)
    expect(before).toMatch(/1 tokens choose their group per call.*\(14\)/)
    const said = await adopt(database)
    expect(said).toContain('2 model and address lists of tokens')
    expect(said).toContain('1 token groups were taken over')
    expect(await database.rows('SELECT * FROM token_groups')).toEqual([
      { token_id: expect.toSatisfy((id: unknown) => Number(id) === 13), group: 'vip' },
    ])
    // By default every user can use these.
    expect(
      await database.rows(`SELECT value FROM options WHERE "key" = 'UserUsableGroups'`),
    ).toEqual([{ value: '{"default":"默认分组","vip":"vip分组"}' }])
    await database.run(`UPDATE channels SET test_model = '${'m'.repeat(256)}' WHERE id = 2`)
    expect(await database.rows('SELECT test_model FROM channels WHERE id = 3')).toEqual([
      { test_model: 'gpt-4o' },
    ])
    await expectRetired(database)
  })
})

/** PostgreSQL's whole numbers of this size arrive as texts. */
const big = (value: number): unknown =>
  expect.toSatisfy((given: unknown) => Number(given) === value)

const RELATIVE = `
  ALTER TABLE users ADD COLUMN deleted_at timestamp;
  UPDATE users SET deleted_at = '0001-01-01 00:00:00' WHERE id = 2;
  ALTER TABLE tokens ADD COLUMN deleted_at timestamp;
  ALTER TABLE tokens ADD COLUMN model_limits_enabled boolean;
  ALTER TABLE tokens ADD COLUMN model_limits varchar(1024) DEFAULT '';
  ALTER TABLE tokens ADD COLUMN allow_ips text DEFAULT '';
  ALTER TABLE tokens ADD COLUMN "group" text DEFAULT '';
  ALTER TABLE channels ADD COLUMN deleted_at bigint DEFAULT 0;
  ALTER TABLE channels ADD COLUMN test_model varchar(50);
  UPDATE channels SET test_model = 'gpt-4o' WHERE id = 3;
  ALTER TABLE redemptions ADD COLUMN deleted_at timestamp;
  ALTER TABLE redemptions ADD COLUMN expired_time bigint DEFAULT 0;
  UPDATE users SET deleted_at = '2026-01-02 03:04:05' WHERE id = 4;
  UPDATE tokens SET deleted_at = '2026-01-02 03:04:05', status = 1 WHERE id = 11;
  UPDATE tokens SET model_limits_enabled = true, model_limits = 'gpt-4o,gpt-4',
    models = NULL, subnet = '', allow_ips = '10.0.0.0/8' || chr10 || '192.0.2.7' WHERE id = 12;
  UPDATE tokens SET model_limits_enabled = false, model_limits = 'gpt-4o', models = '',
    "group" = 'vip' WHERE id = 13;
  UPDATE tokens SET model_limits_enabled = true, status = 1, "group" = 'auto' WHERE id = 14;
  UPDATE channels SET deleted_at = 1767225600 WHERE id = 1;
  UPDATE redemptions SET status = 1;
  UPDATE redemptions SET deleted_at = '2026-01-02 03:04:05' WHERE id = 1;
  UPDATE redemptions SET expired_time = 1700000000 WHERE id = 2;
  UPDATE redemptions SET expired_time = 32503680000 WHERE id = 3`.replace('chr10', `'\n'`)

async function expectRetired(database: PlainDatabase): Promise<void> {
  expect(await database.rows('SELECT status FROM users WHERE id IN (2, 4) ORDER BY id')).toEqual([
    { status: 1 },
    { status: 3 },
  ])
  expect(
    await database.rows(`SELECT id, status, models, subnet FROM tokens
      WHERE id IN (11, 12, 13, 14) ORDER BY id`),
  ).toMatchObject([
    { id: 11, status: 2 },
    { id: 12, models: 'gpt-4o,gpt-4', subnet: '10.0.0.0/8,192.0.2.7/32' },
    { id: 13, models: '' },
    { id: 14, status: 2 },
  ])
  expect(await database.rows('SELECT status FROM channels WHERE id = 1')).toEqual([{ status: 2 }])
  expect(await database.rows('SELECT model FROM abilities WHERE channel_id = 1')).toEqual([])
  expect(
    await database.rows('SELECT id, status FROM redemptions WHERE id < 4 ORDER BY id'),
  ).toEqual([
    { id: 1, status: 2 },
    { id: 2, status: 2 },
    { id: 3, status: 1 },
  ])
}

test('an id that is rubbish is not counted on from', async () => {
  const database = sqliteFixture()
  await database.run('UPDATE redemptions SET id = 9223372036854775807 WHERE id = 1')
  await adopt(database)
  expect(await database.rows(`SELECT next FROM id_counters WHERE name = 'redemptions'`)).toEqual(
    await database.rows('SELECT max(id) + 1 AS next FROM redemptions WHERE id < 1e12'),
  )
})

test('fractions and words where SQLite should have whole numbers are cut', async () => {
  const database = sqliteFixture()
  await database.run(`UPDATE users SET quota = 1.9, used_quota = 'abc' WHERE id = 2;
    UPDATE users SET quota = '12abc', request_count = 1e19 WHERE id = 3;
    UPDATE tokens SET unlimited_quota = 'true' WHERE id = 11;
    UPDATE tokens SET unlimited_quota = 'f' WHERE id = 12;
    UPDATE tokens SET unlimited_quota = NULL, remain_quota = 0.5 WHERE id = 13`)
  await adopt(database)
  expect(
    await database.rows(`SELECT quota, used_quota, request_count FROM users
      WHERE id IN (2, 3) ORDER BY id`),
  ).toMatchObject([
    { quota: 1, used_quota: 0 },
    { quota: 12, request_count: MOST },
  ])
  expect(
    await database.rows(`SELECT unlimited_quota AS u FROM tokens
      WHERE id IN (11, 12, 13) ORDER BY id`),
  ).toEqual([{ u: 1 }, { u: 0 }, { u: null }])
  await expectUserListAnswers(database)
})

/** As much of a relative's dump as it takes; a table of its own among them. */
const DUMP = `-- MySQL dump 10.13\r\n/*!40101 SET NAMES utf8mb4 */;\r\n
CREATE TABLE \`users\` (\`id\` bigint, \`username\` varchar(191), \`password\` longtext,
  \`role\` bigint, \`status\` bigint, \`quota\` bigint, \`group\` varchar(64), \`setting\` text,
  \`deleted_at\` datetime(3) DEFAULT NULL, PRIMARY KEY (\`id\`));\r\n
INSERT INTO \`users\` VALUES (1,'root','$2a$10$x',100,1,1000000000000000000,'default','{}',NULL),
  (2,'\u4f60\u597d\u{1f600}','',1,1,5,'${'g'.repeat(64)}',NULL,'2026-01-02 03:04:05.000');\r\n
CREATE TABLE tokens (id bigint, user_id bigint, \`key\` varchar(128), status bigint, name text,
  remain_quota bigint, unlimited_quota tinyint(1), model_limits_enabled tinyint(1),
  model_limits text, allow_ips longtext, deleted_at datetime(3), \`group\` varchar(64));
INSERT INTO tokens VALUES
  (1,1,'${'k'.repeat(48)}',1,'a',1e3,0,1,'gpt-4o','192.0.2.7\\n2001:db8::1',NULL,'svip'),
  (2,1,'${'d'.repeat(48)}',1,'b',5,1,0,'','','2026-01-02 03:04:05.000','');
CREATE TABLE channels (id bigint, type bigint, \`key\` text, status bigint, name text, models text);
INSERT INTO channels VALUES (1,43,_binary 'sk-\\'x',1,'c','m');
INSERT INTO midjourneys VALUES (1);\r\n-- Dump completed on 2026-01-02  3:04:05\r\n`

const NEW_DATABASES: [string, () => PlainDatabase | Promise<PlainDatabase>][] = [
  ['sqlite', () => plainSqlite(`${newFolder()}/new.db`)],
  [
    'postgres',
    async () => {
      const { url, drop } = await createTestDatabase()
      onTestFinished(drop)
      return plainPostgres(url)
    },
  ],
]

async function* bytesOf(dump: string): AsyncGenerator<Buffer> {
  yield Buffer.from(dump)
}

/** Returns the output of this time. */
async function load({ location }: PlainDatabase, ...dumps: string[]): Promise<string> {
  const lines: string[] = []
  const bare = await openBare(location)
  try {
    await loadDumps(bare, dumps.map(bytesOf), (line) => void lines.push(line))
  } finally {
    await bare.close()
  }
  return lines.join('\n')
}

test.each(NEW_DATABASES)(
  "a relative's dump comes into %s with what it has shut",
  async (_engine, open) => {
    const database = await open()
    await load(database, DUMP)
    await adopt(database)
    expect(await database.rows('SELECT username, status, "group" FROM users ORDER BY id')).toEqual([
      { username: 'root', status: 1, group: 'default' },
      { username: '你好😀', status: 3, group: 'g'.repeat(64) },
    ])
    expect(
      await database.rows('SELECT status, models, subnet, remain_quota FROM tokens ORDER BY id'),
    ).toEqual([
      { status: 1, models: 'gpt-4o', subnet: '192.0.2.7/32,2001:db8::1/128', remain_quota: 1000 },
      { status: 2, models: null, subnet: '', remain_quota: 5 },
    ])
    expect(await database.rows('SELECT "group" FROM token_groups')).toEqual([{ group: 'svip' }])
    expect(await database.rows('SELECT "key" FROM channels')).toEqual([{ key: "sk-'x" }])
    // The dump has no such table, and without them nothing would be served.
    expect(await database.rows('SELECT "group", model, enabled FROM abilities')).toEqual([
      { group: 'default', model: 'm', enabled: 1 },
    ])
  },
)

/** The least that a dump has to hold. */
const SMALL = `
INSERT INTO users (id, username, password, role, status, quota) VALUES (1,'root','',100,1,5);
INSERT INTO channels (id, type, \`key\`, status, name, models, test_model)
  VALUES (1,1,'k',1,'c','m','gpt-4o');
`
const LOGS = 'INSERT INTO logs (id, user_id, created_at, type, content, quota) VALUES'

test.each(NEW_DATABASES)(
  'texts longer than those of One API come into %s',
  async (_engine, open) => {
    const database = await open()
    const [group, key, access, aff, code] = ['g', 'k', 'a', 'f', 'c'].map((letter) =>
      letter.repeat(60),
    )
    await load(
      database,
      `${SMALL}
    INSERT INTO abilities (\`group\`, model, channel_id, enabled) VALUES ('${group}','m',1,1);
    INSERT INTO users (id, username, password, role, status, quota, access_token, aff_code)
      VALUES (2,'two','',1,1,5,'${access}','${aff}');
    INSERT INTO tokens (id, user_id, \`key\`, status, name, remain_quota) VALUES (1,1,'${key}',1,'t',5);
    INSERT INTO redemptions (id, \`key\`, status, quota) VALUES (1,'${code}',1,5);`,
    )
    await adopt(database)
    expect(
      await database.rows(`SELECT access_token AS access, aff_code AS aff, a."group", t."key",
      r."key" AS code, c.test_model FROM users AS u, abilities AS a, tokens AS t,
      redemptions AS r, channels AS c WHERE u.id = 2`),
    ).toEqual([{ access, aff, group, key, code, test_model: 'gpt-4o' }])
  },
)

test.each(NEW_DATABASES)(
  'figures beyond 64 bits come into %s as the most there can be',
  async (_engine, open) => {
    const database = await open()
    const said = await load(
      database,
      `${SMALL}
    INSERT INTO channels (id, type, \`key\`, status, name, models, weight, priority)
      VALUES (2,1,'k',1,'c','m',18446744073709551615,'-99999999999999999999');
    ${LOGS} (1,1,1700000000,5,'',1.5e20), (2,1,1700000000,5,'',1e30), (3,1,1700000000,5,'',1e17);`,
    )
    expect(said).toMatch(/1 channels had fractional figures or figures out of range/)
    await adopt(database)
    expect(await database.rows('SELECT weight, priority FROM channels WHERE id = 2')).toEqual([
      { weight: big(MOST), priority: big(-MOST) },
    ])
    expect(await database.rows('SELECT DISTINCT quota FROM logs')).toEqual([{ quota: big(MOST) }])
  },
)

test.each(NEW_DATABASES)(
  'the logs of two dumps stand beside each other in %s',
  async (_engine, open) => {
    const database = await open()
    const said = await load(
      database,
      `${SMALL}${LOGS} (1,1,1700000000,2,'old',1), (2,NULL,1700000001,2,'in both',2);`,
      `${LOGS} (1,1,1800000000,2,'new',4), (2,NULL,1700000001,2,'in both',2),
      (3,1,1800000002,2,'newer',8);`,
    )
    expect(said).toContain('1 log rows were in two dumps; they were loaded once')
    await adopt(database)
    expect(await database.rows('SELECT id, content FROM logs ORDER BY id')).toEqual([
      { id: 1, content: 'old' },
      { id: 2, content: 'in both' },
      { id: 3, content: 'new' },
      { id: 5, content: 'newer' },
    ])
    expect(await database.rows('SELECT sum(quota) AS spent FROM usage_daily')).toEqual([
      { spent: 15 },
    ])
  },
)

test.each([
  ['192.0.2.7', '192.0.2.7/32'],
  ['10.0.0.0/8\r\n ::1 ,,', '10.0.0.0/8,::1/128'],
  ['office', 'office'],
  [' \n', ''],
])('the addresses %j are the blocks %j', (addresses, blocks) => {
  expect(subnetsOf(addresses)).toBe(blocks)
})
