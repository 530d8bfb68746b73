import { setTimeout as passed } from 'node:timers/promises'
import type pg from 'pg'
import { isOutage } from './outage.ts'
import { clientOf } from './postgres-pool.ts'

/**
 * Checks what the program needs of PostgreSQL and what compatible engines and poolers leave out,
 * some without an error. Throws one sentence for each missing feature.
 */
export async function checkEngine(pool: pg.Pool): Promise<void> {
  const client = await clientOf(pool)
  try {
    const other = await clientOf(pool)
    try {
      const troubles = await troublesOf(client, other)
      if (troubles.length > 0) throw new Error(troubles.join(' '))
    } finally {
      // The checks leave a lock and a subscription, which end with the connections.
      other.release(true)
    }
  } finally {
    client.release(true)
  }
}

async function troublesOf(client: pg.ClientBase, other: pg.ClientBase): Promise<string[]> {
  const troubles: string[] = []
  for (const { isThere, trouble } of FEATURES) {
    const isMissing = !(await isThere(client, other).catch((error: unknown) => {
      if (isOutage(error)) throw error
      return false
    }))
    if (isMissing) troubles.push(trouble)
  }
  return troubles
}

interface Feature {
  isThere(client: pg.ClientBase, other: pg.ClientBase): Promise<boolean>
  trouble: string
}

const CHANNEL = 'gatehouse_check'
/** Arbitrary number, which no other lock has. */
const LOCK = 7_235_503
const NOTIFY_LIMIT_MS = 5000

const FEATURES: readonly Feature[] = [
  {
    async isThere(client) {
      await client.query('DO $$ BEGIN PERFORM 1; END $$')
      return true
    },
    trouble:
      'It lacks the language plpgsql, in which the ledger is written: use PostgreSQL itself.',
  },
  {
    async isThere(client, other) {
      await client.query('SELECT pg_advisory_lock(pg_backend_pid(), $1)', [LOCK])
      const { rows } = await other.query<{ is_free: boolean }>(
        'SELECT pg_try_advisory_lock($1, $2) AS is_free',
        [await pidOf(client), LOCK],
      )
      return rows[0]?.is_free === false
    },
    trouble:
      'Its advisory locks do not lock, so that processes starting together would damage the tables: ' +
      'use PostgreSQL itself, or a pooler in session mode.',
  },
  {
    async isThere(client, other) {
      const heard = new Promise<boolean>((resolve) => {
        client.once('notification', () => resolve(true))
      })
      await client.query(`LISTEN ${CHANNEL}`)
      await other.query(`NOTIFY ${CHANNEL}`)
      return Promise.race([heard, passed(NOTIFY_LIMIT_MS, false, { ref: false })])
    },
    trouble:
      'It does not pass on NOTIFY, by which processes hear of one another’s changes: ' +
      'use PostgreSQL itself, or a pooler in session mode.',
  },
]

async function pidOf(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid
}
