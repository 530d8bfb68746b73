import Sqlite from 'better-sqlite3'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from './open-database.ts'
import {
  newFolder,
  plainPostgres,
  plainSqlite,
  postgresFixture,
  sqliteFixture,
} from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { runCommand } from '../test/run-command.ts'

/** Exit codes of failing commands. */
const COMMANDS = [
  ['reconcile', 2],
  ['reset-root', 1],
] as const

/** How a program ended on a SQLite file, and whether it left every byte as it was. */
async function runOnFile(args: string[], file: string) {
  const before = fs.readFileSync(file)
  const { code, out, err } = await runCommand(args, { SQLITE_PATH: file })
  return { code, out, err, isUnchanged: fs.readFileSync(file).equals(before) }
}

const columnsOf = (url: string) =>
  plainPostgres(url).rows(`SELECT table_name, column_name, data_type
    FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, 2`)

async function emptyPostgres(): Promise<string> {
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  return url
}

// Left by a failed restore.
test.each(COMMANDS)(
  '%s reports that an empty file is not a database, and leaves it empty',
  async (name, failed) => {
    const file = path.join(newFolder(), 'empty.db')
    fs.writeFileSync(file, '')
    expect(await runOnFile([name], file)).toEqual({
      code: failed,
      out: '',
      err: `SQLITE_PATH: ${file} contains no tables of Gatehouse\n`,
      isUnchanged: true,
    })
    const url = await emptyPostgres()
    const there = await runCommand([name], { SQL_DSN: url })
    expect(there).toEqual({
      code: failed,
      out: '',
      err: 'SQL_DSN: the database contains no tables of Gatehouse\n',
    })
    expect(await columnsOf(url)).toEqual([])
  },
)

test.each(COMMANDS)('%s adopts no database of One API', async (name, failed) => {
  const { location } = sqliteFixture()
  if (location.engine !== 'sqlite') throw new Error('this one is a file')
  expect(await runOnFile([name], location.path)).toEqual({
    code: failed,
    out: '',
    err: `SQLITE_PATH: ${location.path} belongs to One API; adopt it first: gatehouse adopt\n`,
    isUnchanged: true,
  })
  const { location: place } = await postgresFixture()
  if (place.engine !== 'postgres') throw new Error('this one is on a server')
  const before = await columnsOf(place.url)
  const there = await runCommand([name], { SQL_DSN: place.url })
  expect(there).toMatchObject({ code: failed, err: expect.stringContaining('gatehouse adopt') })
  expect(await columnsOf(place.url)).toEqual(before)
})

test('a backup is as it was after it was checked, be it of this version or of an older one', async () => {
  const folder = newFolder()
  const [live, backup] = [path.join(folder, 'live.db'), path.join(folder, 'backup.db')]
  await (await openDatabase({ engine: 'sqlite', path: live })).close()
  await plainSqlite(live).run(`VACUUM INTO '${backup}'`)
  expect(await runOnFile(['reconcile'], backup)).toEqual({
    code: 0,
    out: expect.stringMatching(/^the ledger balances: 0 differences\nthe audit is complete: /),
    err: '',
    isUnchanged: true,
  })
  const newest = '(SELECT max(version) FROM schema_migrations)'
  await plainSqlite(backup).run(`DELETE FROM schema_migrations WHERE version = ${newest}`)
  const older = await runOnFile(['reconcile'], backup)
  expect(older).toMatchObject({ code: 2, isUnchanged: true })
  expect(older.err).toBe(
    `SQLITE_PATH: ${backup} was written by an older Gatehouse: use that version, or start this version’s server on it first\n`,
  )
  await plainSqlite(backup).run(`INSERT INTO schema_migrations VALUES (9999, 'later', 0);
    INSERT INTO settings (name, value) VALUES ('schema_contract', '9999')`)
  const newer = await runOnFile(['reconcile'], backup)
  expect(newer.err).toContain('was written by a newer Gatehouse')
})

test('reconcile reads where nothing can be written', async () => {
  const url = await emptyPostgres()
  await (await openDatabase({ engine: 'postgres', url })).close()
  const readonly = new URL(url)
  readonly.searchParams.set('options', '-c default_transaction_read_only=on')
  const { code, out } = await runCommand(['reconcile'], { SQL_DSN: readonly.href })
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/^the ledger balances: 0 differences\nthe audit is complete: /),
  ])
})

test('reconcile reads beside a program that writes, what its log holds included', async () => {
  const file = path.join(newFolder(), 'gatehouse.db')
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
  const other = new Sqlite(file)
  onTestFinished(() => void other.close())
  other.exec("INSERT INTO users (id, username, password, quota) VALUES (7, 'odd', '', 5)")
  const { code, out } = await runCommand(['reconcile'], { SQLITE_PATH: file })
  expect([code, out]).toEqual([1, expect.stringMatching(/user 7/)])
})

test('reconcile says that a damaged file cannot be read, and which', async () => {
  const file = path.join(newFolder(), 'damaged.db')
  const database = await openDatabase({ engine: 'sqlite', path: file })
  await database.close()
  const opened = new Sqlite(file)
  const pageBytes = Number(opened.pragma('page_size', { simple: true }))
  const first = "SELECT rootpage FROM sqlite_master WHERE name = 'ledger'"
  const page = Number(opened.prepare(first).pluck().get())
  opened.close()
  const bytes = fs.readFileSync(file).fill(0xff, (page - 1) * pageBytes, page * pageBytes)
  fs.writeFileSync(file, bytes)
  const { code, out, err } = await runOnFile(['reconcile'], file)
  expect({ code, out, err }).toEqual({
    code: 2,
    out: '',
    err: `SQLITE_PATH: ${file} cannot be read: database disk image is malformed\n`,
  })
})

test('reset-root says in one line that the database has failed meanwhile', async () => {
  const file = path.join(newFolder(), 'full.db')
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
  const trigger = 'CREATE TRIGGER full BEFORE UPDATE ON users'
  const root = "INSERT INTO users (id, username, password, role) VALUES (1, 'root', 'old', 100)"
  await plainSqlite(file).run(root)
  await plainSqlite(file).run(`${trigger} BEGIN SELECT RAISE(ABORT, 'database is full'); END`)
  expect(await runCommand(['reset-root'], { SQLITE_PATH: file })).toEqual({
    code: 1,
    out: '',
    err: `SQLITE_PATH: ${file} failed, try again: database is full\n`,
  })
  const url = await emptyPostgres()
  await (await openDatabase({ engine: 'postgres', url })).close()
  await plainPostgres(url).run(root)
  await plainPostgres(url).run(`
    CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
    CREATE TRIGGER leave BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION leave()`)
  const there = await runCommand(['reset-root'], { SQL_DSN: url })
  expect(there).toMatchObject({ code: 1, out: '' })
  expect(there.err).toMatch(/^SQL_DSN: the database failed, try again: .*terminat.*\n$/)
})

test.each([...COMMANDS, ['move', 1], ['adopt', 1]] as const)(
  '%s says of a place where no database can be what is there',
  async (name, failed) => {
    const folder = newFolder()
    const target = name === 'move' ? ['--to', 'postgres://nobody@127.0.0.1:1/nothing'] : []
    const at = async (...place: string[]) => {
      const SQLITE_PATH = path.join(folder, ...place)
      const { code, out, err } = await runCommand([name, ...target], { SQLITE_PATH })
      expect([code, out]).toEqual([failed, ''])
      return err
        .replaceAll(folder, '…')
        .replace(/cannot be (?:opened|read|moved)/, 'cannot be used')
    }
    expect(await at('gone', 'a.db')).toBe(
      'SQLITE_PATH: …/gone/a.db cannot be used: folder not found: …/gone\n',
    )
    expect(await at('a.db')).toBe('SQLITE_PATH: file not found: …/a.db\n')
    fs.mkdirSync(path.join(folder, 'a.db'))
    expect(await at('a.db')).toBe('SQLITE_PATH: …/a.db cannot be used: it is a folder\n')
    fs.writeFileSync(path.join(folder, 'file'), '')
    expect(await at('file', 'a.db')).toBe(
      'SQLITE_PATH: …/file/a.db cannot be used: …/file is not a folder\n',
    )
  },
)
