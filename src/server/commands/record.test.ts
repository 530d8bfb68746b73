import fs from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startFakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { recordedAnswers } from '../../../tools/traffic/recorded-answers.ts'
import { newFolder } from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { runProgram } from '../test/run-program.ts'

const LIMIT_MS = 30_000
/** The command looks for recorded calls twice a second. */
const WRITTEN_MS = 1500

async function serve(env: Record<string, string>): Promise<string> {
  const started = runProgram(['serve', '--port', '0'], { LOG_FORMAT: 'json', ...env }, newFolder())
  const pattern = /"address":"([^"]+)"/
  await expect.poll(() => started.said.out, { timeout: LIMIT_MS }).toMatch(pattern)
  return pattern.exec(started.said.out)?.[1] ?? ''
}

/** Makes a channel and a token as an admin does; answers the token's key. */
async function aServedToken(url: string, upstream: string): Promise<string> {
  const ask = async (where: string, body: unknown, cookie = '') => {
    const answer = await fetch(url + where, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie },
      body: JSON.stringify(body),
    })
    const cookies = answer.headers.getSetCookie().map((set) => set.split(';')[0])
    const json = (await answer.json()) as { success: boolean; message: string; data: unknown }
    expect(json).toMatchObject({ success: true })
    return { cookie: cookies.join('; '), data: Object(json.data) as Record<string, unknown> }
  }
  const { cookie } = await ask('api/user/login', { username: 'root', password: 'RootPass1' })
  await ask(
    'api/channel/',
    { type: 1, name: 'c', key: 'sk-up', base_url: upstream, models: 'gpt-4o', group: 'default' },
    cookie,
  )
  const token = { name: 't', unlimited_quota: true, expired_time: -1, remain_quota: 0 }
  const { data } = await ask('api/token/', token, cookie)
  return String(data['key'])
}

const chat = (url: string, key: string) =>
  fetch(`${url}v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer sk-${key}` },
    body: '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"stream":true}',
  }).then((answer) => answer.text())

test.each(['sqlite', 'postgres'])(
  'calls of running servers on %s become files that the suite can play',
  async (engine) => {
    const upstream = await startFakeUpstream()
    onTestFinished(() => upstream.close())
    const env: Record<string, string> = { INITIAL_ROOT_PASSWORD: 'RootPass1' }
    if (engine === 'postgres') {
      const { url, drop } = await createTestDatabase()
      onTestFinished(drop)
      env['SQL_DSN'] = url
      env['DATA_DIR'] = newFolder()
    } else env['DATA_DIR'] = newFolder()
    const first = await serve(env)
    const servers = engine === 'postgres' ? [first, await serve(env)] : [first, first]
    const key = await aServedToken(first, upstream.url)

    const folder = path.join(newFolder(), 'reports')
    const args = ['record', '--channel', '1', '--calls', '2', '--minutes', '1', '--to', folder]
    const command = runProgram(args, env, newFolder())
    await expect.poll(() => command.said.out, { timeout: LIMIT_MS }).toContain('Recording the next')
    // A server that has not noticed yet records no call.
    for (const [index, server] of servers.entries()) {
      const recorded = async (): Promise<number> => {
        expect(await chat(server, key)).toContain('[DONE]')
        await setTimeout(WRITTEN_MS)
        return fs.readdirSync(folder).length
      }
      await expect.poll(recorded, { timeout: LIMIT_MS }).toBeGreaterThan(index)
    }
    const { code, out, err } = await command.ended
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('2 of 2 calls recorded')
    const files = fs.readdirSync(folder).map((name) => path.join(folder, name))
    expect(files.map((file) => fs.statSync(file).mode & 0o777)).toEqual([0o600, 0o600])
    expect(recordedAnswers(folder)).toMatchObject([
      { provider: 'openai', api: 'chat', stream: true, status: 200 },
      { provider: 'openai', api: 'chat', stream: true, status: 200 },
    ])
  },
  120_000,
)

test.each([
  [[], 'choose the calls to record: --channel <id> or --token <id>'],
  [['--channel', 'x'], '--channel: got "x", expected an id'],
  [
    ['--channel', '1', '--calls', '101'],
    '--calls: got "101", expected a whole number from 1 to 100',
  ],
  [['--token', '1', '--minutes', '0'], '--minutes: got "0", expected a whole number from 1 to 60'],
])('record %j is refused in one line', async (args, said) => {
  const { code, err } = await runProgram(
    ['record', ...args],
    { DATA_DIR: newFolder() },
    newFolder(),
  ).ended
  expect([code, err]).toEqual([1, `${said}\n`])
})
