import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  PRIMARY_SETTINGS,
  startPostgresCluster,
  startPostgresReplica,
  untilReplayed,
  type PostgresCluster,
} from '../../../tools/postgres-cluster.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { aLogRow, aUser, type TestUser } from '../test/factories.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { updateUser } from '../user/user-store.ts'
import { openReplica, type ReadReplica } from './read-replica.ts'

/** Longer than a stalled machine delays the check of the lag. */
const LAG_MAX_SECONDS = 10

let primary: PostgresCluster
let replica: PostgresCluster
let onReplica: pg.Client
let server: TestServer
let root: TestUser
let other: TestUser
let reads: ReadReplica
beforeAll(async () => {
  primary = await startPostgresCluster({ settings: PRIMARY_SETTINGS })
  replica = await startPostgresReplica(primary)
  onReplica = new pg.Client({ connectionString: replica.url })
  onReplica.on('error', () => {})
  await onReplica.connect()
  const location = {
    engine: 'postgres',
    url: primary.url,
    replica: { url: replica.url, lagMaxSeconds: LAG_MAX_SECONDS },
  } as const
  server = await startTestServer(() => Promise.resolve(location))
  const { replica: opened } = server.database
  if (opened === null) throw new Error('there is no replica')
  reads = opened
  root = await aUser(server, { role: Role.root })
  other = await aUser(server, { role: Role.root })
})
afterAll(async () => {
  await onReplica.end()
  await server.close()
  await replica.stop()
  await primary.stop()
})

const pause = async () => {
  await onReplica.query('SELECT pg_wal_replay_pause()')
  await vi.waitFor(async () => {
    const { rows } = await onReplica.query<{ state: string }>(
      'SELECT pg_get_wal_replay_pause_state() AS state',
    )
    expect(rows[0]?.state).toBe('paused')
  }, 60_000)
}
const resume = () => onReplica.query('SELECT pg_wal_replay_resume()')

/** Waits until the replica has everything, as seen by the server. */
const caughtUp = () =>
  vi.waitFor(async () => {
    const before = reads.counts.replica
    await usersSeenBy(root)
    expect(reads.counts.replica).toBeGreaterThan(before)
  }, 60_000)

async function usersSeenBy(user: TestUser): Promise<string> {
  const { text, json } = await server.call('GET', '/api/user/?p=0&order=', { as: user })
  expect(json['success']).toBe(true)
  return text
}

/** Runs work and returns how many reads each server served meanwhile. */
async function countsDuring(work: () => Promise<unknown>): Promise<ReadReplica['counts']> {
  const before = { ...reads.counts }
  await work()
  const { counts } = reads
  return { replica: counts.replica - before.replica, primary: counts.primary - before.primary }
}

const createUser = async (username: string) => {
  const body = { username, password: 'password-1', display_name: username }
  expect((await server.call('POST', '/api/user/', { as: root, body })).json['success']).toBe(true)
}

test('lists and sums are read from the replica, rights from the primary', async () => {
  await caughtUp()
  const counts = await countsDuring(async () => {
    for (const path of [
      '/api/user/?p=0',
      '/api/log/?p=0',
      '/api/log/stat',
      '/api/user/dashboard',
    ]) {
      const { json } = await server.call('GET', path, { as: other })
      expect([path, json['success']]).toEqual([path, true])
    }
  })
  expect(counts.replica).toBeGreaterThanOrEqual(6)
  expect(counts.primary).toBe(0)

  await pause()
  const banned = await aUser(server, { role: Role.root })
  await updateUser(server.database.write, banned.id, { status: UserStatus.disabled })
  const refused = await server.call('GET', '/api/user/?p=0', { as: banned })
  expect(refused.json['success']).toBe(false)
  await resume()
})

test('all pieces of an export are read from the replica', async () => {
  for (let row = 0; row < 500; row += 1) await aLogRow(server, { userId: root.id })
  await untilReplayed(primary, replica)
  const counts = await countsDuring(async () => {
    const { text } = await server.call('GET', '/api/log/export/?format=csv', { as: other })
    expect(text.trim().split('\n').length).toBeGreaterThan(500)
  })
  expect(counts.replica).toBeGreaterThanOrEqual(3)
  expect(counts.primary).toBe(0)
})

test('a user sees an own change immediately, others when the replica has it', async () => {
  await caughtUp()
  await pause()
  await createUser('newcomer')
  expect(await usersSeenBy(root)).toContain('newcomer')
  expect(await usersSeenBy(other)).not.toContain('newcomer')
  await resume()
  await vi.waitFor(async () => expect(await usersSeenBy(other)).toContain('newcomer'), 60_000)
  await caughtUp()
})

test('a replica that is too far behind is not read', async () => {
  await pause()
  await createUser('latecomer')
  await vi.waitFor(() => expect(reads.lagSeconds()).toBeGreaterThan(LAG_MAX_SECONDS), 60_000)
  const counts = await countsDuring(async () => {
    expect(await usersSeenBy(other)).toContain('latecomer')
  })
  expect(counts).toMatchObject({ replica: 0 })
  await resume()
  await caughtUp()
})

test('a replica that lacks an unwritten commit from before it was opened is not read', async () => {
  await untilReplayed(primary, replica)
  const onPrimary = new pg.Client({ connectionString: primary.url })
  await onPrimary.connect()
  // Commits are asynchronous here, and this process is what writes and sends them.
  const { rows } = await onPrimary.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'",
  )
  const [writer = { pid: 0 }] = rows
  process.kill(writer.pid, 'SIGSTOP')
  try {
    await onPrimary.query('CREATE TABLE migrated ()')
    const settings = { url: replica.url, lagMaxSeconds: LAG_MAX_SECONDS }
    const opened = await openReplica(settings, { write: server.database.write, silenceMs: 1000 })
    expect(opened.reads.lagSeconds()).toBe(Infinity)
    process.kill(writer.pid, 'SIGCONT')
    await vi.waitFor(() => expect(opened.reads.lagSeconds()).toBeLessThan(LAG_MAX_SECONDS), 60_000)
    await onReplica.query('SELECT FROM migrated')
    await opened.close()
  } finally {
    process.kill(writer.pid, 'SIGCONT')
    await onPrimary.end()
  }
})

test('a replica that goes away during a read is replaced by the primary', async () => {
  await replica.stop()
  const counts = await countsDuring(async () => {
    expect(await usersSeenBy(other)).toContain('newcomer')
  })
  expect(counts.primary).toBeGreaterThan(0)
  expect(server.faults).toEqual([])
})
