import Sqlite from 'better-sqlite3'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startFastUpstream } from '../../../tools/fake-upstream/fast-upstream.ts'
import { openDatabase } from './open-database.ts'
import { newFolder } from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { runCommand } from '../test/run-command.ts'
import { runProgram } from '../test/run-program.ts'

const ACCESS_TOKEN = 'a'.repeat(32)
const TOKEN = 'k'.repeat(48)
const CALL = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] })

const runIn = (cwd: string, args: string[], env: Record<string, string>) =>
  runProgram(args, env, cwd).ended

async function serve(env: Record<string, string>, cwd = newFolder()) {
  const server = runProgram(['serve', '--port', '0'], { LOG_FORMAT: 'json', ...env }, cwd)
  const address = /"address":"([^"]+)"/
  await expect.poll(() => server.said.out).toMatch(address)
  return { ...server, url: address.exec(server.said.out)?.[1] ?? '' }
}

const relayed = async (url: string): Promise<number> => {
  const headers = { authorization: `Bearer sk-${TOKEN}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}v1/chat/completions`, { method: 'POST', headers, body: CALL })
  await response.arrayBuffer()
  return response.status
}

/** Makes calls one after another until stopped; counts the successful ones. */
function keepCalling(url: string): { answered(): number; stop(): Promise<number> } {
  const stopper = new AbortController()
  let answered = 0
  const worker = async (): Promise<void> => {
    while (!stopper.signal.aborted) {
      expect(await relayed(url)).toBe(200)
      answered += 1
    }
  }
  const workers = Promise.all(Array.from({ length: 4 }, worker))
  return {
    answered: () => answered,
    async stop() {
      stopper.abort()
      await workers
      return answered
    },
  }
}

const backupIn = (folder: string): string => {
  const [name = ''] = fs.readdirSync(folder)
  return path.join(folder, name)
}

async function emptyDatabase(file: string): Promise<void> {
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
}

test('a backup made under load starts elsewhere: books, sessions, tokens and settings are in it', async () => {
  const upstream = await startFastUpstream()
  onTestFinished(() => upstream.close())
  const [DATA_DIR, cwd, to] = [newFolder(), newFolder(), newFolder()]
  fs.writeFileSync(path.join(cwd, '.env'), "GEMINI_VERSION=v1\nTEST_PROMPT='it''s'\n")
  const env = {
    DATA_DIR,
    INITIAL_ROOT_PASSWORD: 'RootPass1',
    INITIAL_ROOT_ACCESS_TOKEN: ACCESS_TOKEN,
    INITIAL_ROOT_TOKEN: TOKEN,
    GLOBAL_API_RATE_LIMIT: '0',
  }
  const server = await serve(env, cwd)
  const channel = {
    type: 1,
    key: 'sk-upstream',
    group: 'default',
    name: 'fast',
    base_url: upstream.url,
    models: 'gpt-4o-mini',
  }
  await fetch(`${server.url}api/channel/`, {
    method: 'POST',
    headers: { authorization: ACCESS_TOKEN },
    body: JSON.stringify(channel),
  })
  const signedIn = await fetch(`${server.url}api/user/login`, {
    method: 'POST',
    body: JSON.stringify({ username: 'root', password: 'RootPass1' }),
  })
  const cookie = signedIn.headers.getSetCookie().map((set) => set.split(';')[0])

  const load = keepCalling(server.url)
  await expect.poll(load.answered).toBeGreaterThan(10)
  const backup = await runIn(cwd, ['backup', '--to', to], env)
  const inBackupMost = load.answered()
  await expect.poll(load.answered).toBeGreaterThan(inBackupMost + 10)
  const answered = await load.stop()
  expect(backup).toMatchObject({ code: 0, err: '' })
  const folder = backupIn(to)
  const [line = ''] = backup.out.split('\n')
  expect(line).toMatch(/^backup saved and checked: .+ \(\d+\.\d MB\); its ledger balances$/)
  expect(line).toContain(`${folder} (`)
  expect(fs.statSync(folder).mode & 0o777).toBe(0o700)
  const names = fs.readdirSync(folder).toSorted()
  expect(names).toEqual(['gatehouse.db', 'session-secret', 'settings.env'])
  const modes = names.map((name) => fs.statSync(path.join(folder, name)).mode & 0o777)
  expect(modes).toEqual([0o600, 0o600, 0o600])
  const saved = fs.readFileSync(path.join(folder, 'settings.env'), 'utf8')
  expect(saved).toContain("GEMINI_VERSION='v1'")
  expect(saved).toContain("INITIAL_ROOT_PASSWORD='RootPass1'")
  expect(saved).not.toContain('PATH=/')

  // The server is in the way of a restore over it, and notices nothing.
  const early = await runIn(cwd, ['restore', folder], env)
  expect(early).toMatchObject({ code: 1, out: '' })
  expect(early.err).toBe(
    `SQLITE_PATH: a server is using ${path.join(DATA_DIR, 'gatehouse.db')}; stop it, then restore\n`,
  )
  expect(await relayed(server.url)).toBe(200)
  server.program.kill('SIGTERM')
  await server.ended

  const elsewhere = path.join(newFolder(), 'new')
  const restored = await runIn(newFolder(), ['restore', folder], { DATA_DIR: elsewhere })
  expect(restored).toMatchObject({ code: 0, err: '' })
  expect(restored.out).toMatch(/^restored .+ from .+; its ledger balances\n$/)
  const after = await serve({ DATA_DIR: elsewhere })
  const self = await fetch(`${after.url}api/user/self`, { headers: { cookie: cookie.join('; ') } })
  const { data } = (await self.json()) as { data: { username: string; request_count: number } }
  expect(data.username).toBe('root')
  expect(data.request_count).toBeGreaterThan(0)
  expect(data.request_count).toBeLessThan(answered)
  expect(await relayed(after.url)).toBe(200)
  const books = await runCommand(['reconcile'], { DATA_DIR: elsewhere })
  expect(books).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^the ledger balances: 0 differences\nthe audit is complete: /),
  })
})

test('a restore keeps what was there, and the old write-ahead log spoils nothing', async () => {
  const [DATA_DIR, to] = [newFolder(), newFolder()]
  const file = path.join(DATA_DIR, 'gatehouse.db')
  await emptyDatabase(file)
  fs.writeFileSync(path.join(DATA_DIR, 'session-secret'), 'of the backup')
  expect(await runCommand(['backup', '--to', to], { DATA_DIR })).toMatchObject({ code: 0 })
  // A process that died left its newest rows in the log.
  const died = new Sqlite(file)
  died.exec(`INSERT INTO options (key, value) VALUES ('Notice', 'later')`)
  fs.copyFileSync(`${file}-wal`, `${file}-kept`)
  died.close()
  fs.renameSync(`${file}-kept`, `${file}-wal`)
  fs.writeFileSync(path.join(DATA_DIR, 'session-secret'), 'of now')
  const { code, out } = await runCommand(['restore', backupIn(to)], { DATA_DIR })
  expect(code).toBe(0)
  const aside = /the replaced files are in (.+)\n/.exec(out)?.[1] ?? ''
  expect(fs.readdirSync(aside).toSorted()).toEqual([
    'gatehouse.db',
    'gatehouse.db-wal',
    'session-secret',
  ])
  expect(fs.readFileSync(path.join(aside, 'session-secret'), 'utf8')).toBe('of now')
  expect(fs.readFileSync(path.join(DATA_DIR, 'session-secret'), 'utf8')).toBe('of the backup')
  expect(fs.existsSync(`${file}-wal`)).toBe(false)
  const database = new Sqlite(file, { readonly: true })
  expect(database.prepare('SELECT * FROM options').all()).toEqual([])
  database.close()
})

test('what is damaged, newer, another program’s or no backup is refused, and nothing is changed', async () => {
  const DATA_DIR = newFolder()
  const file = path.join(DATA_DIR, 'gatehouse.db')
  await emptyDatabase(file)
  const before = fs.readFileSync(file)
  const backup = path.join(newFolder(), 'copy.db')
  const refusal = async (from: string): Promise<string> => {
    const { code, out, err } = await runCommand(['restore', from], { DATA_DIR })
    expect([code, out]).toEqual([1, ''])
    expect(fs.readFileSync(file).equals(before)).toBe(true)
    return err
  }
  fs.copyFileSync(file, backup)
  fs.truncateSync(backup, fs.statSync(backup).size - 3 * 4096)
  expect(await refusal(backup)).toMatch(/is damaged: |cannot be opened: /)
  fs.copyFileSync(file, backup)
  const newer = new Sqlite(backup)
  newer.exec(`INSERT INTO schema_migrations VALUES (9000, 'later', 0);
    INSERT INTO settings (name, value) VALUES ('schema_contract', '9000')`)
  newer.close()
  expect(await refusal(backup)).toBe(
    `${backup} was written by a newer Gatehouse: use that version\n`,
  )
  fs.copyFileSync('fixtures/databases/one-api.sqlite', backup)
  expect(await refusal(backup)).toContain('belongs to One API')
  expect(await refusal('no-such-folder')).toBe('backup not found: no-such-folder\n')
  expect(await refusal(DATA_DIR)).toContain('is the configured database')
  const folder = newFolder()
  expect(await refusal(folder)).toBe(`${folder} is not a backup: it contains no gatehouse.db\n`)
})

test('a backup that this user may not read is reported as unreadable, not as incomplete', () => {
  const folder = newFolder()
  fs.writeFileSync(path.join(folder, 'gatehouse.db'), '')
  fs.chmodSync(folder, 0o000)
  onTestFinished(() => fs.chmodSync(folder, 0o700))
  const program = `
    const { restore } = await import(${JSON.stringify(path.join(import.meta.dirname, 'restore.ts'))})
    // Root may read everything.
    if (process.getuid() === 0) process.setuid(65_534)
    const config = { DATA_DIR: '/nowhere', SQLITE_PATH: '/nowhere/gatehouse.db' }
    await restore(config, ${JSON.stringify(folder)}).catch((error) => console.log(error.message))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  expect(stdout).toBe(
    `${folder} cannot be read: this user may not access ${folder}; check owner and permissions\n`,
  )
})

test('a file in the place of the folder for backups is reported in one line', async () => {
  const DATA_DIR = newFolder()
  const file = path.join(DATA_DIR, 'gatehouse.db')
  await emptyDatabase(file)
  const { code, err } = await runCommand(['backup', '--to', file], { DATA_DIR })
  expect([code, err]).toEqual([
    2,
    `no backup was made: ${file} is a file, and a folder is needed\n`,
  ])
})

test('without room on the disk there is no backup, and nothing is left', async () => {
  const [DATA_DIR, to] = [newFolder(), newFolder()]
  const file = path.join(DATA_DIR, 'gatehouse.db')
  await emptyDatabase(file)
  // A file with a hole takes no room itself.
  fs.writeFileSync(`${file}-wal`, '')
  fs.truncateSync(`${file}-wal`, 2 ** 43)
  const { code, out, err } = await runCommand(['backup', '--to', to], { DATA_DIR })
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(/^no backup was made: .+ has [\d.]+ MB free, and the copy may take 8796093/)
  expect(fs.readdirSync(to)).toEqual([])
})

test('differences in the ledger are reported, and the backup is kept', async () => {
  const [DATA_DIR, to] = [newFolder(), newFolder()]
  const file = path.join(DATA_DIR, 'gatehouse.db')
  await emptyDatabase(file)
  const edited = new Sqlite(file)
  edited.exec(`INSERT INTO users (username, password, quota, aff_code) VALUES ('ada', '', 7, 'a')`)
  edited.close()
  const { code, out } = await runCommand(['backup', '--to', to], { DATA_DIR })
  expect(code).toBe(1)
  expect(out).toMatch(/^user 1: /)
  expect(out).toContain('; its ledger has 1 differences')
  expect(fs.readdirSync(to)).toHaveLength(1)
})

test('on PostgreSQL the settings are saved and pg_dump is named; nothing else pretends to be a backup', async () => {
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  await (await openDatabase({ engine: 'postgres', url })).close()
  const to = newFolder()
  const { code, out } = await runCommand(['backup', '--to', to], {
    SQL_DSN: url,
    TEST_PROMPT: 'Hi',
  })
  expect(code).toBe(0)
  expect(out).toContain('pg_dump -Fc -f gatehouse.dump "$SQL_DSN"')
  expect(fs.readdirSync(backupIn(to))).toEqual(['settings.env'])
  const restored = await runCommand(['restore', backupIn(to)], { SQL_DSN: url })
  expect(restored).toMatchObject({ code: 1 })
  expect(restored.err).toContain('pg_restore')
  const served = await runCommand(['serve'], { SQL_DSN: url, BACKUP_KEEP: '7' })
  expect(served).toMatchObject({ code: 1 })
  expect(served.err).toMatch(/^BACKUP_KEEP: daily backups are for SQLite/)
})
