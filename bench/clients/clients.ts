import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs, promisify } from 'node:util'
import type { Script } from '../../tools/fake-upstream/script.ts'
import { startFakeUpstream, type FakeUpstream } from '../../tools/fake-upstream/fake-upstream.ts'
import { createGatehouse, ROOT_PASSWORD, type GatehouseServer } from '../gatehouse-server.ts'
import { createChannel, createToken, giveQuota, signIn } from '../management-client.ts'
import { markdownTable, publish } from '../report.ts'
import type { Client, Setting } from './client.ts'
import { clients } from './client-table.ts'

/** One channel for each upstream protocol, with a model whose vendor's rules are checked. */
const upstreams = [
  { id: 'chat', title: 'chat (type 50)', type: 50, model: 'qwen3-coder', path: '/~chat-only' },
  { id: 'openai', title: 'OpenAI (type 1)', type: 1, model: 'gpt-5.5', path: '' },
  { id: 'anthropic', title: 'Anthropic (type 14)', type: 14, model: 'claude-sonnet-4-6', path: '' },
  { id: 'gemini', title: 'Gemini (type 24)', type: 24, model: 'gemini-3.1-pro-preview', path: '' },
] as const
type Upstream = (typeof upstreams)[number]

const QUOTA = 1_000_000_000
const RUN_TIMEOUT_MS = 120_000
const INSTALL_TIMEOUT_MS = 900_000
const OUTPUT_MAX = 64 * 1024 * 1024
const OUTPUT_SHOWN = 3000
const results = path.join(import.meta.dirname, '../results/clients')
const run = promisify(execFile)

type Outcome = { client: Client; upstream: Upstream; problem: string | null; seconds: number }
type Installed = { folder: string; version: string } | { problem: string }

type Bench = {
  folder: string
  url: string
  key: string
  gatehouse: GatehouseServer
  upstream: FakeUpstream
  play(script: Script | null): void
}

/**
 * npm run bench -- clients
 *
 * Installs client programs from their registries and gives each a task of two tool calls through a
 * real server, once for each upstream protocol. Failures are described in `bench/results/clients/`.
 */
export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', default: '' },
      upstreams: { type: 'string', default: '' },
      folder: { type: 'string' },
    },
  })
  const chosen = clients.filter(({ id }) => isChosen(values.only, id))
  const served = upstreams.filter(({ id }) => isChosen(values.upstreams, id))
  if (chosen.length === 0 || served.length === 0) {
    const names = [...clients, ...upstreams].map(({ id }) => id).join(', ')
    throw new Error(`--only and --upstreams take names from: ${names}`)
  }
  const folder = values.folder ?? (await mkdtemp(path.join(tmpdir(), 'gatehouse-clients-')))
  let script: Script | null = null
  const upstream = await startFakeUpstream({
    wordsFor: (url) => (/chat-only.*\/responses/.test(url) ? 'fail-404' : ''),
    script: () => script,
  })
  const gatehouse = await createGatehouse({ database: 'sqlite' })
  const server = await gatehouse.start()
  try {
    const key = await prepare(gatehouse.url, upstream.url)
    const play = (next: Script | null) => (script = next)
    const bench = { folder, url: gatehouse.url, key, gatehouse, upstream, play }
    const outcomes: Outcome[] = []
    const versions = new Map<Client, string>()
    for (const client of chosen) {
      const installed = await install(folder, client)
      versions.set(client, 'version' in installed ? installed.version : '–')
      for (const one of served) outcomes.push(await attempt(bench, client, one, installed))
    }
    const { exitCode, output } = await gatehouse.reconcile()
    const isRight = exitCode === 0 && outcomes.every(({ problem }) => problem === null)
    if (!isRight) process.exitCode = 1
    const books = exitCode === 0 ? 'The books balance.' : output.slice(-OUTPUT_SHOWN)
    const table = `${tableOf(outcomes, versions)}\n\n${books}`
    publish('clients', table, outcomes.map(plainOutcome))
    const isWhole = chosen.length === clients.length && served.length === upstreams.length
    if (isWhole) await updatePage(table)
  } finally {
    await server.stop()
    await gatehouse.remove()
    await upstream.close()
    if (values.folder === undefined) await rm(folder, { recursive: true, force: true })
  }
}

const isChosen = (names: string, id: string) => names === '' || names.split(',').includes(id)

/** Creates the channels and a token; returns its key. */
async function prepare(url: string, upstreamUrl: string): Promise<string> {
  const root = await signIn({ url, username: 'root', password: ROOT_PASSWORD })
  await giveQuota(root, 'root', QUOTA)
  for (const { id, type, model, path: prefix } of upstreams) {
    await createChannel(root, { name: id, type, models: model, base_url: upstreamUrl + prefix })
  }
  const prices = JSON.stringify(Object.fromEntries(upstreams.map(({ model }) => [model, 1])))
  await root.call('PUT', '/api/option/', { key: 'ModelRatio', value: prices })
  return createToken(root, { name: 'clients', remain_quota: 0, unlimited_quota: true })
}

/** Installs a client's packages, once for all rows that share them. */
async function install(folder: string, client: Client): Promise<Installed> {
  const { install: wanted, source = '' } = client
  if (wanted === null) return { folder, version: source }
  const [first = ''] = wanted.packages
  const target = path.join(folder, `${wanted.from}-${first.replaceAll(/\W+/g, '-')}`)
  try {
    await access(target).catch(async () => {
      await mkdir(target, { recursive: true })
      const options = { cwd: target, timeout: INSTALL_TIMEOUT_MS, maxBuffer: OUTPUT_MAX }
      if (wanted.from === 'npm') {
        await writeFile(path.join(target, 'package.json'), '{"private":true}')
        // Claude Code installs its binary with a script, which this project's npm setting disables.
        const allowed = ['install', '--ignore-scripts=false', '--no-audit', '--no-fund']
        await run('npm', [...allowed, ...wanted.packages], options)
      } else {
        await run('python3', ['-m', 'venv', target], options)
        const pip = path.join(target, 'bin/pip')
        await run(pip, ['install', '--quiet', ...wanted.packages], options)
      }
    })
    return { folder: target, version: await versionOf(target, first, wanted.from) }
  } catch (error) {
    await rm(target, { recursive: true, force: true })
    process.stderr.write(`${client.id} could not be installed: ${String(error)}\n`)
    return { problem: 'not installed' }
  }
}

async function versionOf(target: string, name: string, from: 'npm' | 'pip'): Promise<string> {
  if (from === 'npm') {
    const manifest = path.join(target, 'node_modules', name, 'package.json')
    const { version }: { version: string } = JSON.parse(await readFile(manifest, 'utf8'))
    return version
  }
  const code = `import importlib.metadata; print(importlib.metadata.version('${name}'))`
  return (await run(path.join(target, 'bin/python'), ['-c', code])).stdout.trim()
}

/** Runs a client's task through an upstream. */
async function attempt(
  bench: Bench,
  client: Client,
  upstream: Upstream,
  installed: Installed,
): Promise<Outcome> {
  if ('problem' in installed) {
    return { client, upstream, problem: installed.problem, seconds: 0 }
  }
  const began = performance.now()
  const task = await newTask(bench, client, upstream, installed.folder)
  bench.upstream.seen()
  const lastId = (await bench.gatehouse.billedCalls()).at(-1)?.id ?? 0
  bench.play(task.script)
  const ended = await runProgram(client, task.setting)
  bench.play(null)
  const seconds = (performance.now() - began) / 1000
  const seen = bench.upstream.seen()
  const written = client.writes === undefined ? '' : await readWritten(task.setting, client.writes)
  const answered = seen.filter(
    ({ method, url, status }) => method === 'POST' && status === 200 && !/count_?tokens/i.test(url),
  )
  const billed = await bench.gatehouse.billedCalls(lastId)
  const problem = problemOf(ended, {
    hasAnswer: (client.writes === undefined ? ended.output : written).includes(task.answer),
    answered: answered.length,
    billed: billed.length,
  })
  const calls = seen.map(({ method, url, status, bytes }) => `${method} ${url} ${status}\n${bytes}`)
  await mkdir(results, { recursive: true })
  await writeFile(
    path.join(results, `${client.id}-${upstream.id}.txt`),
    [problem ?? 'passed', ended.output, written, ...calls].join('\n\n'),
  )
  process.stderr.write(`${client.id} ${upstream.id}: ${problem ?? 'passed'}\n`)
  return { client, upstream, problem, seconds }
}

type Task = { setting: Setting; script: Script; answer: string }

/** Creates an empty HOME and working folder, with a random key and word. */
async function newTask(
  { folder, url, key }: Bench,
  client: Client,
  { id, model }: Upstream,
  packages: string,
): Promise<Task> {
  const base = path.join(folder, 'runs', `${client.id}-${id}`)
  await rm(base, { recursive: true, force: true })
  const [home, work] = [path.join(base, 'home'), path.join(base, 'work')]
  const prompt = 'Which word belongs to the key?'
  const setting = { url, key, model, home, work, packages, prompt }
  const random = () => randomBytes(4).toString('hex')
  const [rightKey, word] = [`key-${random()}`, `word-${random()}`]
  const pairs = [`key-${random()} word-${random()}`, `${rightKey} ${word}`]
  const files: Record<string, string> = {
    [path.join(work, 'first.txt')]: `first: ${rightKey}\n`,
    [path.join(work, 'second.txt')]: `${pairs.join('\n')}\n`,
  }
  for (const [name, text] of Object.entries(client.files?.(setting) ?? {})) {
    files[path.join(home, name)] = text
  }
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  // aider only adds files that git tracks.
  await run('git', ['init', '--quiet'], { cwd: work })
  await run('git', ['add', '.'], { cwd: work })
  await mkdir(home, { recursive: true })
  await cp(path.join(import.meta.dirname, 'programs'), path.join(packages, 'programs'), {
    recursive: true,
  })
  const answer = `The word of ${rightKey} is ${word}.`
  const sentence = 'The word of {key} is {word}.'
  const script = {
    steps: client.steps(setting),
    answer:
      client.writes === undefined ? sentence : `${client.writes}\n\`\`\`\n${sentence}\n\`\`\`\n`,
  }
  return { setting, script, answer }
}

type Ended = { output: string; code: number | null; isLate: boolean }

/** Runs the program in its own environment, in which only loopback is reachable. */
function runProgram(client: Client, setting: Setting): Promise<Ended> {
  const [command = '', ...args] = client.command(setting)
  const child = spawn(command, args, {
    cwd: setting.work,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
      HOME: setting.home,
      TMPDIR: setting.home,
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      NO_COLOR: '1',
      HTTPS_PROXY: 'http://127.0.0.1:1',
      NO_PROXY: '127.0.0.1,localhost',
      ...client.env?.(setting),
    },
  })
  return new Promise((resolve) => {
    let output = ''
    let isLate = false
    const end = () => {
      try {
        process.kill(-Number(child.pid), 'SIGKILL')
      } catch {
        // It ended with all of its child processes.
      }
    }
    const timer = setTimeout(() => {
      isLate = true
      end()
    }, RUN_TIMEOUT_MS)
    const keep = (part: Buffer) => (output += part.toString())
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', (error) => (output += error.message))
    child.on('close', (code) => {
      clearTimeout(timer)
      end()
      resolve({ output, code, isLate })
    })
  })
}

const readWritten = ({ work }: Setting, name: string): Promise<string> =>
  readFile(path.join(work, name), 'utf8').catch(() => '')

function problemOf(
  { code, isLate }: Ended,
  { hasAnswer, answered, billed }: { hasAnswer: boolean; answered: number; billed: number },
): string | null {
  if (isLate) return `no end after ${RUN_TIMEOUT_MS / 1000} s`
  if (!hasAnswer) return `no answer, ended with ${code}`
  if (code !== 0) return `ended with ${code}`
  return answered === billed ? null : `${answered} calls answered, ${billed} billed`
}

const plainOutcome = ({ client, upstream, problem, seconds }: Outcome) => ({
  client: client.id,
  upstream: upstream.id,
  problem,
  seconds: Number(seconds.toFixed(1)),
})

function tableOf(outcomes: Outcome[], versions: Map<Client, string>): string {
  const rows = [...versions].map(([client, version]) => {
    const own = outcomes.filter((outcome) => outcome.client === client)
    const cells = upstreams.map(({ id }) => {
      const outcome = own.find(({ upstream }) => upstream.id === id)
      return outcome === undefined ? '' : (outcome.problem ?? 'passed')
    })
    return [client.name, version, client.dialect, ...cells]
  })
  const columns = ['program', 'version', 'asks by', ...upstreams.map(({ title }) => title)]
  return markdownTable({ columns, rows })
}

const [PAGE_START, PAGE_END] = ['<!-- results -->', '<!-- /results -->']

/** Writes the results of a complete run into `docs/clients.md`. */
async function updatePage(table: string): Promise<void> {
  const file = path.join(import.meta.dirname, '../../docs/clients.md')
  const page = await readFile(file, 'utf8')
  const [before = '', rest = ''] = page.split(PAGE_START)
  const after = rest.split(PAGE_END)[1] ?? ''
  const day = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length)
  const section = `Run of ${day}, Node ${process.version}:\n\n${table}`
  await writeFile(file, `${before}${PAGE_START}\n\n${section}\n\n${PAGE_END}${after}`)
}
