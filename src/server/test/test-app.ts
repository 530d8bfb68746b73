import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { Agent, request } from 'undici'
import type { App } from '../app.ts'
import type { Clock } from '../clock.ts'
import { parseConfig } from '../config.ts'
import { openDatabase } from '../commands/open-database.ts'
import type { Database } from '../db/database.ts'
import type { TimeLimits } from '../http/time-limits.ts'
import type { LogOutbox } from '../log/outbox/outbox.ts'
import { readKeyring } from '../secrets/read-keyring.ts'
import { createServer } from '../server.ts'
import { expectBooksBalanced } from './expect-books-balanced.ts'
import type { OpenTestDatabase } from './for-each-database.ts'

/** The real server on a free loopback port, with a clock that only advances on request. */
export interface TestServer {
  url: string
  app: App
  database: Database
  clock: TestClock
  /** Set with `LOG_DSN`; looks by itself every second. */
  logOutbox: LogOutbox | null
  /** Errors that the program has logged. Empty unless a test causes one. */
  faults: string[]
  call(method: string, path: string, input?: CallInput): Promise<TestAnswer>
  /** Stops it. The ledger must balance after any test. */
  close(): Promise<void>
}

export interface TestClock extends Clock {
  advanceSeconds(seconds: number): void
  /** Makes all durations from before longer; timers are not affected. */
  lapseSeconds(seconds: number): void
}

/** The caller's credentials: a cookie, a system access token, or none. */
export interface TestCaller {
  cookie?: string
  accessToken?: string
}

export interface CallInput {
  as?: TestCaller
  /** Sent as JSON; texts and bytes are sent unchanged. */
  body?: unknown
  headers?: Record<string, string>
}

export interface TestAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** The envelope, or any other JSON; `{}` if it is not JSON. */
  json: Record<string, unknown>
  /** `json.data`, for access without narrowing at each step. */
  data: unknown
  message: string
}

/** Lowest work factor of bcrypt. */
const PASSWORD_COST = 4
/** 2027-01-15 08:00:00 UTC: the first second of an hour. */
const START_SECONDS = 1_800_000_000
export const ROOT_PASSWORD = 'RootPass1'

/** Starts a server on a new database. Limits are off; `settings` are environment variables. */
export async function startTestServer(
  open: OpenTestDatabase,
  settings: Record<string, string> = {},
  timeLimits: Partial<TimeLimits> = {},
): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-server-'))
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>console</title>')
  const { config } = parseConfig({
    PORT: '0',
    HOST: '127.0.0.1',
    DATA_DIR: folder,
    SESSION_SECRET: 'a secret that only tests know',
    INITIAL_ROOT_PASSWORD: ROOT_PASSWORD,
    GLOBAL_API_RATE_LIMIT: '0',
    GLOBAL_WEB_RATE_LIMIT: '0',
    CRITICAL_RATE_LIMIT: '0',
    ...settings,
  })
  const location = await open()
  // Tests need no durability, so they do not wait for the disk.
  const database = await openDatabase(
    location.engine === 'sqlite' ? { ...location, synchronous: 'NORMAL' } : location,
    undefined,
    readKeyring(config),
  )
  const clock = createTestClock()
  const faults: string[] = []
  const trace = pino({ level: 'error' }, { write: (line: string) => void faults.push(line) })
  const server = await createServer({
    config,
    database,
    trace,
    clock,
    passwordCost: PASSWORD_COST,
    consoleFolder: folder,
    manualFolder: join(folder, 'manual'),
    // Tests compete for the processor, which is not the overload that the server refuses calls for.
    timeLimits: { slowReservationMs: Infinity, ...timeLimits },
  })
  const url = (await server.listen()).replace(/\/$/, '')
  const agent = new Agent({ keepAliveTimeout: 1000 })
  return {
    url,
    app: server.app,
    logOutbox: server.logOutbox,
    database,
    clock,
    faults,
    call: (method, path, input = {}) => call(agent, { method, address: url + path, input }),
    async close() {
      await server.close()
      await agent.destroy()
      try {
        await expectBooksBalanced(database)
      } finally {
        await database.close()
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function createTestClock(): TestClock {
  let now = START_SECONDS
  let lapsedMs = 0
  return {
    nowSeconds: () => now,
    nowMs: () => now * 1000,
    // Durations use real time, as upstreams and timers do.
    monotonicMs: () => performance.now() + lapsedMs,
    lapseSeconds(seconds) {
      lapsedMs += seconds * 1000
    },
    advanceSeconds(seconds) {
      now += seconds
    },
  }
}

async function call(
  agent: Agent,
  { method, address, input }: { method: string; address: string; input: CallInput },
): Promise<TestAnswer> {
  const { as = {}, body, headers = {} } = input
  const response = await request(address, {
    dispatcher: agent,
    // undici types the methods by name; tests also use others.
    method: method as 'GET',
    headers: {
      ...(as.cookie === undefined ? {} : { cookie: as.cookie }),
      ...(as.accessToken === undefined ? {} : { authorization: as.accessToken }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw(body) ? body : JSON.stringify(body) }),
  })
  const text = await response.body.text()
  const json = objectOf(text)
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    json,
    data: json['data'],
    message: String(json['message']),
  }
}

const isRaw = (body: unknown): body is string | Buffer =>
  typeof body === 'string' || Buffer.isBuffer(body)

function objectOf(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    return {}
  }
}
