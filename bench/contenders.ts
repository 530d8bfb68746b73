import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rename } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import {
  createGatehouse,
  ROOT_PASSWORD,
  type DatabaseKind,
  type GatehouseServer,
} from './gatehouse-server.ts'
import { createChannel, createToken, giveQuota, signIn } from './management-client.ts'
import { freePort } from '../tools/free-port.ts'
import { startServer, type ServerProcess } from './server-process.ts'

export const SERVER_CORE = 0
export const LOAD_CORE = 1
export const MODEL = 'gpt-4o-mini'
const PLENTY_OF_QUOTA = 1_000_000_000

/** A server that accepts the same call as the others. */
export type Contender = {
  name: string
  url: string
  headers: Record<string, string>
  rssMebibytes(): number
  cpuSeconds(): number
  stop(): Promise<void>
  /** Checks the books after the server has stopped; null for servers without books. */
  books(answered: number): Promise<Books | null>
  /** Removes its files. */
  remove(): Promise<void>
}

export type Books = { isRight: boolean; summary: string }
/** The servers by their command-line names. */
export const contenderMakers = new Map<string, (upstream: string) => Promise<Contender>>([
  ['proxy', bareProxy],
  ['portkey', (upstream) => portkey(upstream)],
  ['sqlite', (upstream) => gatehouse('sqlite', upstream)],
  ['postgres', (upstream) => gatehouse('postgres', upstream)],
  ['traced', (upstream) => traced(upstream, 1)],
  ['sampled', (upstream) => traced(upstream, 0.1)],
  ['encrypted', encrypted],
])
/** Those that run without `--only`. */
export const USUAL_CONTENDERS = 'proxy,portkey,sqlite,postgres'

const noBooks = () => Promise.resolve(null)
const nothing = () => Promise.resolve()

export function direct(upstream: string): Contender {
  return {
    name: 'upstream itself',
    url: `${upstream}/v1/chat/completions`,
    headers: { authorization: 'Bearer sk-upstream' },
    rssMebibytes: () => 0,
    cpuSeconds: () => 0,
    stop: nothing,
    books: noBooks,
    remove: nothing,
  }
}

export async function startUpstream() {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const file = path.join(import.meta.dirname, '../tools/fake-upstream/fake-upstream.ts')
  const process = await startServer({
    name: 'upstream',
    args: [file, '--fast', '--port', String(port)],
    env: {},
    readyUrl: `${url}/__count`,
    core: LOAD_CORE,
  })
  return { url, process }
}

async function bareProxy(upstream: string): Promise<Contender> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = await startServer({
    name: 'bare proxy',
    args: [path.join(import.meta.dirname, 'peers/bare-proxy.ts'), String(port), upstream],
    env: {},
    readyUrl: `${url}/__count`,
    core: SERVER_CORE,
  })
  return relayServer('bare proxy', url, server, { authorization: 'Bearer sk-upstream' })
}

/**
 * Portkey, on the Node of this process or on another one: its official image contains Node 20
 * (https://github.com/Portkey-AI/gateway/blob/main/Dockerfile).
 */
export async function portkey(upstream: string, node?: string): Promise<Contender> {
  const name = node === undefined ? 'Portkey' : `Portkey on Node ${versionOf(node)}`
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const folder = await fetchPortkey()
  const server = await startServer({
    name,
    ...(node === undefined ? {} : { node }),
    args: [
      path.join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
      `--port=${port}`,
      '--headless',
    ],
    env: { NODE_ENV: 'production' },
    readyUrl: url,
    core: SERVER_CORE,
  })
  return relayServer(name, url, server, {
    authorization: 'Bearer sk-upstream',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstream}/v1`,
  })
}

const PORTKEY_VERSION = '1.15.2'

/** Installs it with npm into a temporary folder, which later runs reuse. */
async function fetchPortkey(): Promise<string> {
  const folder = path.join(tmpdir(), `gatehouse-bench-portkey-${PORTKEY_VERSION}`)
  if (existsSync(folder)) return folder
  const aside = await mkdtemp(`${folder}-`)
  await promisify(execFile)(
    'npm',
    ['install', '--ignore-scripts', `@portkey-ai/gateway@${PORTKEY_VERSION}`],
    { cwd: aside },
  )
  await rename(aside, folder)
  return folder
}

function versionOf(node: string): string {
  const { status, stdout } = spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${node} is no Node`)
  return stdout.trim()
}

function relayServer(
  name: string,
  url: string,
  server: ServerProcess,
  headers: Record<string, string>,
): Contender {
  return {
    name,
    url: `${url}/v1/chat/completions`,
    headers,
    rssMebibytes: () => server.rssMebibytes(),
    cpuSeconds: () => server.cpuSeconds(),
    stop: () => server.stop(),
    books: noBooks,
    remove: nothing,
  }
}

/**
 * Gatehouse that sends metrics, and traces of this share of the calls, to a collector that drops
 * them.
 */
async function traced(upstream: string, share: number): Promise<Contender> {
  const collector = http.createServer((request, response) => {
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has an address object.
  const { port } = collector.address() as AddressInfo
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(share),
  }
  const suffix = `, ${share * 100} % of the calls traced`
  const own = await gatehouse('sqlite', upstream, { suffix, env })
  return {
    ...own,
    async remove() {
      await own.remove()
      collector.closeAllConnections()
      collector.close()
    },
  }
}

/** Gatehouse with encrypted secrets. */
function encrypted(upstream: string): Promise<Contender> {
  const env = { SECRETS_KEY: randomBytes(32).toString('hex') }
  return gatehouse('sqlite', upstream, {
    suffix: ', encrypted secrets',
    env,
    prepare: async (own) => {
      const { exitCode, output } = await own.run('encrypt-secrets')
      if (exitCode !== 0) throw new Error(output)
    },
  })
}

async function gatehouse(
  database: DatabaseKind,
  upstream: string,
  {
    suffix = '',
    env = {},
    prepare = nothing,
  }: {
    suffix?: string
    env?: Record<string, string>
    prepare?: (own: GatehouseServer) => Promise<void>
  } = {},
): Promise<Contender> {
  const own = await createGatehouse({ database, core: SERVER_CORE, env })
  const server = await own.start()
  const root = await signIn({ url: own.url, username: 'root', password: ROOT_PASSWORD })
  await giveQuota(root, 'root', PLENTY_OF_QUOTA)
  await createChannel(root, { name: 'upstream', base_url: upstream, models: MODEL })
  const quota = { remain_quota: PLENTY_OF_QUOTA, unlimited_quota: false }
  const key = await createToken(root, { name: 'load', ...quota })
  await prepare(own)
  const name = `Gatehouse on ${database === 'sqlite' ? 'SQLite' : 'PostgreSQL'}${suffix}`
  return {
    ...relayServer(name, own.url, server, { authorization: `Bearer ${key}` }),
    remove: () => own.remove(),
    books: async (answered) => {
      const { exitCode, output } = await own.reconcile()
      const billed = await own.billedCalls()
      const once = new Set(billed.map(({ requestId }) => requestId)).size === billed.length
      const isRight = exitCode === 0 && billed.length === answered && once
      const summary =
        `${answered} calls answered, ${billed.length} billed${once ? '' : ', some twice'}, ` +
        `reconcile ended with ${exitCode}`
      return { isRight, summary: isRight ? summary : `${summary}\n${output.slice(-2000)}` }
    },
  }
}
