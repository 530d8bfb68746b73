import Sqlite from 'better-sqlite3'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import {
  MYSQL_DUMP,
  newFolder,
  plainSqlite,
  postgresFixture,
  sqliteFixture,
} from '../test/one-api-databases.ts'
import { runCommand } from '../test/run-command.ts'
import { runProgram } from '../test/run-program.ts'

const fileOf = ({ location }: ReturnType<typeof sqliteFixture>): string => {
  if (location.engine !== 'sqlite') throw new Error('this one is a file')
  return location.path
}

test('--dry-run says what is there and what looks wrong, and changes not a byte', async () => {
  const database = sqliteFixture()
  await database.run(`UPDATE users SET email = 'bob@example.com', role = 100 WHERE id = 4;
    UPDATE users SET quota = -1 WHERE id = 3;
    UPDATE tokens SET user_id = 99 WHERE id = 11;
    UPDATE channels SET base_url = 'https://example.com/v1', type = 999 WHERE id = 2;
    UPDATE channels SET model_mapping = '{broken' WHERE id = 3;
    UPDATE channels SET models = '' WHERE id = 4;
    DELETE FROM channels WHERE id = 7;
    UPDATE logs SET created_at = created_at * 1000 WHERE id = 12;
    UPDATE users SET used_quota = 1.5 WHERE id = 2;
    INSERT INTO options VALUES ('Unheard', 'x'), ('SMTPPort', 'door');
    UPDATE options SET value = '{"a":' WHERE "key" = 'ModelRatio'`)
  const file = fileOf(database)
  const before = fs.readFileSync(file)
  // As unit files of the family have it.
  const env = { SQLITE_PATH: `${file}?_busy_timeout=5000` }
  const { code, out, err } = await runCommand(['adopt', '--dry-run'], env)
  expect([code, err]).toEqual([0, ''])
  for (const line of [
    /Written by One API 0\.6\.11/,
    /^ {2}logs +27 rows$/m,
    /opening row in the ledger/,
    /1 users have a negative balance.*\(3\)/,
    /1 tokens belong to missing users.*\(11\)/,
    /1 e-mail addresses belong to several users.*\(bob@example\.com\)/,
    /2 users are root.*\(1, 4\)/,
    /1 channels have a base address that ends in \/v1.*\(2\)/,
    /1 channels have an unknown type.*\(2\)/,
    /1 channels have a model mapping that is not a JSON object.*\(3\)/,
    /1 enabled channels list no models.*\(4\)/,
    /1 abilities belong to missing channels.*\(7\)/,
    /1 log rows have no time, or a time in the future.*\(12\)/,
    /1 users have fractional figures or figures out of range.*\(2\)/,
    /1 options are unknown.*\(Unheard\)/,
    /option has an invalid value.*\(SMTPPort\)/,
    /option has an invalid value.*\(ModelRatio\)/,
    /Nothing was changed/,
  ]) {
    expect(out).toMatch(line)
  }
  expect(out).not.toContain('smtp-secret')
  expect(fs.readFileSync(file).equals(before)).toBe(true)
})

test('--dry-run and adopt read a file that One API was killed over, as it was before', async () => {
  const database = sqliteFixture()
  const file = fileOf(database)
  const before = await database.rows('SELECT id, quota FROM users ORDER BY id')
  const killed = path.join(newFolder(), 'killed.db')
  const writer = new Sqlite(file)
  // Pages that do not fit into memory are in the file before the transaction ends.
  writer.exec(`PRAGMA cache_size = 2; BEGIN; UPDATE users SET quota = 0;
    INSERT INTO logs (content) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4000)
      SELECT hex(randomblob(100)) FROM n`)
  for (const end of ['', '-journal']) fs.copyFileSync(`${file}${end}`, `${killed}${end}`)
  writer.close()
  const env = { SQLITE_PATH: killed }
  const looked = await runCommand(['adopt', '--dry-run'], env)
  expect([looked.code, looked.err]).toEqual([0, ''])
  expect(looked.out).toMatch(/^ {2}logs +27 rows$/m)
  expect(await runCommand(['adopt'], env)).toMatchObject({ code: 0 })
  const after = await plainSqlite(killed).rows('SELECT id, quota FROM users ORDER BY id')
  expect(after).toEqual(before)
})

test('adopt reports each step, reconcile then finds no difference, and a second run changes nothing', async () => {
  const file = fileOf(sqliteFixture())
  const env = { SQLITE_PATH: file }
  const first = await runCommand(['adopt'], env)
  expect(first.code).toBe(0)
  expect(first.err).toMatch(
    /copied the original file to .*before-gatehouse[^]*the database was adopted/,
  )
  expect(await runCommand(['reconcile'], env)).toMatchObject({ code: 0 })
  const second = await runCommand(['adopt'], env)
  expect(second).toMatchObject({ code: 0, err: '' })
  expect(second.out).toContain('already')
  const copies = fs.readdirSync(path.dirname(file)).filter((name) => name.includes('before'))
  expect(copies).toHaveLength(1)
})

test('adopt stops before a user loses a second factor, unless the operator accepts it', async () => {
  const database = sqliteFixture()
  await database.run(`ALTER TABLE users ADD COLUMN totp_secret varchar(64);
    UPDATE users SET totp_secret = 'unreadable' WHERE id = 4`)
  const env = { SQLITE_PATH: fileOf(database) }
  const tables = () => database.rows('SELECT name FROM sqlite_master ORDER BY name')
  const before = await tables()
  const refused = await runCommand(['adopt'], env)
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringMatching(
      /1 users have a second factor that cannot be read.* \(4\).*--accept-losses/,
    ),
  ])
  expect(await tables()).toEqual(before)
  const accepted = await runCommand(['adopt', '--accept-losses'], env)
  expect([accepted.code, accepted.err]).toEqual([
    0,
    expect.stringMatching(/set one up again \(4\)[^]*the database was adopted/),
  ])
})

test('the data folder of One API becomes ours as it is, and stays the database', async () => {
  const file = fileOf(sqliteFixture())
  const DATA_DIR = newFolder()
  const oneApiFile = path.join(DATA_DIR, 'one-api.db')
  fs.copyFileSync(file, oneApiFile)
  const first = await runCommand(['adopt'], { DATA_DIR })
  expect([first.code, first.err]).toEqual([0, expect.stringContaining('the database was adopted')])
  const names = fs.readdirSync(DATA_DIR).map((name) => name.replace(/gatehouse-\d+-\d+$/, '…'))
  expect(names.toSorted()).toEqual(['one-api.db', 'one-api.db.before-…'])
  expect((await runCommand(['reconcile'], { DATA_DIR })).out).toContain('0 differences')
})

test('a one-api.db beside our database is ignored, and startup reports it', async () => {
  const DATA_DIR = newFolder()
  const ours = path.join(DATA_DIR, 'gatehouse.db')
  const oneApiFile = path.join(DATA_DIR, 'one-api.db')
  fs.writeFileSync(ours, '')
  fs.copyFileSync(fileOf(sqliteFixture()), oneApiFile)
  const before = fs.readFileSync(oneApiFile)
  const { program, ended } = runProgram(['serve'], { DATA_DIR, PORT: '0' })
  await once(program.stdout, 'data')
  program.kill('SIGTERM')
  expect((await ended).err).toBe(
    `${oneApiFile} is not used, because ${ours} exists; SQLITE_PATH=${oneApiFile} adopts it\n`,
  )
  expect(fs.readFileSync(oneApiFile).equals(before)).toBe(true)
})

test('adopt works on PostgreSQL and never prints the password of the database', async () => {
  const { location } = await postgresFixture()
  if (location.engine !== 'postgres') throw new Error('this one is on a server')
  const dry = await runCommand(['adopt', '--dry-run'], { SQL_DSN: location.url })
  expect(dry.out).toMatch(/column types change.*channels\.group \(character varying → text\)/)
  const { code, out, err } = await runCommand(['adopt'], { SQL_DSN: location.url })
  expect(code).toBe(0)
  expect(err).toContain('the database was adopted')
  const { password } = new URL(location.url)
  if (password !== '') expect(out + err).not.toContain(password)
})

test('import loads a dump into an empty database only, and says why not', async () => {
  const file = path.join(newFolder(), 'new.db')
  const env = { SQLITE_PATH: file }
  const { code, out } = await runCommand(['import', MYSQL_DUMP], env)
  expect(code).toBe(0)
  expect(out).toMatch(/users: 6 rows[^]*the dump was loaded/)
  expect((await runCommand(['reconcile'], env)).out).toContain('0 differences')
  const again = await runCommand(['import', MYSQL_DUMP], env)
  expect(again).toMatchObject({ code: 1 })
  expect(again.err).toContain('the database is not empty')
  const missing = await runCommand(['import', '/nowhere/dump.sql'], env)
  expect(missing.err).toBe('/nowhere/dump.sql does not exist\n')
  const noFile = await runCommand(['import', path.dirname(file)], env)
  expect(noFile.err).toBe(`${path.dirname(file)} is a folder, and a file is needed\n`)
})

test('a place where import may make no file is named in one line', async () => {
  const folder = newFolder()
  const SQLITE_PATH = path.join(folder, 'new.db')
  fs.symlinkSync(path.join(folder, 'nowhere/else.db'), SQLITE_PATH)
  const { code, err } = await runCommand(['import', MYSQL_DUMP], { SQLITE_PATH })
  expect(code).toBe(1)
  expect(err).toMatch(/^SQLITE_PATH: \S+new\.db cannot be opened: \S+new\.db does not exist\n$/)
})

test('a dump that breaks off leaves the database empty', async () => {
  const folder = newFolder()
  const dump = path.join(folder, 'half.sql')
  const whole = fs.readFileSync(MYSQL_DUMP)
  fs.writeFileSync(dump, whole.subarray(0, whole.length - 300))
  const file = path.join(folder, 'new.db')
  const { code, err } = await runCommand(['import', dump], { SQLITE_PATH: file })
  expect([code, err]).toEqual([1, expect.stringContaining('cut off')])
  expect(await plainSqlite(file).rows('SELECT name FROM sqlite_master')).toEqual([])
})

test.each<[string, (packed: Buffer) => Buffer, string]>([
  ['breaks off', (packed) => packed.subarray(0, packed.length / 2), 'unexpected end of file'],
  ['lacks its last bytes', (packed) => packed.subarray(0, -8), 'unexpected end of file'],
  ['has a wrong sum', (packed) => packed.fill(0, packed.length - 8), 'incorrect data check'],
])('a packed dump that %s says so in one line and leaves nothing', async (_what, spoil, reason) => {
  const folder = newFolder()
  const dump = path.join(folder, 'one-api.sql.gz')
  const packed = gzipSync(fs.readFileSync(MYSQL_DUMP))
  fs.writeFileSync(dump, spoil(Buffer.from(packed)))
  const file = path.join(folder, 'new.db')
  const { code, err } = await runCommand(['import', dump], { SQLITE_PATH: file })
  expect([code, err]).toEqual([1, `${dump}: ${reason}\n`])
  expect(await plainSqlite(file).rows('SELECT name FROM sqlite_master')).toEqual([])
})

test('a dump that is packed otherwise than by gzip is refused by the name of its packer', async () => {
  const dump = path.join(newFolder(), 'one-api.sql.zst')
  fs.writeFileSync(dump, zstdCompressSync(fs.readFileSync(MYSQL_DUMP)))
  const SQLITE_PATH = path.join(newFolder(), 'new.db')
  const { code, err } = await runCommand(['import', dump], { SQLITE_PATH })
  const words = 'is compressed with zstd; decompress it first, or use gzip'
  expect([code, err]).toEqual([1, `${dump}: ${words}\n`])
})

test.each([
  ['a SQLite file', () => fileOf(sqliteFixture()), 'is a SQLite file, which needs no import'],
  ['an archive of pg_dump', () => archive(), 'is a PostgreSQL archive, which needs no import'],
])('%s for a dump is refused, and what to do is said', async (_what, make, words) => {
  const SQLITE_PATH = path.join(newFolder(), 'new.db')
  const { code, err } = await runCommand(['import', make()], { SQLITE_PATH })
  expect([code, err]).toEqual([1, expect.stringContaining(words)])
})

/** As `pg_dump -Fc` begins one. */
function archive(): string {
  const file = path.join(newFolder(), 'one-api.dump')
  fs.writeFileSync(file, Buffer.from('PGDMP\x01\x0e\x00\x04\x08\x01\x01\x01\x00\x00\x00\x00\x00'))
  return file
}

test('a dump that is named twice is refused in words', async () => {
  const SQLITE_PATH = path.join(newFolder(), 'new.db')
  const { code, err } = await runCommand(['import', MYSQL_DUMP, MYSQL_DUMP], { SQLITE_PATH })
  const words = 'two rows of abilities have the same unique value, in one dump or in two'
  expect([code, err]).toEqual([1, expect.stringContaining(words)])
})

test('groups that only MySQL found without looking at capitals are named', async () => {
  const dump = path.join(newFolder(), 'capitals.sql')
  fs.writeFileSync(
    dump,
    `INSERT INTO users (id, username, password, role, status, quota, \`group\`)
      VALUES (1,'root','',100,1,5,'default'), (2,'two','',1,1,5,'VIP');
    INSERT INTO channels (id, type, \`key\`, status, name, models, \`group\`)
      VALUES (1,1,'k',1,'c','m','vip,default');`,
  )
  const SQLITE_PATH = path.join(newFolder(), 'new.db')
  const { code, out } = await runCommand(['import', dump], { SQLITE_PATH })
  expect([code, out]).toEqual([
    0,
    expect.stringContaining('users of the group VIP have no channel: channels have the group vip'),
  ])
  expect(out).not.toContain('group default')
})

test('a SQLite file in use by another program is not adopted, and the error says what to do', async () => {
  const file = fileOf(sqliteFixture())
  const other = new Sqlite(file)
  other.exec('BEGIN')
  other.prepare('SELECT count(*) FROM users').get()
  const { code, err } = await runCommand(['adopt'], { SQLITE_PATH: file })
  other.close()
  expect([code, err]).toEqual([1, expect.stringMatching(/has the file open: stop it first$/m)])
})

test('a log that had a database of its own comes in as a second dump, compressed or not', async () => {
  const folder = newFolder()
  const whole = fs.readFileSync(MYSQL_DUMP, 'utf8')
  const from = whole.indexOf('LOCK TABLES `logs`')
  const to = whole.indexOf('UNLOCK TABLES;', from)
  const table = whole.slice(whole.indexOf('CREATE TABLE `logs`'), from)
  const [rest, logs] = [path.join(folder, 'rest.sql'), path.join(folder, 'logs.sql.gz')]
  fs.writeFileSync(rest, whole.slice(0, from) + whole.slice(to))
  fs.writeFileSync(logs, gzipSync(table + whole.slice(from, to)))
  const file = path.join(folder, 'new.db')
  const { code, out } = await runCommand(['import', rest, logs], { SQLITE_PATH: file })
  expect([code, out]).toEqual([0, expect.stringMatching(/logs: 27 rows[^]*dumps were loaded/)])
  expect(await plainSqlite(file).rows('SELECT sum(requests) AS n FROM usage_daily')).toEqual([
    { n: 15 },
  ])
})

/** More rows than one step sums up. */
const LOG_ROWS = 110_000

test(
  'after a kill in the middle, the file is unchanged or adopted, and the next start continues',
  { timeout: 120_000 },
  async () => {
    const database = sqliteFixture()
    await database.run(`
    INSERT INTO logs (user_id, created_at, type, content, username, token_name, model_name, quota,
      prompt_tokens, completion_tokens, channel_id)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${LOG_ROWS})
    SELECT 2 + i % 3, 1700000000 + i * 97, 2, 'x', 'user' || i % 3, 't', 'm' || i % 7, i % 50,
      i % 90, i % 40, 1 FROM n`)
    const file = fileOf(database)
    const original = fs.readFileSync(file)
    const count = (table: string) => database.rows(`SELECT count(*) AS n FROM ${table}`)
    const seen = new Set<string>()
    for (const afterLine of [
      'adopting',
      'copied',
      'creating tables',
      'creating the ledger',
      'summed up 100000',
    ]) {
      for (const ending of ['', '-wal', '-shm']) fs.rmSync(file + ending, { force: true })
      fs.writeFileSync(file, original)
      const { program, ended, said } = runProgram(['adopt'], { SQLITE_PATH: file })
      while (!said.err.includes(afterLine) && program.exitCode === null) await sleep(2)
      program.kill('SIGKILL')
      await ended
      expect(await count('logs')).toEqual([{ n: LOG_ROWS + 27 }])
      const ours = await database.rows(`SELECT name FROM sqlite_master WHERE name = 'ledger'`)
      seen.add(ours.length === 0 ? 'One API’s' : 'ours')
      if (ours.length === 0) {
        const columns = await database.rows(`SELECT name FROM pragma_table_info('channels')`)
        expect(columns.map(({ name }) => name)).not.toContain('test_model')
      }
    }
    expect(seen).toContain('One API’s')
    expect(await runProgram(['adopt'], { SQLITE_PATH: file }).ended).toMatchObject({ code: 0 })
    expect(await runProgram(['reconcile'], { SQLITE_PATH: file }).ended).toMatchObject({ code: 0 })
    expect(await count('ledger')).toEqual([{ n: 33 }])
    const sums = await database.rows('SELECT sum(requests) AS n, sum(quota) AS q FROM usage_hourly')
    const rows = await database.rows(
      'SELECT count(*) AS n, sum(quota) AS q FROM logs WHERE type = 2',
    )
    expect(sums).toEqual(rows)
  },
)
