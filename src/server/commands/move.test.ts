import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from './open-database.ts'
import { newFolder, plainPostgres, plainSqlite } from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { runCommand } from '../test/run-command.ts'
import { runProgram } from '../test/run-program.ts'

function run(args: string[], env: Record<string, string>) {
  const started = runProgram(args, { LOG_FORMAT: 'json', ...env }, newFolder())
  const told = async (pattern: RegExp): Promise<string> => {
    await expect.poll(() => started.said.out).toMatch(pattern)
    return pattern.exec(started.said.out)?.[1] ?? ''
  }
  return { ...started, told }
}

async function emptyPostgres(): Promise<string> {
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  return url
}

async function serve(env: Record<string, string>) {
  const server = run(['serve', '--port', '0'], env)
  return { ...server, url: await server.told(/"address":"([^"]+)"/) }
}

const tablesOf = (url: string) =>
  plainPostgres(url).rows(
    'SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()',
  )

test('sessions are kept; a file in use is refused until its server has ended', async () => {
  const DATA_DIR = newFolder()
  const url = await emptyPostgres()
  const file = path.join(DATA_DIR, 'gatehouse.db')
  const before = await serve({ DATA_DIR, INITIAL_ROOT_PASSWORD: 'RootPass1' })
  const signedIn = await fetch(`${before.url}api/user/login`, {
    method: 'POST',
    body: JSON.stringify({ username: 'root', password: 'RootPass1' }),
  })
  const cookie = signedIn.headers
    .getSetCookie()
    .map((set) => set.split(';')[0])
    .join('; ')
  const early = await run(['move', '--from', file, '--to', url], {}).ended
  expect(early).toMatchObject({ code: 1, out: '' })
  expect(early.err).toBe(`SQLITE_PATH: a server is using ${file}; stop it, then move the file\n`)
  before.program.kill('SIGTERM')
  await before.ended

  const { code, out, err } = await run(['move'], { DATA_DIR, SQL_DSN: url }).ended
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('users: 1 rows\n')
  const kept = path.join(DATA_DIR, 'session-secret')
  expect(out).toContain(`The session secret of ${kept} is in the database now`)
  const after = await serve({ DATA_DIR: newFolder(), SQL_DSN: url })
  const self = await fetch(`${after.url}api/user/self`, { headers: { cookie } })
  expect(await self.json()).toMatchObject({ success: true, data: { username: 'root' } })
  const again = await run(['move', '--from', file], { SQL_DSN: url }).ended
  expect(again).toMatchObject({ code: 1 })
  expect(again.err).toBe(
    'nothing was moved: the database is not empty; data can only be moved into an empty database\n',
  )
})

test('the secret is the one that the server signs with, and of another server none', async () => {
  const [beside, DATA_DIR] = [newFolder(), newFolder()]
  const file = path.join(beside, 'gatehouse.db')
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
  fs.writeFileSync(path.join(DATA_DIR, 'session-secret'), 'ours')
  const secretOf = (url: string) =>
    plainPostgres(url).rows(`SELECT value FROM settings WHERE name = 'session_secret'`)
  const foreign = await emptyPostgres()
  const named = await runCommand(['move', '--from', file], { DATA_DIR, SQL_DSN: foreign })
  expect(named.out).toContain(`There was no ${path.join(beside, 'session-secret')}: `)
  expect(await secretOf(foreign)).toEqual([])
  fs.writeFileSync(path.join(beside, 'session-secret'), 'of an old backup')
  const url = await emptyPostgres()
  const env = { DATA_DIR, SQLITE_PATH: file, SQL_DSN: url }
  expect(await runCommand(['move'], env)).toMatchObject({ code: 0 })
  expect(await secretOf(url)).toEqual([{ value: 'ours' }])
})

test('a move that is killed leaves nothing', async () => {
  const file = path.join(newFolder(), 'gatehouse.db')
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
  await plainSqlite(file).run(`
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 400000)
    INSERT INTO logs (id, user_id, created_at, type) SELECT id, 1, id, 4 FROM n`)
  const url = await emptyPostgres()
  const { program, ended, said } = run(['move', '--from', file, '--to', url], {})
  // Without a poll and with many more rows, because the move continues meanwhile.
  program.stdout.on('data', () => {
    if (said.out.includes('moved 100000 rows of logs')) program.kill('SIGKILL')
  })
  expect((await ended).code).toBeNull()
  await expect.poll(() => tablesOf(url)).toEqual([])
})

test('wrong options are reported in one line, without the password', async () => {
  const folder = newFolder()
  const file = path.join(folder, 'gatehouse.db')
  const nowhere = await runCommand(['move', '--from', file], {})
  expect(nowhere).toMatchObject({ code: 1, err: `SQLITE_PATH: file not found: ${file}\n` })
  fs.writeFileSync(file, 'these are not the pages you are looking for'.repeat(100))
  const noTarget = await runCommand(['move'], { DATA_DIR: folder })
  expect(noTarget).toMatchObject({ code: 1 })
  expect(noTarget.err).toMatch(/^SQL_DSN: set the target PostgreSQL database, .*\n$/)
  const TO = 'postgres://me:secret-word@127.0.0.1:1/nothing'
  const noDatabase = await runCommand(['move', '--from', file, '--to', TO], {})
  expect(noDatabase).toMatchObject({ code: 1 })
  expect(noDatabase.err).toMatch(/^SQLITE_PATH: .*gatehouse\.db cannot be moved: .*\n$/)
  fs.writeFileSync(file, '')
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
  const noServer = await runCommand(['move', '--from', file, '--to', TO], {})
  expect(noServer).toMatchObject({ code: 1 })
  expect(noServer.err).toMatch(/^nothing was moved: .*ECONNREFUSED.*\n$/)
  expect(noServer.err).not.toContain('secret-word')
})
