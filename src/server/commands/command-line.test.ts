import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { sql } from 'kysely'
import fs from 'node:fs'
import http from 'node:http'
import { connect, createServer, type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadModelData } from '../model/model-data-store.ts'
import { openDatabase } from './open-database.ts'
import { newFolder } from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { freePort } from '../../../tools/free-port.ts'
import { runCommand } from '../test/run-command.ts'
import { PROGRAM, runProgram } from '../test/run-program.ts'
import { packageVersion } from '../version.ts'

/** Outside the developer's own settings. */
const start = (args: string[], env: Record<string, string> = {}, cwd = newFolder()) =>
  runProgram(args, env, cwd)

/** Starts `serve` on a free port and answers its address. */
async function serve(env: Record<string, string>) {
  const started = start(['serve'], { PORT: '0', LOG_FORMAT: 'json', ...env })
  const url = await new Promise<string>((resolve, reject) => {
    let seen = ''
    started.program.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString()
      const address = /"address":"([^"]+)"/.exec(seen)?.[1]
      if (address !== undefined) resolve(address)
    })
    void started.ended.then(({ err }) => reject(new Error(`it ended early: ${err}`)))
  })
  return { url, ...started }
}

const signIn = async (url: string, password: string): Promise<unknown> => {
  const response = await fetch(`${url}api/user/login`, {
    method: 'POST',
    body: JSON.stringify({ username: 'root', password }),
  })
  return response.json()
}

async function setOption(url: string, token: string, option: object): Promise<unknown> {
  const response = await fetch(`${url}api/option/`, {
    method: 'PUT',
    headers: { authorization: token },
    body: JSON.stringify(option),
  })
  return response.json()
}

test('--version and --help answer and end', async () => {
  const version = await start(['--version']).ended
  expect(version).toMatchObject({ code: 0, out: `${packageVersion()}\n` })
  const help = await start(['--help']).ended
  expect(help.code).toBe(0)
  const commands = 'serve reconcile health backup restore adopt import move demo reset-root'.split(
    ' ',
  )
  for (const command of commands) expect(help.out).toContain(command)
})

test('a wrong setting stops the start with one line and code 1', async () => {
  const { code, err } = await start(['serve'], { PORT: 'http' }).ended
  expect(code).toBe(1)
  expect(err).toBe('PORT: got "http", expected a whole number from 0 to 65535\n')
})

test('an unknown command is refused', async () => {
  const { code, err } = await runCommand(['explode'], {})
  expect(code).toBe(1)
  expect(err).toBe("error: unknown command 'explode'; gatehouse --help lists them\n")
})

test('serve creates root with the default password on loopback, stops on SIGTERM with code 0', async () => {
  const DATA_DIR = newFolder()
  const { url, program, ended } = await serve({ DATA_DIR })
  expect(await signIn(url, '123456')).toMatchObject({
    success: true,
    data: { username: 'root', role: 100, must_change_password: true },
  })
  program.kill('SIGTERM')
  const { code, out } = await ended
  expect(code).toBe(0)
  expect(out).toContain('root / 123456')
  const names = fs.readdirSync(DATA_DIR).toSorted()
  expect(names).toEqual(['gatehouse.db', 'gatehouse.db-server', 'session-secret'])
  // There are keys and hashes inside, and the folder may be one that anybody can read.
  const modes = names.map((name) => fs.statSync(path.join(DATA_DIR, name)).mode & 0o777)
  expect(modes).toEqual([0o600, 0o600, 0o600])
  const { out: books } = await start(['reconcile'], { DATA_DIR }).ended
  expect(books).toBe(
    'the ledger balances: 0 differences\n' +
      'the audit is complete: 0 entries in an unbroken chain\n',
  )
})

test('health says whether the server that these settings start takes calls', async () => {
  const env = { DATA_DIR: newFolder(), HOST: '0.0.0.0', BASE_PATH: '/gatehouse/' }
  const PORT = String(await freePort())
  const before = await start(['health'], { ...env, PORT }).ended
  expect(before).toEqual({
    code: 1,
    out: '',
    err: `http://127.0.0.1:${PORT}/gatehouse/readyz: no answer\n`,
  })
  await serve({ ...env, HOST: '127.0.0.1', PORT })
  const after = await start(['health'], { ...env, PORT }).ended
  expect(after).toEqual({ code: 0, out: 'ready\n', err: '' })
  // The port answers there too, but with the console or a page of another program.
  const elsewhere = await start(['health'], { ...env, PORT, BASE_PATH: '/gatehouse/x/' }).ended
  expect(elsewhere).toEqual({
    code: 1,
    out: '',
    err:
      `http://127.0.0.1:${PORT}/gatehouse/x/readyz: ` +
      'the response is not from a server with these settings; check PORT and BASE_PATH\n',
  })
})

test('a unit file of One API may name a folder for its log', async () => {
  const { program, ended } = start(['--log-dir', './logs', '--port', '0'], {
    DATA_DIR: newFolder(),
    LOG_FORMAT: 'json',
  })
  await once(program.stdout, 'data')
  program.kill('SIGKILL')
  expect((await ended).err).toBe('--log-dir has no effect here: the log goes to standard output\n')
})

test('a server whose output is not read continues, and ends on SIGTERM', async () => {
  const PORT = String(await freePort())
  const { program, ended } = start(['serve'], { DATA_DIR: newFolder(), PORT, LOG_FORMAT: 'json' })
  program.stdout.destroy()
  await expect
    .poll(() => signIn(`http://127.0.0.1:${PORT}/`, '123456').catch(String))
    .toMatchObject({ success: true })
  program.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})

test('a server whose output fails continues, and ends', async () => {
  const PORT = String(await freePort())
  const { PATH = '' } = process.env
  const env = { PATH, DATA_DIR: newFolder(), PORT, LOG_FORMAT: 'json' }
  // Opened for reading, so every write fails, as on a full disk.
  const output = fs.openSync(os.devNull, 'r')
  const program = spawn(process.execPath, [PROGRAM, 'serve'], {
    env,
    cwd: newFolder(),
    stdio: ['ignore', output, 'inherit'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  fs.closeSync(output)
  const signedIn = () => signIn(`http://127.0.0.1:${PORT}/`, '123456').catch(String)
  await expect.poll(signedIn).toMatchObject({ success: true })
  program.kill('SIGTERM')
  expect(await once(program, 'exit')).toEqual([0, null])
})

// A terminal that is closed sends it, and more than once.
test('a server lets a call finish after SIGHUP, however often it comes', async () => {
  const { url, program, ended, said } = await serve({ DATA_DIR: newFolder() })
  const { hostname, port, host } = new URL(url)
  const call = connect(Number(port), hostname)
  const head = `POST /api/user/login HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 2\r\n`
  call.write(`${head}Expect: 100-continue\r\n\r\n{`)
  expect(String(await once(call, 'data'))).toContain('100 Continue')
  program.kill('SIGHUP')
  await expect.poll(() => said.out).toContain('"stopping"')
  program.kill('SIGHUP')
  call.write('}')
  expect(String(await once(call, 'data'))).toContain('HTTP/1.1 200 OK')
  expect((await ended).code).toBe(0)
})

async function takenPort(): Promise<string> {
  const server = createServer().listen(0, '0.0.0.0')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  // A server that listens on a port has an address of this kind.
  return String((server.address() as AddressInfo).port)
}

test('on an address that others reach, root gets a random password that is printed once, also by a start that cannot listen', async () => {
  const DATA_DIR = newFolder()
  const PORT = await takenPort()
  const failed = await start(['serve'], { DATA_DIR, PORT, HOST: '0.0.0.0' }).ended
  expect(failed).toMatchObject({
    code: 1,
    err: `PORT: 0.0.0.0:${PORT} is used by another program\n`,
  })
  const password = /shown once: (\w{20})/.exec(failed.out)?.[1]
  const { url, program, ended } = await serve({ DATA_DIR, HOST: '0.0.0.0' })
  const reached = url.replace('0.0.0.0', '127.0.0.1')
  expect(await signIn(reached, '123456')).toMatchObject({ success: false })
  expect(await signIn(reached, password ?? '')).toMatchObject({ success: true })
  program.kill('SIGTERM')
  expect((await ended).out).not.toContain('shown once')
})

// `bootstrap.test.ts` checks that the next start keeps the new password.
test('the default password of a start on loopback ends when others can reach the server', async () => {
  const DATA_DIR = newFolder()
  const alone = await serve({ DATA_DIR })
  alone.program.kill('SIGTERM')
  await alone.ended
  const { url, said } = await serve({ DATA_DIR, HOST: '0.0.0.0' })
  const reached = url.replace('0.0.0.0', '127.0.0.1')
  expect(await signIn(reached, '123456')).toMatchObject({ success: false })
  const password = /shown once: (\w{20})/.exec(said.out)?.[1] ?? ''
  expect(await signIn(reached, password)).toMatchObject({ success: true })
})

// It would take the calls of the first for those of a dead process, and give them away.
test('a second server on the same file is refused until the first has ended', async () => {
  const DATA_DIR = newFolder()
  const first = await serve({ DATA_DIR })
  const second = await start(['serve', '--port', '0'], { DATA_DIR }).ended
  expect(second.code).toBe(1)
  expect(second.err).toMatch(/^SQLITE_PATH: a server is using .*gatehouse\.db; .*SQL_DSN.*\n$/)
  expect(await signIn(first.url, '123456')).toMatchObject({ success: true })
  first.program.kill('SIGKILL')
  await first.ended
  const { url } = await serve({ DATA_DIR })
  expect(await signIn(url, '123456')).toMatchObject({ success: true })
})

const ODD_INITIALS = { INITIAL_ROOT_TOKEN: 'sk-short', INITIAL_ROOT_ACCESS_TOKEN: 'my-token' }

test.each([
  ['INITIAL_ROOT_TOKEN', '32 to 48 letters and digits'],
  ['INITIAL_ROOT_ACCESS_TOKEN', '32 letters and digits'],
] as const)('a first %s that cannot be one stops the start', async (name, wants) => {
  const env = { DATA_DIR: newFolder(), [name]: ODD_INITIALS[name] }
  const { code, err } = await start(['serve', '--port', '0'], env).ended
  expect(err).toBe(`${name}: got a value, expected ${wants}\n`)
  expect(code).toBe(1)
})

test('reset-root gives root a new password, ends its token, allows password sign-in again', async () => {
  const DATA_DIR = newFolder()
  const file = path.join(DATA_DIR, 'gatehouse.db')
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
  const nobody = await runCommand(['reset-root'], { DATA_DIR })
  expect(nobody).toMatchObject({
    code: 1,
    err: 'the user root does not exist yet: start the server first\n',
  })
  const token = 'f'.repeat(32)
  const first = await serve({
    DATA_DIR,
    INITIAL_ROOT_PASSWORD: 'RootPass1',
    INITIAL_ROOT_ACCESS_TOKEN: token,
  })
  expect(await signIn(first.url, 'RootPass1')).toMatchObject({ success: true })
  const closed = { key: 'PasswordLoginEnabled', value: 'false' }
  expect(await setOption(first.url, token, closed)).toMatchObject({ success: true })
  expect(await signIn(first.url, 'RootPass1')).toMatchObject({ success: false })
  first.program.kill('SIGTERM')
  await first.ended
  const short = await runCommand(['reset-root', '--password', 'short'], { DATA_DIR })
  expect(short).toMatchObject({ code: 1, err: 'The password must have at least 8 characters\n' })
  const none = await runCommand(['reset-root', '--password', ''], { DATA_DIR })
  expect(none).toMatchObject({ code: 1, err: 'The password must have at least 8 characters\n' })
  const reset = await start(['reset-root', '--password', 'AnotherPass1'], { DATA_DIR }).ended
  expect(reset.code).toBe(0)
  expect(reset.out).toContain('its second factor and its passkeys were revoked')
  // Many installations permanently keep settings that only an empty database reads.
  const second = await serve({ DATA_DIR, ...ODD_INITIALS })
  expect(await signIn(second.url, 'RootPass1')).toMatchObject({ success: false })
  expect(await signIn(second.url, 'AnotherPass1')).toMatchObject({ success: true })
  expect(await setOption(second.url, token, closed)).toMatchObject({ success: false })
})

test('refresh-models stores the given data, or reports the reason', async () => {
  const DATA_DIR = newFolder()
  const file = path.join(DATA_DIR, 'gatehouse.db')
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
  let body = JSON.stringify({ openai: { models: { 'yesterday-1': { reasoning: true } } } })
  const host = http.createServer((_request, response) => response.end(body))
  await new Promise<void>((listening) => host.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void host.close())
  // A server listening on TCP has an address object.
  const from = `http://127.0.0.1:${(host.address() as AddressInfo).port}/api.json`
  const env = { DATA_DIR, EGRESS_ALLOW_PRIVATE: 'true' }
  const stored = await runCommand(['refresh-models', '--from', from], env)
  expect(stored).toMatchObject({ code: 0, err: '' })
  expect(stored.out).toMatch(/^127\.0\.0\.1:\d+ \(.*\): 1 models, 1 new, 0 changed, \d+ removed\n$/)
  const database = await openDatabase({ engine: 'sqlite', path: file })
  expect((await loadModelData(database.read))?.models).toEqual({
    'yesterday-1': { reasoning: true },
  })
  await database.close()
  body = '[]'
  const failed = await runCommand(['refresh-models', '--from', from], env)
  expect(failed.code).toBe(1)
  expect(failed.err).toContain('the response is not model data of models.dev (api.json)')
})

test.each([
  ['reconcile', 2],
  ['reset-root', 1],
  ['refresh-models', 1],
] as const)('%s makes no database', async (command, failed) => {
  const DATA_DIR = newFolder()
  const { code, err } = await runCommand([command], { DATA_DIR })
  expect(code).toBe(failed)
  expect(err).toBe(`SQLITE_PATH: file not found: ${path.join(DATA_DIR, 'gatehouse.db')}\n`)
  expect(fs.readdirSync(DATA_DIR)).toEqual([])
})

test('reconcile that cannot even begin does not say that the books are wrong', async () => {
  expect(await runCommand(['reconcile', '--fast'], {})).toMatchObject({ code: 2 })
  expect(await runCommand(['reconcile'], { PORT: 'x' })).toMatchObject({ code: 2 })
  expect(await runCommand(['reconcile', '--help'], {})).toMatchObject({ code: 0 })
})

test('a missing database is reported in one line', async () => {
  const SQL_DSN = 'postgres://me:secret-word@127.0.0.1:1/nothing'
  const { code, err } = await start(['serve'], { SQL_DSN }).ended
  expect(err).toMatch(/^SQL_DSN: the database cannot be opened: .*ECONNREFUSED.*\n$/)
  expect(err).not.toContain('secret-word')
  expect(code).toBe(1)
})

test('a database that fails after the tables exist is reported in one line', async () => {
  const { url: SQL_DSN, drop } = await createTestDatabase()
  onTestFinished(drop)
  const database = await openDatabase({ engine: 'postgres', url: SQL_DSN })
  await sql`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$`.execute(
    database.write,
  )
  await sql`CREATE TRIGGER refuse BEFORE INSERT ON users EXECUTE FUNCTION refuse()`.execute(
    database.write,
  )
  await database.close()
  const { code, err } = await start(['serve'], { SQL_DSN, DATA_DIR: newFolder() }).ended
  expect(err).toBe('SQL_DSN: the database cannot be opened: no space left\n')
  expect(code).toBe(1)
})

test('a file that is not a database is not changed, and startup reports it', async () => {
  const DATA_DIR = newFolder()
  const file = path.join(DATA_DIR, 'gatehouse.db')
  fs.writeFileSync(file, 'these are not the pages you are looking for'.repeat(100))
  const before = fs.readFileSync(file, 'utf8')
  const { code, err } = await start(['serve'], { DATA_DIR }).ended
  expect(code).toBe(1)
  expect(err).toMatch(/^SQLITE_PATH: .*gatehouse\.db cannot be opened/)
  expect(fs.readFileSync(file, 'utf8')).toBe(before)
})

test('problems of the data folder and of .env are reported in one line', async () => {
  const folder = newFolder()
  const SQLITE_PATH = path.join(folder, 'gatehouse.db')
  const file = path.join(folder, 'file')
  fs.writeFileSync(file, '')
  const DATA_DIR = path.join(file, 'data')
  const noFolder = await start(['serve', '--port', '0'], { DATA_DIR, SQLITE_PATH }).ended
  expect(noFolder).toMatchObject({ code: 1 })
  expect(noFolder.err).toBe(`DATA_DIR: ${DATA_DIR} lies below a file, and a folder is needed\n`)
  fs.symlinkSync('nowhere', path.join(folder, 'session-secret'))
  const noSecret = await start(['serve', '--port', '0'], { DATA_DIR: folder }).ended
  expect(noSecret).toMatchObject({ code: 1 })
  expect(noSecret.err).toMatch(/^DATA_DIR: \S+session-secret does not exist\n$/)
  fs.mkdirSync(path.join(folder, '.env'))
  const noEnv = await start(['serve'], {}, folder).ended
  expect(noEnv).toMatchObject({ code: 1 })
  expect(noEnv.err).toMatch(/^\S+\.env cannot be read: it is a folder, and a file is needed\n$/)
})

test('a demo on a port that the system picks says which', async () => {
  const { program, ended } = start(['demo'], { PORT: '0' })
  let out = ''
  await new Promise<void>((resolve) => {
    program.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      if (out.includes('No data leaves this machine')) resolve()
    })
  })
  const address = /open +(\S+)/.exec(out)?.[1] ?? ''
  expect((await fetch(`${address}healthz`)).status).toBe(200)
  program.kill('SIGTERM')
  await ended
})
