import { AsyncLocalStorage } from 'node:async_hooks'
import { sql, type Kysely } from 'kysely'
import type pg from 'pg'
import { isOutage } from './outage.ts'
import { NoConnection } from './postgres-hosts.ts'
import { connectionsOf, poolOf, promptPoolOf } from './postgres-pool.ts'
import type { Schema } from './schema.ts'

/**
 * A streaming replica from which pages with lists, sums and exports are read. A request uses it if
 * the replica is at most `lagMaxSeconds` behind and has what the caller has changed last; otherwise
 * the primary answers. Everything outside of such requests reads the primary.
 */
export interface ReadReplica {
  /** Runs a request of this user that may read the replica. */
  reading<T>(userId: number, work: () => Promise<T>): Promise<T>
  /** Notes that this user has changed something. Never rejects. */
  noteWrite(userId: number): Promise<void>
  /** Seconds that the replica is behind; Infinity if that was never known. */
  lagSeconds(): number
  /** Number of connections of such requests to the replica, and to the primary instead of it. */
  readonly counts: { replica: number; primary: number }
}

export interface ReplicaSettings {
  url: string
  lagMaxSeconds: number
}

export interface OpenReplica {
  /** Connections of reads that `primary` serves if the replica cannot. */
  before(primary: pg.Pool): Connections
  reads: ReadReplica
  close(): Promise<unknown>
}

type Connections = ReturnType<typeof connectionsOf>

/** Whether the running request may read the replica. */
const permission = new AsyncLocalStorage<{ mayUseReplica: boolean }>()

const CHECK_INTERVAL_MS = 1000
/** Positions that the replica has not reached yet; more make the lag imprecise, and nothing else. */
const POSITIONS_MAX = 3600

/**
 * Maximum number of long reads, and how long one waits for a connection before it goes to the
 * primary.
 */
const POOL_SIZE = 4
const CONNECT_TIMEOUT_MS = 3000
const CHECK_TIMEOUT_MS = 3000

/** Opens a replica. Resolves also if it is away. */
export async function openReplica(
  { url, lagMaxSeconds }: ReplicaSettings,
  { write, silenceMs }: { write: Kysely<Schema>; silenceMs: number },
): Promise<OpenReplica> {
  const replica = poolOf(url, {
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    silenceMs,
  })
  const checks = promptPoolOf(url, { work: 'replica', timeoutMs: CHECK_TIMEOUT_MS })
  /** Positions of the primary, oldest first. */
  let positions: { position: number; atMs: number }[] = []
  /** Last position that the replica reached, and when the primary had been there. */
  let reached = { position: -1, atMs: -Infinity }
  const counts = { replica: 0, primary: 0 }
  const lagSeconds = (): number => (performance.now() - reached.atMs) / 1000

  async function check(): Promise<void> {
    const atMs = performance.now()
    const position = await positionOf(write)
    // After a failover the new primary may lack the last writes of the former one.
    if (position < (positions.at(-1)?.position ?? 0)) positions = []
    positions.push({ position, atMs })
    if (positions.length > POSITIONS_MAX) positions.shift()
    const { rows } = await checks.query<{ position: number | null }>(REPLAYED)
    const replayed = rows[0]?.position ?? -1
    for (let first = positions[0]; first !== undefined && first.position <= replayed;) {
      reached = { position: replayed, atMs: first.atMs }
      positions.shift()
      first = positions[0]
    }
  }

  let checking = check().catch(() => {})
  await checking
  let isChecking = false
  const timer = setInterval(() => {
    // An unresponsive server is asked once, not every second again.
    if (isChecking) return
    isChecking = true
    checking = check()
      .catch(() => {})
      .finally(() => (isChecking = false))
  }, CHECK_INTERVAL_MS).unref()

  const isFresh = (): boolean => lagSeconds() <= lagMaxSeconds

  /** Reads the primary's row: it holds the last change also if another process has made it. */
  async function hasWritesOf(userId: number): Promise<boolean> {
    const row = await write
      .selectFrom('last_writes')
      .select('position')
      .where('user_id', '=', userId)
      .executeTakeFirst()
    return row === undefined || row.position <= reached.position
  }

  return {
    before: (primary) => fallingBack({ replica, primary, isFresh, counts }),
    reads: {
      counts,
      lagSeconds,
      async reading(userId, work) {
        const mayUseReplica = isFresh() && (await hasWritesOf(userId).catch(() => false))
        return permission.run({ mayUseReplica }, work)
      },
      async noteWrite(userId) {
        const position = sql<number>`pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`
        await write
          .insertInto('last_writes')
          .values({ user_id: userId, position })
          .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ position }))
          .execute()
          // The change itself has been committed. At worst a list shows it a moment later.
          .catch(() => {})
      },
    },
    async close() {
      clearInterval(timer)
      await checking
      return Promise.all([replica.end(), checks.end()])
    },
  }
}

/**
 * Bytes of WAL since the beginning, as a number that both servers count alike. This is the inserted
 * position, not the written one: with `synchronous_commit` off a commit is written a moment later,
 * and a replica that lacks the migration of this process would count as up to date.
 */
async function positionOf(primary: Kysely<Schema>): Promise<number> {
  const { rows } = await sql<{ position: number }>`
    SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS position`.execute(primary)
  const position = rows[0]?.position
  if (position === undefined) throw new Error('the primary reported no position')
  return position
}

/** A promoted replica has everything that it wrote itself. */
const REPLAYED = `SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery()
  THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END, '0/0')::bigint AS position`

/**
 * Connections to the replica for permitted requests, else to the primary. If the replica fails, the
 * statement is repeated on the primary: such requests only read.
 */
function fallingBack({
  replica,
  primary,
  isFresh,
  counts,
}: {
  replica: pg.Pool
  primary: pg.Pool
  isFresh: () => boolean
  counts: ReadReplica['counts']
}): Connections {
  const [near, sure] = [connectionsOf(replica), connectionsOf(primary)]
  return {
    ...sure,
    async connect() {
      const store = permission.getStore()
      if (store === undefined) return sure.connect()
      const first = store.mayUseReplica && isFresh() ? await near.connect().catch(() => null) : null
      if (first === null) {
        counts.primary += 1
        return sure.connect()
      }
      counts.replica += 1
      let connection: typeof first | null = first
      const query = async (text: string, values: unknown[]) => {
        const using = connection
        if (using === null) throw new NoConnection('no connection to the database')
        try {
          return await using.query(text, values)
        } catch (error) {
          if (using !== first || !isOutage(error)) throw error
          connection = null
          first.release()
          counts.primary += 1
          connection = await sure.connect()
          return connection.query(text, values)
        }
      }
      // kysely uses this signature of the overloaded method when there are no cursors.
      return { query: query as pg.PoolClient['query'], release: () => connection?.release() }
    },
  }
}
