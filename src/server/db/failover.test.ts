import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  PRIMARY_SETTINGS,
  startPostgresCluster,
  startPostgresReplica,
  untilReplayed,
  type PostgresCluster,
} from '../../../tools/postgres-cluster.ts'
import { openDatabase } from '../commands/open-database.ts'
import { isOutage } from './outage.ts'
import { poolOf } from './postgres-pool.ts'

let primary: PostgresCluster
let replica: PostgresCluster
/** Names the replica first. */
let both: string
beforeAll(async () => {
  primary = await startPostgresCluster({ settings: PRIMARY_SETTINGS })
  replica = await startPostgresReplica(primary)
  const { host } = new URL(replica.url)
  both = `${primary.url.replace('@', `@${host},`)}?target_session_attrs=read-write`
})
afterAll(async () => {
  await replica.stop()
  await primary.stop()
})

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

test('a host that only reads is passed over, also if it is named first', async () => {
  const pool = poolOf(both, { max: 1 })
  const { command } = await pool.query('CREATE TABLE written (id integer)')
  expect(command).toBe('CREATE')
  await pool.end()
  await untilReplayed(primary, replica)
})

test('a host that stops accepting writes is left', async () => {
  const readOnly = poolOf(replica.url, { max: 1 })
  const refused = await failureOf(readOnly.query('INSERT INTO written VALUES (1)'))
  expect(isOutage(refused)).toBe(true)
  await readOnly.end()
})

test('after a failover all connections lead to the promoted host', async () => {
  const database = await openDatabase({ engine: 'postgres', url: both })
  const heard: string[] = []
  database.onAnnouncement((message) => heard.push(message))
  const admin = new pg.Client({ connectionString: replica.url })
  await admin.connect()
  await untilReplayed(primary, replica)

  await primary.stop()
  const write = () =>
    database.write.insertInto('settings').values({ name: 'after', value: '1' }).execute()
  const release = () => database.runLedger([{ kind: 'release', requestId: 'none' }])
  for (const work of [write, release]) {
    // The first failure may be that of the connection that was lost.
    for (let round = 0; round < 2; round += 1) expect(isOutage(await failureOf(work()))).toBe(true)
  }

  await admin.query('SELECT pg_promote()')
  await admin.end()
  await write()
  expect(await release()).toEqual([{ kind: 'closed' }])
  await vi.waitFor(() => expect(heard).toContain('everything'), 60_000)
  const other = await openDatabase({ engine: 'postgres', url: both })
  await other.announce('options')
  await vi.waitFor(() => expect(heard).toContain('options'), 60_000)
  await other.close()
  await database.close()
})
