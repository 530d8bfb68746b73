import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { startFakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { TOKEN_PREFIX } from '../../contract/token.ts'
import { ROOT_USERNAME } from '../../contract/user.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { DEMO_SIZE, fillDemo, type DemoSummary } from '../demo/fill-demo.ts'
import { randomText } from '../secrets.ts'
import { createPasswords } from '../user/password.ts'
import { openConfigured } from './open.ts'
import { serve } from './serve.ts'

const PASSWORD_LENGTH = 12
const INTERRUPTED = 130

/**
 * Serves a temporary SQLite database with generated data, regardless of the configured database.
 * All its channels use a fake upstream inside this process, so that calls work and none leaves the
 * machine.
 */
export async function demo(given: Config): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-demo-'))
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
  // Until the server has its own handlers, a signal must end the process with a cleanup.
  const interrupt = (): never => process.exit(INTERRUPTED)
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.on(signal, interrupt)

  const config: Config = {
    ...given,
    DATA_DIR: folder,
    SQLITE_PATH: path.join(folder, 'demo.db'),
    SQLITE_SYNCHRONOUS: 'NORMAL',
    SQL_DSN: undefined,
    LOG_DSN: undefined,
    EGRESS_ALLOW_PRIVATE: true,
    // The fake upstream is on this machine.
    RELAY_PROXY: undefined,
  }
  const password = given.INITIAL_ROOT_PASSWORD ?? randomText(PASSWORD_LENGTH)
  const upstream = await startFakeUpstream()
  try {
    const startedMs = systemClock.monotonicMs()
    const summary = await fill(config, { password, upstreamUrl: upstream.url })
    const seconds = (systemClock.monotonicMs() - startedMs) / 1000
    const address = await serve(config)
    for (const signal of signals) process.off(signal, interrupt)
    process.stdout.write(greeting(address, { summary, password, seconds }))
  } catch (error) {
    await upstream.close()
    throw error
  }
}

async function fill(
  config: Config,
  { password, upstreamUrl }: { password: string; upstreamUrl: string },
): Promise<DemoSummary> {
  process.stderr.write('creating the demo data …\n')
  const database = await openConfigured(config)
  try {
    return await fillDemo(database, {
      size: DEMO_SIZE,
      nowSeconds: systemClock.nowSeconds(),
      upstreamUrl,
      passwordHash: await createPasswords().hash(password),
    })
  } finally {
    await database.close()
  }
}

function greeting(
  address: string,
  { summary, password, seconds }: { summary: DemoSummary; password: string; seconds: number },
): string {
  const { people, channels, tokens, codes, calls, username, tokenKey } = summary
  return `
A demo with ${people} users, ${channels} channels, ${tokens} tokens, ${codes} codes and ${calls} \
calls, made in ${seconds.toFixed(1)} s.
  open      ${address}
  sign in   ${ROOT_USERNAME} / ${password}
            ${username} / ${password}   an ordinary user
  call      curl ${address}v1/chat/completions \\
              -H 'Authorization: Bearer ${TOKEN_PREFIX}${tokenKey}' \\
              -d '{"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello"}]}'
No data leaves this machine, and everything is deleted when the program ends (Ctrl-C).

`
}
