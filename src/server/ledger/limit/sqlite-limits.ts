import type Sqlite from 'better-sqlite3'
import {
  exceededLimits,
  latestStart,
  usedSince,
  WINDOW_SECONDS,
  type LimitAsk,
  type LimitCheck,
  type LimitFacts,
  type LimitSubject,
} from '../../limit/limit.ts'
import { budgetPeriods, type BudgetPeriods } from '../../limit/limit-period.ts'
import type { ReserveOperation, Settlement } from '../operations.ts'

/**
 * Limits on SQLite, inside the ledger's transaction, for users and tokens that have limits. Each
 * call is counted separately and not in the batch's memory; the file's write lock makes the counts
 * exact. The `gatehouse_limit…` functions of `0012-limits.postgres.sql` and
 * `0018-limit-clocks.postgres.sql` do the same on PostgreSQL.
 */
export interface SqliteLimits {
  /**
   * Returns the state of the token's and user's limits and whether the call fits them. Counts
   * nothing.
   */
  check(call: LimitedCall): LimitCheck
  /** Counts an admitted call. */
  take(call: LimitedCall, check: LimitCheck): void
  /** Increases the reserved amounts of a call that exceeds its estimate. */
  grow(settlement: Settlement): void
  /** Ends the call's running count and books its usage and cost. */
  settle(settlement: Settlement, charged: number): void
  /** Ends the running count of a call without usage. It still counts as a request. */
  release(requestId: string): void
}

export interface LimitedCall extends LimitAsk {
  requestId: string
  /** 0 if the user, or for `tokenId` the token, has no limits. */
  userId: number
  tokenId: number
  nowSeconds: number
}

/** A row as read by the batch; null if it does not exist. */
type Flagged = { limited: number } | null

/** Returns the call's limit subjects, or null if neither user nor token has limits. */
export function limitedCall(
  { requestId, userId, tokenId, amount, tokens = 0, nowSeconds }: ReserveOperation,
  user: Flagged,
  token: Flagged,
): LimitedCall | null {
  const [ofUser, ofToken] = [user?.limited === 1, token?.limited === 1]
  if (!ofUser && !ofToken) return null
  const ask = { requestId, tokens, quota: amount, nowSeconds }
  return { ...ask, userId: ofUser ? userId : 0, tokenId: ofToken ? tokenId : 0 }
}

/** Whether an open call may count against limits. A deleted user or token may have had some. */
export const mayBeLimited = (user: Flagged, token: Flagged): boolean =>
  user?.limited !== 0 || token?.limited !== 0

type Row = Omit<LimitFacts, 'minuteRequests' | 'minuteTokens' | 'seconds'> & {
  dayStart: number
  weekStart: number
  monthStart: number
}

type Hold = Omit<LimitedCall, 'requestId' | 'nowSeconds'>

export function createSqliteLimits(db: Sqlite.Database): SqliteLimits {
  const sql = prepareLimits(db)
  const periodsAt = periodsOf(() => sql.zone.get()?.value || 'UTC')

  function factsOf(subject: LimitSubject, id: number, nowSeconds: number): LimitFacts[] {
    const row = id === 0 ? undefined : sql.limits.get(subject, id)
    if (row === undefined) return []
    const { dayStart, weekStart, monthStart, ...facts } = row
    const { starts } = periodsAt(nowSeconds)
    const rows = sql.seconds.all(subject, id, ...windowAt(nowSeconds))
    const used = (start: number, points: number, since: number): number =>
      usedSince({ start, used: points }, { since, nowSeconds })
    return [
      {
        ...facts,
        dayUsed: used(dayStart, facts.dayUsed, starts.day),
        weekUsed: used(weekStart, facts.weekUsed, starts.week),
        monthUsed: used(monthStart, facts.monthUsed, starts.month),
        minuteRequests: rows.reduce((sum, { requests }) => sum + requests, 0),
        minuteTokens: rows.reduce((sum, { tokens }) => sum + tokens, 0),
        seconds: rows.map(({ second, requests, tokens }) => [second, requests, tokens]),
      },
    ]
  }

  /** Ends a call's hold. Returns the users and tokens it counted against that still exist. */
  function endHold(requestId: string): [LimitSubject, number][] {
    const hold = sql.endHold.get(requestId)
    if (hold === undefined) return []
    const back = { running: -1, tokens: -hold.tokens, quota: -hold.quota }
    return subjectsOf(hold).filter(
      ([subject, id]) => sql.move.run({ subject, id, ...back }).changes > 0,
    )
  }

  return {
    check({ userId, tokenId, nowSeconds, ...ask }) {
      const facts = [
        ...factsOf('token', tokenId, nowSeconds),
        ...factsOf('user', userId, nowSeconds),
      ]
      const isRefused = facts.some((one) => exceededLimits(one, ask).length > 0)
      // A call that fits does not need the times at which limits free up.
      if (!isRefused) for (const one of facts) one.seconds = []
      return { isRefused, facts }
    },
    take({ requestId, userId, tokenId, tokens, quota, nowSeconds }, { facts }) {
      const held = { userId: 0, tokenId: 0 }
      for (const { subject } of facts) {
        const id = subject === 'user' ? userId : tokenId
        held[subject === 'user' ? 'userId' : 'tokenId'] = id
        sql.move.run({ subject, id, running: 1, tokens, quota })
        sql.forget.run(subject, id, ...windowAt(nowSeconds))
        sql.count.run(subject, id, nowSeconds, 1, 0)
      }
      sql.hold.run(requestId, held.userId, held.tokenId, tokens, quota)
    },
    grow({ requestId, cost, promptTokens, completionTokens }) {
      const hold = sql.held.get(requestId)
      if (hold === undefined) return
      const tokens = Math.max(0, promptTokens + completionTokens - hold.tokens)
      const quota = Math.max(0, cost - hold.quota)
      if (tokens + quota === 0) return
      sql.growHold.run(tokens, quota, requestId)
      for (const [subject, id] of subjectsOf(hold)) {
        sql.move.run({ subject, id, running: 0, tokens, quota })
      }
    },
    settle({ requestId, nowSeconds, promptTokens, completionTokens }, charged) {
      const latest = latestStart(nowSeconds)
      for (const [subject, id] of endHold(requestId)) {
        sql.spend.run({ subject, id, quota: charged, latest, ...periodsAt(nowSeconds).starts })
        sql.count.run(subject, id, nowSeconds, 0, promptTokens + completionTokens)
      }
    },
    release(requestId) {
      endHold(requestId)
    },
  }
}

const subjectsOf = ({ userId, tokenId }: Hold): [LimitSubject, number][] => [
  ...(tokenId === 0 ? [] : [['token', tokenId] satisfies [LimitSubject, number]]),
  ...(userId === 0 ? [] : [['user', userId] satisfies [LimitSubject, number]]),
]

/** Range of seconds in which calls and tokens count. */
const windowAt = (nowSeconds: number): [after: number, until: number] => [
  nowSeconds - WINDOW_SECONDS,
  nowSeconds + WINDOW_SECONDS,
]

/**
 * Returns the budget periods of a second. They are computed once a day and again when the time zone
 * changes.
 */
function periodsOf(zoneNow: () => string): (nowSeconds: number) => BudgetPeriods {
  let known: { zone: string; periods: BudgetPeriods } | null = null
  return (nowSeconds) => {
    const zone = zoneNow()
    const { starts, ends } = known?.periods ?? { starts: { day: 0 }, ends: { day: 0 } }
    const isIn = nowSeconds >= starts.day && nowSeconds < ends.day
    if (known === null || known.zone !== zone || !isIn) {
      known = { zone, periods: budgetPeriods(zone, nowSeconds) }
    }
    return known.periods
  }
}

function prepareLimits(db: Sqlite.Database) {
  return {
    zone: db.prepare<[], { value: string | null }>(
      "SELECT value FROM options WHERE key = 'LimitTimeZone'",
    ),
    limits: db.prepare<[string, number], Row>(`
      SELECT subject, requests_per_minute AS requestsMax, tokens_per_minute AS tokensMax,
        calls_at_once AS callsMax, quota_per_day AS dayMax, quota_per_week AS weekMax,
        quota_per_month AS monthMax, running, held_tokens AS heldTokens, held_quota AS heldQuota,
        day_start AS dayStart, day_used AS dayUsed, week_start AS weekStart,
        week_used AS weekUsed, month_start AS monthStart, month_used AS monthUsed
      FROM limits WHERE subject = ? AND id = ?`),
    seconds: db.prepare<
      [string, number, number, number],
      { second: number; requests: number; tokens: number }
    >(`
      SELECT second, requests, tokens FROM limit_seconds
      WHERE subject = ? AND id = ? AND second > ? AND second <= ? ORDER BY second`),
    forget: db.prepare(`
      DELETE FROM limit_seconds
      WHERE subject = ? AND id = ? AND (second <= ? OR second > ?)`),
    count: db.prepare(`
      INSERT INTO limit_seconds (subject, id, second, requests, tokens) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (subject, id, second) DO UPDATE SET
        requests = requests + excluded.requests, tokens = tokens + excluded.tokens`),
    move: db.prepare(`
      UPDATE limits SET running = running + @running, held_tokens = held_tokens + @tokens,
        held_quota = held_quota + @quota
      WHERE subject = @subject AND id = @id`),
    spend: db.prepare(`
      UPDATE limits SET
        day_used = @quota
          + CASE WHEN day_start BETWEEN @day AND @latest THEN day_used ELSE 0 END,
        week_used = @quota
          + CASE WHEN week_start BETWEEN @week AND @latest THEN week_used ELSE 0 END,
        month_used = @quota
          + CASE WHEN month_start BETWEEN @month AND @latest THEN month_used ELSE 0 END,
        day_start = CASE WHEN day_start BETWEEN @day AND @latest THEN day_start ELSE @day END,
        week_start = CASE WHEN week_start BETWEEN @week AND @latest THEN week_start ELSE @week END,
        month_start =
          CASE WHEN month_start BETWEEN @month AND @latest THEN month_start ELSE @month END
      WHERE subject = @subject AND id = @id`),
    hold: db.prepare(`
      INSERT INTO limit_holds (request_id, user_id, token_id, tokens, quota)
      VALUES (?, ?, ?, ?, ?)`),
    held: db.prepare<[string], Hold>(`
      SELECT user_id AS userId, token_id AS tokenId, tokens, quota
      FROM limit_holds WHERE request_id = ?`),
    growHold: db.prepare(
      'UPDATE limit_holds SET tokens = tokens + ?, quota = quota + ? WHERE request_id = ?',
    ),
    endHold: db.prepare<[string], Hold>(`
      DELETE FROM limit_holds WHERE request_id = ?
      RETURNING user_id AS userId, token_id AS tokenId, tokens, quota`),
  }
}
