import { spawn, type ChildProcessByStdio } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { packageVersion } from '../version.ts'

const PROGRAM = path.join(import.meta.dirname, '../gatehouse.js')

interface Ended {
  code: number | null
  out: string
  err: string
}

type Program = ChildProcessByStdio<null, Readable, Readable>

const folders: string[] = []
const programs: Program[] = []

afterEach(() => {
  for (const program of programs.splice(0)) program.kill('SIGKILL')
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-command-'))
  folders.push(folder)
  return folder
}

function start(
  args: string[],
  env: Record<string, string> = {},
): { program: Program; ended: Promise<Ended> } {
  const program = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    cwd: folders.at(-1) ?? os.tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  programs.push(program)
  let out = ''
  let err = ''
  program.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  program.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  const ended = new Promise<Ended>((resolve) => {
    program.on('close', (code) => resolve({ code, out, err }))
  })
  return { program, ended }
}

/** Starts `serve` on a free port and answers its address. */
async function serve(
  env: Record<string, string>,
): Promise<{ url: string; program: Program; ended: Promise<Ended> }> {
  const started = start(['serve', '--port', '0'], { LOG_FORMAT: 'json', ...env })
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
  for (const command of ['serve', 'reconcile', 'adopt', 'import', 'demo', 'reset-root']) {
    expect(help.out).toContain(command)
  }
})

test('a wrong setting stops the start with one line and code 1', async () => {
  const { code, err } = await start(['serve'], { PORT: 'http' }).ended
  expect(code).toBe(1)
  expect(err).toBe('PORT: got "http", wants a whole number from 0 to 65535\n')
})

test('an unknown command is refused', async () => {
  const { code, err } = await start(['explode']).ended
  expect(code).not.toBe(0)
  expect(err).toContain('explode')
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
  expect(fs.readdirSync(DATA_DIR).toSorted()).toEqual(['gatehouse.db', 'session-secret'])
})

test('on an address that others reach, root gets a random password that is printed once', async () => {
  const DATA_DIR = newFolder()
  const first = await serve({ DATA_DIR, HOST: '0.0.0.0' })
  const url = first.url.replace('0.0.0.0', '127.0.0.1')
  expect(await signIn(url, '123456')).toMatchObject({ success: false })
  first.program.kill('SIGTERM')
  const { out } = await first.ended
  const password = /shown once: (\w{20})/.exec(out)?.[1]
  const second = await serve({ DATA_DIR })
  expect(await signIn(second.url, password ?? '')).toMatchObject({ success: true })
  second.program.kill('SIGTERM')
  expect((await second.ended).out).not.toContain('shown once')
})

test('reset-root gives root a new password, ends its token, allows password sign-in again', async () => {
  const DATA_DIR = newFolder()
  const nobody = await start(['reset-root'], { DATA_DIR }).ended
  expect(nobody).toMatchObject({ code: 1, err: 'there is no root yet: start the server first\n' })
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
  const short = await start(['reset-root', '--password', 'short'], { DATA_DIR }).ended
  expect(short).toMatchObject({ code: 1, err: 'A password has at least 8 characters\n' })
  const reset = await start(['reset-root', '--password', 'AnotherPass1'], { DATA_DIR }).ended
  expect(reset.code).toBe(0)
  const second = await serve({ DATA_DIR })
  expect(await signIn(second.url, 'RootPass1')).toMatchObject({ success: false })
  expect(await signIn(second.url, 'AnotherPass1')).toMatchObject({ success: true })
  expect(await setOption(second.url, token, closed)).toMatchObject({ success: false })
})

test('reconcile finds the books of a fresh installation balanced', async () => {
  const DATA_DIR = newFolder()
  const { program, ended } = await serve({ DATA_DIR })
  program.kill('SIGTERM')
  await ended
  const { code, out } = await start(['reconcile'], { DATA_DIR }).ended
  expect(out).toContain('0 differences')
  expect(code).toBe(0)
})

test('a taken port, and a database that is not there, say so in one line', async () => {
  const DATA_DIR = newFolder()
  const { url } = await serve({ DATA_DIR })
  const PORT = new URL(url).port
  const second = await start(['serve'], { DATA_DIR: newFolder(), PORT }).ended
  expect(second.err).toBe(`PORT: 127.0.0.1:${PORT} is taken by another program\n`)
  expect(second.code).toBe(1)
  const SQL_DSN = 'postgres://me:secret-word@127.0.0.1:1/nothing'
  const third = await start(['serve'], { SQL_DSN }).ended
  expect(third.err).toMatch(/^SQL_DSN: the database cannot be opened: .*ECONNREFUSED.*\n$/)
  expect(third.err).not.toContain('secret-word')
  expect(third.code).toBe(1)
})

test('a file that is no database is left alone, and the start says so', async () => {
  const DATA_DIR = newFolder()
  const file = path.join(DATA_DIR, 'gatehouse.db')
  fs.writeFileSync(file, 'these are not the pages you are looking for'.repeat(100))
  const before = fs.readFileSync(file, 'utf8')
  const { code, err } = await start(['serve'], { DATA_DIR }).ended
  expect(code).toBe(1)
  expect(err).toMatch(/^SQLITE_PATH: .*gatehouse\.db cannot be opened/)
  expect(fs.readFileSync(file, 'utf8')).toBe(before)
})
