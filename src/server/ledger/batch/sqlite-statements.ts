import type Sqlite from 'better-sqlite3'
import { LogType } from '../../../contract/log.ts'

/** Compiles the statements of the ledger's batches on SQLite, once per connection. */

export interface UserFigures {
  id: number
  status: number
  quota: number
  usedQuota: number
  requestCount: number
  limited: number
}

export interface TokenFigures {
  id: number
  status: number
  remain: number
  used: number
  unlimited: number
  limited: number
  expires: number
  accessed: number
  address: string | null
}

export interface OpenReservation {
  userId: number
  tokenId: number
  userAmount: number
  tokenAmount: number
  node: string
}

export type Statements = ReturnType<typeof prepareStatements>

const RESERVATION = `user_id AS userId, token_id AS tokenId, user_amount AS userAmount,
  token_amount AS tokenAmount, node`

export function prepareStatements(db: Sqlite.Database) {
  return {
    // Null columns of adopted rows count as 0, as in One API.
    user: db.prepare<[number], UserFigures>(`
      SELECT id, status, coalesce(quota, 0) AS quota, coalesce(used_quota, 0) AS usedQuota,
        coalesce(request_count, 0) AS requestCount, coalesce(limited, 0) AS limited
      FROM users WHERE id = ?`),
    token: db.prepare<[number], TokenFigures>(`
      SELECT id, status, coalesce(remain_quota, 0) AS remain, coalesce(used_quota, 0) AS used,
        coalesce(unlimited_quota, 0) AS unlimited, coalesce(expired_time, 0) AS expires,
        coalesce(accessed_time, 0) AS accessed, gh_last_ip AS address,
        coalesce(limited, 0) AS limited
      FROM tokens WHERE id = ?`),
    counter: db.prepare<[string], { next: number }>('SELECT next FROM id_counters WHERE name = ?'),
    setCounter: db.prepare('UPDATE id_counters SET next = ? WHERE name = ?'),
    // Inserts no row if the request id exists; the caller then checks which process holds it.
    openReservation: db.prepare(`
      INSERT INTO reservations
        (request_id, user_id, token_id, user_amount, token_amount, created_at, node)
      VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (request_id) DO NOTHING`),
    reservation: db.prepare<[string], OpenReservation>(
      `SELECT ${RESERVATION} FROM reservations WHERE request_id = ?`,
    ),
    // The deletion is the compare-and-set: it returns the row to only one caller.
    closeReservation: db.prepare<[string], OpenReservation>(
      `DELETE FROM reservations WHERE request_id = ? RETURNING ${RESERVATION}`,
    ),
    checkpoint: db.prepare(`
      UPDATE reservations SET user_amount = ?, token_amount = ?, checkpoint = ?
      WHERE request_id = ?`),
    updateUser: db.prepare(
      'UPDATE users SET quota = ?, used_quota = ?, request_count = ? WHERE id = ?',
    ),
    updateToken: db.prepare(
      `UPDATE tokens SET remain_quota = ?, used_quota = ?, accessed_time = ?, gh_last_ip = ?
      WHERE id = ?`,
    ),
    updateChannel: db.prepare(
      'UPDATE channels SET used_quota = coalesce(used_quota, 0) + ? WHERE id = ?',
    ),
    // A request id is billed at most once: a second row is not written.
    insertLedger: db.prepare(`
      INSERT INTO ledger (id, created_at, kind, user_id, token_id, channel_id, user_amount,
        token_amount, debt, token_debt, carried, prompt_tokens, completion_tokens, request_id,
        detail)
      VALUES (?, ?, 'consume', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (request_id) DO NOTHING`),
    insertLog: db.prepare(`
      INSERT INTO logs (id, user_id, created_at, type, content, username, token_name, model_name,
        quota, prompt_tokens, completion_tokens, channel_id, request_id, elapsed_time, is_stream,
        system_prompt_reset)
      VALUES (?, ?, ?, ${LogType.consume}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    addHourly: db.prepare(addTo('usage_hourly', 'user_id, hour, model_name, token_name, username')),
    addChannelHourly: db.prepare(addTo('channel_usage_hourly', 'hour, channel_id, model_name')),
    addDaily: db.prepare(addTo('usage_daily', 'user_id, day, model_name')),
  }
}

/** Adds four sums to a rollup row; `keys` is the primary key. */
const addTo = (table: string, keys: string): string => `
  INSERT INTO ${table} (${keys}, requests, quota, prompt_tokens, completion_tokens)
  VALUES (${keys.replaceAll(/\w+/g, '?')}, ?, ?, ?, ?)
  ON CONFLICT (${keys}) DO UPDATE SET
    requests = requests + excluded.requests,
    quota = quota + excluded.quota,
    prompt_tokens = prompt_tokens + excluded.prompt_tokens,
    completion_tokens = completion_tokens + excluded.completion_tokens`
