/**
 * `npm run trace-call`: which of our files and functions one warm call executes.
 *
 * Starts the server from its sources with the fake upstream, repeats a streamed chat call until it
 * is warm, then makes one more under V8's precise coverage and prints the files under `src/` and
 * how many functions of each ran. By default the client uses OpenAI's dialect and the channel
 * Anthropic's; `--other` traces more pairs. `--files` lists the functions too. Work in threads
 * (SQLite) is not counted.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pino from 'pino'
import { createChannel, createToken, signIn } from '../bench/management-client.ts'
import { openDatabase } from '../src/server/commands/open-database.ts'
import { parseConfig } from '../src/server/config.ts'
import { createServer } from '../src/server/server.ts'
import { startFakeUpstream } from './fake-upstream/fake-upstream.ts'

const ROOT = join(import.meta.dirname, '..')
const OURS = 'src/'
const PASSWORD = 'RootPass1'
const WARM_CALLS = 30
/** Long enough for background work, such as writing traces, to finish. */
const SETTLE_MS = 300

/** A client's call and the channel that serves it. */
interface Traced {
  title: string
  /** Number of the channel's type. */
  type: number
  path: string
  body: Record<string, unknown>
}

const MESSAGES = [{ role: 'user', content: 'What is the answer?' }]

const USUAL: Traced = {
  title: 'OpenAI → Anthropic, streamed',
  type: 14,
  path: '/v1/chat/completions',
  body: { messages: MESSAGES, stream: true },
}

const OTHERS: readonly Traced[] = [
  {
    title: 'OpenAI → OpenAI, streamed',
    type: 1,
    path: '/v1/chat/completions',
    body: { messages: MESSAGES, stream: true },
  },
  {
    title: 'OpenAI → OpenAI, whole',
    type: 1,
    path: '/v1/chat/completions',
    body: { messages: MESSAGES },
  },
  {
    title: 'Anthropic → Anthropic, streamed',
    type: 14,
    path: '/v1/messages',
    body: { messages: MESSAGES, stream: true, max_tokens: 100 },
  },
  {
    title: 'Anthropic → OpenAI, streamed',
    type: 1,
    path: '/v1/messages',
    body: { messages: MESSAGES, stream: true, max_tokens: 100 },
  },
]

/** Names of the functions that ran, by file. */
type Executed = ReadonlyMap<string, readonly string[]>

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { other: { type: 'boolean' }, files: { type: 'boolean' } },
  })
  const traced = values.other === true ? [USUAL, ...OTHERS] : [USUAL]
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-trace-'))
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>console</title>')
  const upstream = await startFakeUpstream()
  const { config } = parseConfig({
    PORT: '0',
    HOST: '127.0.0.1',
    DATA_DIR: folder,
    INITIAL_ROOT_PASSWORD: PASSWORD,
    EGRESS_ALLOW_PRIVATE: 'true',
  })
  const database = await openDatabase({ engine: 'sqlite', path: join(folder, 'gatehouse.db') })
  const trace = pino({ level: 'error' })
  const server = await createServer({ config, database, trace, consoleFolder: folder })
  const url = (await server.listen()).replace(/\/$/, '')
  const session = new Session()
  session.connect()
  try {
    await server.app.options.set('DefaultModelRatio', '1')
    const root = await signIn({ url, username: 'root', password: PASSWORD })
    const key = await createToken(root, {
      name: 'trace',
      remain_quota: 0,
      unlimited_quota: true,
    })
    for (const [index, one] of traced.entries()) {
      const models = `model-${index}`
      await createChannel(root, { name: models, base_url: upstream.url, models, type: one.type })
      const call = (): Promise<void> =>
        answered(url + one.path, key, { ...one.body, model: models })
      print(one.title, await executedBy(session, call), values.files === true)
    }
  } finally {
    session.disconnect()
    await server.close()
    await database.close()
    await upstream.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Makes a call and reads its response to the end. */
async function answered(url: string, key: string, body: unknown): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`)
}

async function executedBy(session: Session, call: () => Promise<void>): Promise<Executed> {
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  for (let calls = 0; calls < WARM_CALLS; calls += 1) await call()
  await sleep(SETTLE_MS)
  // Taking the counts sets them back to zero.
  await session.post('Profiler.takePreciseCoverage')
  await call()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const executed = new Map<string, string[]>()
  for (const { url, functions } of result) {
    const path = url.startsWith('file:') ? fileURLToPath(url).slice(ROOT.length + 1) : ''
    const ran = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
    if (!path.startsWith(OURS) || ran.length === 0) continue
    executed.set(
      path,
      ran.map(({ functionName }) => functionName || '(anonymous)'),
    )
  }
  return executed
}

function print(title: string, executed: Executed, showsFiles: boolean): void {
  const functions = [...executed.values()].reduce((sum, names) => sum + names.length, 0)
  const lines = [`${title}: ${executed.size} files, ${functions} functions`]
  const folders = Map.groupBy([...executed.keys()].toSorted(), dirname)
  for (const [folder, paths] of folders) {
    const count = paths.reduce((sum, path) => sum + (executed.get(path)?.length ?? 0), 0)
    lines.push(`  ${folder}: ${paths.length} files, ${count} functions`)
    for (const path of paths) {
      const names = executed.get(path) ?? []
      const list = showsFiles ? `: ${names.join(', ')}` : ''
      lines.push(`    ${String(names.length).padStart(3)}  ${path.slice(folder.length + 1)}${list}`)
    }
  }
  process.stdout.write(`${lines.join('\n')}\n`)
}

await main()
