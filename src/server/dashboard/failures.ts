import type { App } from '../app.ts'
import { hourOf } from '../clock.ts'
import {
  addFailedCalls,
  addFailures,
  type FailureCount,
  type StoredFailedCall,
} from './failure-store.ts'

/**
 * Counts and lists failed calls. They cost nothing, so they are not in the ledger. Both are kept in
 * memory and stored every few seconds; data that cannot be stored is kept. A crash loses the last
 * seconds.
 */
export interface FailureCounts {
  add(call: FailedCall, told: ToldFailure): void
  /** Stores the rest. */
  close(): Promise<void>
}

/** The owner of a failed call and how far it got. */
export interface FailedCall {
  userId: number
  tokenName: string
  /** 0 if no channel had been chosen. */
  channelId: number
  /**
   * Empty if no channel serves the model, because the name is then arbitrary text from the client.
   */
  modelName: string
}

/** The error that the client received. */
export type ToldFailure = Pick<StoredFailedCall, 'request_id' | 'status' | 'code' | 'message'>

const INTERVAL_MS = 5000
/** Maximum number of listed calls per interval; more failures are only counted. */
const LISTED_MAX = 500
/** Maximum per user, because a program may fail continuously. */
const LISTED_OF_ONE_MAX = 20
/** In characters. */
const MESSAGE_MAX = 500
const CODE_MAX = 100
/** Maximum number of different counts waiting to be stored; more are counted without names. */
const WAITING_MAX = 10_000

export function createFailureCounts({
  database,
  clock,
  trace,
}: Pick<App, 'database' | 'clock' | 'trace'>): FailureCounts {
  let waiting = new Map<string, FailureCount>()
  let listed: StoredFailedCall[] = []
  /** Number of listed calls per user. */
  const listedOf = new Map<number, number>()

  function count(call: FailedCall & { hour: number }, failures: number): void {
    const { hour, userId, channelId } = call
    const isNamed = waiting.size < WAITING_MAX
    const modelName = isNamed ? call.modelName : ''
    const tokenName = isNamed ? call.tokenName : ''
    const key = JSON.stringify([hour, userId, channelId, modelName, tokenName])
    const known = waiting.get(key)
    if (known !== undefined) known.failures += failures
    else waiting.set(key, { hour, userId, channelId, modelName, tokenName, failures })
  }

  function list(call: FailedCall, { request_id, status, code, message }: ToldFailure): void {
    const of = listedOf.get(call.userId) ?? 0
    if (listed.length >= LISTED_MAX || of >= LISTED_OF_ONE_MAX) return
    listedOf.set(call.userId, of + 1)
    listed.push({
      request_id,
      created_at: clock.nowSeconds(),
      user_id: call.userId,
      channel_id: call.channelId,
      model_name: call.modelName,
      token_name: call.tokenName,
      status,
      code: storable(code, CODE_MAX),
      message: storable(message, MESSAGE_MAX),
    })
  }

  async function store(): Promise<void> {
    if (waiting.size === 0) return
    const rows = [...waiting.values()]
    const calls = listed
    waiting = new Map()
    listed = []
    listedOf.clear()
    try {
      await database.write.transaction().execute((trx) => addFailures(trx, rows))
    } catch (error) {
      for (const row of rows) count(row, row.failures)
      listed = [...calls, ...listed].slice(0, LISTED_MAX)
      trace.warn({ err: error, rows: rows.length }, 'could not count failed calls yet')
      return
    }
    try {
      await database.write.transaction().execute((trx) => addFailedCalls(trx, calls))
    } catch (error) {
      // The database is up, so these rows are invalid; drop them, or they would block the queue
      // forever.
      trace.warn({ err: error, rows: calls.length }, 'failed calls were counted, but not listed')
    }
  }

  let storing = Promise.resolve()
  const timer = setInterval(() => {
    storing = storing.then(store)
  }, INTERVAL_MS)
  timer.unref()

  return {
    add(call, told) {
      count({ ...call, hour: hourOf(clock.nowSeconds()) }, 1)
      list(call, told)
    },
    async close() {
      clearInterval(timer)
      await storing
      await store()
    },
  }
}

/** PostgreSQL texts cannot contain U+0000. */
const storable = (text: string, lengthMax: number): string =>
  text.slice(0, lengthMax).replaceAll('\0', '')
