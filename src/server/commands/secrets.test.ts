import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { keyringOf } from '../secrets/keyring.ts'
import { newFolder, plainPostgres, plainSqlite } from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { runCommand } from '../test/run-command.ts'
import { runProgram } from '../test/run-program.ts'

/** Five servers are started one after the other. */
const LIMIT_MS = 120_000

const aKey = (): string => randomBytes(32).toString('hex')
const idOf = (key: string): string => keyringOf([key]).ids[0] ?? ''

async function serve(env: Record<string, string>) {
  const started = runProgram(['serve', '--port', '0'], { LOG_FORMAT: 'json', ...env }, newFolder())
  const pattern = /"address":"([^"]+)"/
  await expect.poll(() => started.said.out).toMatch(pattern)
  const stop = async () => {
    started.program.kill('SIGTERM')
    await started.ended
  }
  return { url: pattern.exec(started.said.out)?.[1] ?? '', stop }
}

async function saveMailPassword(url: string): Promise<void> {
  const ask = async (method: string, where: string, body: unknown, cookie = '') => {
    const answer = await fetch(url + where, {
      method,
      headers: { 'content-type': 'application/json', cookie },
      body: JSON.stringify(body),
    })
    expect(await answer.json()).toMatchObject({ success: true })
    return answer.headers
      .getSetCookie()
      .map((set) => set.split(';')[0])
      .join('; ')
  }
  const user = { username: 'root', password: 'RootPass1' }
  const cookie = await ask('POST', 'api/user/login', user)
  await ask('PUT', 'api/option/', { key: 'SMTPToken', value: 'mail-password' }, cookie)
}

test.each(['sqlite', 'postgres'] as const)(
  'secrets on %s are encrypted, re-encrypted and decrypted beside a running server',
  async (engine) => {
    const env: Record<string, string> = {
      INITIAL_ROOT_PASSWORD: 'RootPass1',
      DATA_DIR: newFolder(),
    }
    if (engine === 'postgres') {
      const { url, drop } = await createTestDatabase()
      onTestFinished(drop)
      env['SQL_DSN'] = url
    }
    const file = path.join(env['DATA_DIR'] ?? '', 'gatehouse.db')
    const db = engine === 'postgres' ? plainPostgres(env['SQL_DSN'] ?? '') : plainSqlite(file)
    const stored = async () => {
      const rows = await db.rows(`SELECT value FROM options WHERE "key" = 'SMTPToken'`)
      return String(rows[0]?.['value'])
    }
    const [key, next] = [aKey(), aKey()]
    const keyFile = path.join(newFolder(), 'keys')
    fs.writeFileSync(keyFile, `# current\n${key}\n`)
    const withKey = { ...env, SECRETS_KEY_FILE: keyFile }

    const without = await serve(env)
    await saveMailPassword(without.url)
    const noKey = await runCommand(['encrypt-secrets'], env)
    expect(noKey).toMatchObject({ code: 1, out: '' })
    expect(noKey.err).toContain('set the key to encrypt with')
    const early = await runCommand(['encrypt-secrets'], withKey)
    expect(early).toMatchObject({ code: 1, out: '' })
    expect(early.err).toBe(
      `1 running server does not have the key ${idOf(key)}: add it to SECRETS_KEY or SECRETS_KEY_FILE of each server and restart it\n`,
    )
    await without.stop()

    const first = await serve(withKey)
    const dry = await runCommand(['encrypt-secrets', '--dry-run'], withKey)
    expect([dry.code, dry.err]).toEqual([0, ''])
    expect(dry.out).toContain(
      `dry run: 2 of 2 secrets would be encrypted with the key ${idOf(key)}`,
    )
    expect(await stored()).toBe('mail-password')
    expect(await runCommand(['encrypt-secrets'], withKey)).toMatchObject({ code: 0 })
    expect(await stored()).toMatch(new RegExp(`^gh1:${idOf(key)}:`))
    await saveMailPassword(first.url)
    expect(await stored()).toMatch(/^gh1:/)
    await first.stop()

    const refused = await runCommand(['serve', '--port', '0'], env)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain(
      `encrypted with the key ${idOf(key)}, which is not in SECRETS_KEY`,
    )
    expect(refused.err).toContain('请设置加密时使用的密钥')
    if (engine === 'sqlite') {
      const to = await createTestDatabase()
      onTestFinished(to.drop)
      const moved = await runCommand(['move', '--to', to.url], env)
      expect(moved.code).toBe(1)
      expect(moved.err).toContain('nothing was moved: its secrets are encrypted with the key')
      const copied = await runCommand(['move', '--to', to.url], { ...withKey })
      expect(copied).toMatchObject({ code: 0, err: '' })
      const query = `SELECT value FROM options WHERE "key" = 'SMTPToken'`
      expect(await plainPostgres(to.url).rows(query)).toEqual([{ value: await stored() }])
    }

    fs.writeFileSync(keyFile, `${next}\n${key}\n`)
    const second = await serve(withKey)
    expect(await runCommand(['rotate-secrets'], withKey)).toMatchObject({ code: 0 })
    expect(await stored()).toMatch(new RegExp(`^gh1:${idOf(next)}:`))
    const back = await runCommand(['decrypt-secrets'], withKey)
    expect(back).toMatchObject({ code: 0 })
    expect(await stored()).toBe('mail-password')
    const off = await runCommand(['rotate-secrets'], withKey)
    expect(off.err).toContain('encrypt them with: gatehouse encrypt-secrets')
    await second.stop()
  },
  LIMIT_MS,
)

test('a key that is malformed or missing stops the start with one line that does not repeat it', async () => {
  const DATA_DIR = newFolder()
  const short = await runCommand(['serve', '--port', '0'], { DATA_DIR, SECRETS_KEY: 'abcd' })
  expect(short.code).toBe(1)
  expect(short.err).toMatch(/^SECRETS_KEY: each key has 64 hexadecimal digits; .*\n$/)
  expect(short.err).not.toContain('abcd')
  const missing = path.join(DATA_DIR, 'none')
  const none = await runCommand(['serve', '--port', '0'], { DATA_DIR, SECRETS_KEY_FILE: missing })
  expect(none.err).toContain(`SECRETS_KEY_FILE: ${missing} cannot be read (ENOENT)`)
})

test('a backup does not contain the key', async () => {
  const env = { DATA_DIR: newFolder(), SECRETS_KEY: aKey(), INITIAL_ROOT_PASSWORD: 'RootPass1' }
  const server = await serve(env)
  await server.stop()
  const to = newFolder()
  expect(await runCommand(['backup', '--to', to], env)).toMatchObject({ code: 0 })
  const [name = ''] = fs.readdirSync(to)
  const settings = fs.readFileSync(path.join(to, name, 'settings.env'), 'utf8')
  expect(settings).toContain('# SECRETS_KEY: not saved')
  expect(settings).not.toContain(env.SECRETS_KEY)
})
