import { sql } from 'kysely'
import type { CaptureMode } from '../../../contract/log.ts'
import { CAPTURE_MODES } from '../../../contract/log.ts'
import type { Queries } from '../../db/database.ts'

/**
 * Stores captured requests and responses, and the capture mode of tokens. The caller compresses the
 * texts.
 */

export interface StoredBody {
  request_id: string
  mode: string
  request: Uint8Array
  response: Uint8Array
}

/** Returns the capture modes of all capturing tokens. */
export async function loadCaptureModes(db: Queries): Promise<Map<number, CaptureMode>> {
  const rows = await db.selectFrom('token_captures').selectAll().execute()
  return new Map(rows.map(({ token_id, mode }) => [token_id, captureMode(mode)]))
}

export async function findCaptureMode(db: Queries, tokenId: number): Promise<CaptureMode> {
  const row = await db
    .selectFrom('token_captures')
    .select('mode')
    .where('token_id', '=', tokenId)
    .executeTakeFirst()
  return captureMode(row?.mode)
}

/** A mode that this version does not support captures nothing. */
const captureMode = (text: string | undefined): CaptureMode =>
  CAPTURE_MODES.find((mode) => mode === text) ?? 'off'

export async function saveCaptureMode(
  db: Queries,
  tokenId: number,
  mode: CaptureMode,
): Promise<void> {
  if (mode === 'off') {
    await db.deleteFrom('token_captures').where('token_id', '=', tokenId).execute()
    return
  }
  await db
    .insertInto('token_captures')
    .values({ token_id: tokenId, mode })
    .onConflict((conflict) => conflict.column('token_id').doUpdateSet({ mode }))
    .execute()
}

/**
 * Stores captured texts with the time of their call's ledger row. A call without one has no log
 * row, and an existing text stays.
 */
export async function insertBodies(db: Queries, bodies: readonly StoredBody[]): Promise<void> {
  const booked = await db
    .selectFrom('ledger')
    .select(['request_id', 'created_at', 'user_id'])
    .where(
      'request_id',
      'in',
      bodies.map(({ request_id }) => request_id),
    )
    .execute()
  const byRequest = new Map(booked.map((row) => [row.request_id, row]))
  const values = bodies.flatMap((body) => {
    const row = byRequest.get(body.request_id)
    return row === undefined ? [] : [{ ...body, created_at: row.created_at, user_id: row.user_id }]
  })
  if (values.length === 0) return
  await db
    .insertInto('log_bodies')
    .values(values)
    .onConflict((conflict) => conflict.column('request_id').doNothing())
    .execute()
}

/** Returns which of these calls have captured texts, without reading the texts. */
export async function requestsWithBody(
  db: Queries,
  requestIds: readonly (string | null)[],
): Promise<ReadonlySet<string>> {
  const ids = requestIds.filter((id) => id !== null && id !== '')
  if (ids.length === 0) return NONE
  const rows = await db
    .selectFrom('log_bodies')
    .select('request_id')
    .where('request_id', 'in', ids)
    .execute()
  return new Set(rows.map(({ request_id }) => request_id))
}

const NONE: ReadonlySet<string> = new Set()

export async function findBodies(
  db: Queries,
  requestIds: readonly string[],
): Promise<StoredBody[]> {
  if (requestIds.length === 0) return []
  return db
    .selectFrom('log_bodies')
    .select(['request_id', 'mode', 'request', 'response'])
    .where('request_id', 'in', requestIds)
    .execute()
}

/** Captured texts with their time. */
export interface PlacedBody {
  request_id: string
  created_at: number
  request: Uint8Array
  response: Uint8Array
}

/** Returns captured texts of a time range, newest first, after the one of `after`. */
export function bodiesBefore(
  db: Queries,
  {
    userId,
    start,
    end,
    after,
    countMax,
  }: {
    userId: number | undefined
    /** In seconds, both inclusive. */
    start: number
    end: number
    after: Pick<PlacedBody, 'created_at' | 'request_id'> | null
    countMax: number
  },
): Promise<PlacedBody[]> {
  let query = db
    .selectFrom('log_bodies')
    .select(['request_id', 'created_at', 'request', 'response'])
    .where('created_at', '>=', start)
    .where('created_at', '<=', end)
  if (userId !== undefined) query = query.where('user_id', '=', userId)
  if (after !== null) {
    query = query.where(
      sql<boolean>`(created_at, request_id) < (${after.created_at}, ${after.request_id})`,
    )
  }
  return query.orderBy('created_at', 'desc').orderBy('request_id', 'desc').limit(countMax).execute()
}

/** Deletes some texts captured before a second. Returns their number. */
export async function deleteBodiesBefore(
  db: Queries,
  seconds: number,
  countMax: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('log_bodies')
    .where(
      'request_id',
      'in',
      db
        .selectFrom('log_bodies')
        .select('request_id')
        .where('created_at', '<', seconds)
        .orderBy('created_at')
        .orderBy('request_id')
        .limit(sql.lit(countMax)),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}
