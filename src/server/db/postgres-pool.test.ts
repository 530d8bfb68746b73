import { setTimeout as passed } from 'node:timers/promises'
import type pg from 'pg'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openDatabase } from '../commands/open-database.ts'
import { parseConfig } from '../config.ts'
import { createHeartbeat } from '../ledger/heartbeat.ts'
import { createServer } from '../server.ts'
import { linkTo, type PostgresLink } from '../test/postgres-link.ts'
import { createTestDatabase, type TestDatabase } from '../test/postgres.ts'
import { isOutage } from './outage.ts'
import {
  announcerOn,
  connectionsOf,
  listenTo,
  patientPoolOf,
  poolOf,
  promptPoolOf,
} from './postgres-pool.ts'

/** Half of it is longer than any query here takes on a busy machine. */
const SILENCE_MS = 4000

let database: TestDatabase
let link: PostgresLink
let pool: pg.Pool
beforeEach(async () => {
  database = await createTestDatabase()
  link = await linkTo(database.url)
  pool = poolOf(link.url, { max: 1, silenceMs: SILENCE_MS })
})
afterEach(async () => {
  await pool.end()
  await link.close()
  await database.drop()
})

const failureOf = (query: Promise<unknown>): Promise<unknown> =>
  query.then(
    () => null,
    (error: unknown) => error,
  )

/** Holds a connection as a transaction does, so that only the caller can notice its loss. */
async function failingQuery(fail: () => void): Promise<unknown> {
  const client = await pool.connect()
  const failure = failureOf(client.query('SELECT pg_sleep(60)'))
  setTimeout(fail, 50)
  const error = await failure
  client.release()
  return error
}

test.each(['cut', 'mute'] as const)(
  'a network failure (%s) fails the query on the connection and nothing else',
  async (fault) => {
    expect(isOutage(await failingQuery(() => link[fault]()))).toBe(true)
    const { rows } = await pool.query<{ one: number }>('SELECT 1 AS one')
    expect(rows).toEqual([{ one: 1 }])
  },
)

test('a faulty query is not an outage', async () => {
  expect(isOutage(await failureOf(pool.query('SELECT no_such_column')))).toBe(false)
})

test('a read-only server, such as a standby, is an outage', async () => {
  await pool.query('SET default_transaction_read_only = on')
  expect(isOutage(await failureOf(pool.query('CREATE TABLE more (id integer)')))).toBe(true)
})

test.each(['40P01', '40001'])('a conflict with other work (%s) may be retried', async (code) => {
  const crossed = `DO $$ BEGIN RAISE 'crossed' USING ERRCODE = '${code}'; END $$`
  expect(isOutage(await failureOf(pool.query(crossed)))).toBe(true)
})

test('a read-only connection is replaced by a writable one', async () => {
  const connections = connectionsOf(pool)
  const first = await connections.connect()
  await first.query('SET default_transaction_read_only = on', [])
  first.release()
  const reader = await connections.connect()
  await expect(reader.query('CREATE TABLE more (id integer)', [])).rejects.toThrow('read-only')
  await reader.query('SELECT 1', [])
  reader.release()
  const next = await connections.connect()
  await next.query('CREATE TABLE more (id integer)', [])
  next.release()
})

describe('a server without free connections', () => {
  const role = `few_${process.pid}`
  let few: pg.Pool
  beforeEach(async () => {
    await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'a' CONNECTION LIMIT 2`)
    const url = new URL(database.url)
    url.username = role
    url.password = 'a'
    few = poolOf(url.href, { max: 4, silenceMs: 60_000 })
  })
  afterEach(async () => {
    await few.end()
    await pool.query(`DROP ROLE ${role}`)
  })

  test('shares the existing connections', async () => {
    const connections = connectionsOf(few)
    const ask = async () => {
      const connection = await connections.connect()
      await connection.query('SELECT pg_sleep(0.2)', [])
      connection.release()
    }
    await Promise.all(Array.from({ length: 8 }, ask))
    expect(few.totalCount).toBeLessThanOrEqual(2)
  })

  test('is reported if the pool has no connection of its own', async () => {
    const others = poolOf(String(few.options.connectionString), { max: 2 })
    const taken = [await others.connect(), await others.connect()]
    const startedMs = performance.now()
    const refused = failureOf(connectionsOf(few).connect())
    expect(isOutage(await refused)).toBe(true)
    expect(performance.now() - startedMs).toBeLessThan(30_000)
    for (const client of taken) client.release()
    await others.end()
  })
})

test('the server stops in time if the database does not respond', async () => {
  const opened = await openDatabase({ engine: 'postgres', url: link.url })
  const { config } = parseConfig({ PORT: '0', SHUTDOWN_TIMEOUT: '0' })
  const trace = pino({ level: 'silent' })
  const server = await createServer({ config, database: opened, trace, passwordCost: 4 })
  await server.listen()
  link.mute()
  const startedMs = performance.now()
  await server.close()
  await opened.close()
  expect(performance.now() - startedMs).toBeLessThan(60_000)
})

describe('the heartbeat of a live process', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  const lost: unknown[] = []
  async function aProcess() {
    lost.length = 0
    const opened = await openDatabase({ engine: 'postgres', url: link.url })
    const heartbeat = await createHeartbeat({
      database: opened,
      node: 'node-alive',
      onFailure: (error) => lost.push(error),
    })
    const nodes = opened.write.updateTable('nodes').set({ seen_at: 0 })
    await nodes.execute()
    const seenAt = async () => {
      const { rows } = await pool.query<{ seen_at: number }>('SELECT seen_at FROM nodes')
      return rows[0]?.seen_at
    }
    return { opened, heartbeat, seenAt }
  }

  test('continues after a beat hangs, before the process counts as dead', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    const { opened, heartbeat, seenAt } = await aProcess()
    link.mute()
    vi.advanceTimersByTime(20_000)
    await vi.waitFor(async () => expect(await seenAt()).toBeGreaterThan(0), 60_000)
    expect(lost).toEqual([expect.objectContaining({ message: 'Query read timeout' })])
    expect(lost.every(isOutage)).toBe(true)
    await heartbeat.stop()
    await opened.close()
  })

  test('continues while all other connections are busy', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    const { opened, heartbeat, seenAt } = await aProcess()
    const { max = 0 } = opened.pool?.options ?? {}
    const waiting = Array.from({ length: max }, () => opened.pool?.connect())
    const clients = await Promise.all(waiting)
    vi.advanceTimersByTime(10_000)
    await vi.waitFor(async () => expect(await seenAt()).toBeGreaterThan(0), 60_000)
    for (const client of clients) client?.release()
    await heartbeat.stop()
    await opened.close()
  })
})

describe('a listening connection', () => {
  /** Number of connections besides the querying one. */
  const listening = async (): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>(
      `SELECT count(*) FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND datname = current_database()`,
    )
    return rows[0]?.count ?? 0
  }
  const heard: string[] = []
  let listener: { close(): Promise<void> }
  beforeEach(async () => {
    heard.length = 0
    listener = await listenTo(link.url, 'news', {
      silenceMs: SILENCE_MS,
      onMessage: (message) => heard.push(message),
      onGap: () => heard.push('a gap'),
    })
  })
  afterEach(() => listener.close())

  const gapsAre = (count: number) =>
    vi.waitFor(() => expect(heard).toHaveLength(count), { timeout: 60_000 })

  test('is replaced each time the server ends it', async () => {
    for (let round = 1; round <= 3; round += 1) {
      await pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE pid <> pg_backend_pid() AND datname = current_database()`,
      )
      await gapsAre(round)
      // The process of the former connection may still be ending.
      await expect.poll(listening).toBe(1)
    }
  })

  test('is replaced when the network stops responding', async () => {
    link.mute()
    await gapsAre(1)
    await pool.query("SELECT pg_notify('news', 'hello')")
    await expect.poll(() => heard).toEqual(['a gap', 'hello'])
  })

  test('is closed if the server rejects LISTEN', async () => {
    const unheard = { silenceMs: SILENCE_MS, onMessage: () => {}, onGap: () => {} }
    await expect(listenTo(link.url, 'no name', unheard)).rejects.toThrow('syntax error')
    await expect.poll(listening).toBe(1)
  })
})

test('a failed announcement is retried in the background until it succeeds', async () => {
  const name = new URL(database.url).pathname.slice(1)
  // Shadows the server's own function on the next connection, and fails for a while.
  await pool.query(`
    CREATE SEQUENCE attempts;
    CREATE FUNCTION pg_notify(channel text, message text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('attempts') <= 3 THEN RAISE 'not now' USING ERRCODE = '57P03'; END IF;
      PERFORM pg_catalog.pg_notify(channel, message);
    END $$;
    ALTER DATABASE "${name}" SET search_path = public, pg_catalog`)
  const heard: string[] = []
  const listener = await listenTo(database.url, 'news', {
    silenceMs: 60_000,
    onMessage: (message) => heard.push(message),
    onGap: () => heard.push('gap'),
  })
  const announcers = poolOf(database.url, { max: 2, silenceMs: 60_000 })
  const announce = announcerOn(announcers, 'news')
  await Promise.all([announce('user:1'), announce('user:2')])
  expect(heard).toEqual([])
  await vi.waitFor(() => expect(heard.toSorted()).toEqual(['user:1', 'user:2']), 60_000)
  await listener.close()
  await announcers.end()
})

describe('long-running work', () => {
  const limits = [
    'statement_timeout',
    'transaction_timeout',
    'idle_in_transaction_session_timeout',
    'lock_timeout',
  ]

  /**
   * Milliseconds: longer than the statement that lifts the limit may take, to which it applies too,
   * and the longer wait that a limit in force ends.
   */
  const LIMIT_MS = 1000
  const WAIT_MS = LIMIT_MS + 100

  test.each(limits)('is not ended by the %s of the database', async (limit) => {
    const name = new URL(database.url).pathname.slice(1)
    await pool.query(`CREATE TABLE row_of (id integer); INSERT INTO row_of VALUES (1);
      ALTER DATABASE "${name}" SET ${limit} = ${LIMIT_MS}`)
    const holder = patientPoolOf(database.url, { max: 1 })
    const others = poolOf(database.url, { max: 1 })
    const waits = async (work: pg.Pool, held: (updated: Promise<unknown>) => Promise<unknown>) => {
      const [holding, client] = await Promise.all([holder.connect(), work.connect()])
      await holding.query('BEGIN; UPDATE row_of SET id = 2')
      await client.query('BEGIN')
      await passed(WAIT_MS)
      const updated = client.query('UPDATE row_of SET id = 3')
      const ending = held(updated).then(() => holding.query('ROLLBACK'))
      const failure = await failureOf(updated)
      await ending
      client.release(true)
      holding.release(true)
      return failure
    }
    // Held until the limit ends the work, even if this process is slow.
    expect(isOutage(await waits(others, failureOf))).toBe(true)
    const patient = patientPoolOf(database.url, { max: 1 })
    expect(await waits(patient, () => passed(WAIT_MS))).toBeNull()
    await Promise.all([holder.end(), others.end(), patient.end()])
  })
})

test('a role that cannot terminate connections is supported', async () => {
  const role = `meek_${new URL(database.url).pathname.slice(1)}`
  await pool.query(`CREATE ROLE "${role}" LOGIN PASSWORD 'secret'`)
  await pool.query('REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC')
  const url = new URL(database.url)
  url.username = role
  url.password = 'secret'
  const ledger = promptPoolOf(url.href, { work: 'ledger', timeoutMs: 5000 })
  const { rows } = await ledger.query<{ who: string }>('SELECT current_user AS who')
  await ledger.end()
  await pool.query(`DROP ROLE "${role}"`)
  expect(rows).toEqual([{ who: role }])
})
