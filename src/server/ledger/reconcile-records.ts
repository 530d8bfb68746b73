import { sql, type RawBuilder } from 'kysely'
import { LogType } from '../../contract/log.ts'
import { RedemptionStatus } from '../../contract/redemption.ts'
import type { Queries } from '../db/database.ts'
import type { Check, Scope } from './reconcile-balances.ts'

/**
 * Checks rows that must agree with one another. I3: a log row matches its ledger row. I4: a call is
 * billed once, and not while it is open. I5: a debt explains the points that were not charged. I6:
 * a code is used exactly if it has credited a user. I7: figures are whole numbers in range.
 */
export function recordChecks(scope: Scope): Check[] {
  return [
    logCheck(scope),
    doubleLogCheck(),
    openCallCheck(),
    doubleBillCheck(),
    debtCheck(),
    redemptionCheck(scope),
    ...FIGURES.map((table) => rangeCheck(scope, table)),
  ]
}

function logCheck({ adoptedAt, adoptedLogId }: Scope): Check {
  return {
    subject: 'log row',
    figures: {
      quota: 'I3',
      user_id: 'I3',
      channel_id: 'I3',
      created_at: 'I3',
      prompt_tokens: 'I3',
      completion_tokens: 'I3',
    },
    rows: sql`
      SELECT logs.id AS subject,
        -ledger.user_amount AS quota_should, logs.quota AS quota_is,
        ledger.user_id AS user_id_should, logs.user_id AS user_id_is,
        ledger.channel_id AS channel_id_should, logs.channel_id AS channel_id_is,
        ledger.created_at AS created_at_should, logs.created_at AS created_at_is,
        ledger.prompt_tokens AS prompt_tokens_should, logs.prompt_tokens AS prompt_tokens_is,
        ledger.completion_tokens AS completion_tokens_should,
        logs.completion_tokens AS completion_tokens_is
      FROM logs
      LEFT JOIN ledger ON ledger.request_id = logs.request_id AND ledger.kind = 'consume'
      WHERE logs.type = ${LogType.consume}
        AND (ledger.id IS NOT NULL
          OR (logs.created_at > ${adoptedAt} AND logs.id > ${adoptedLogId}))`,
  }
}

/** Log rows of billed calls, without adopted ones. */
const loggedCalls = sql`logs JOIN ledger ON ledger.request_id = logs.request_id
  WHERE logs.type = ${LogType.consume} AND ledger.kind = 'consume'`

function doubleLogCheck(): Check {
  return {
    subject: 'request',
    figures: { log_rows: 'I3' },
    rows: sql`
      SELECT logs.request_id AS subject, 1 AS log_rows_should, count(*) AS log_rows_is
      FROM ${loggedCalls} GROUP BY logs.request_id HAVING count(*) > 1`,
  }
}

/** Number of billed calls without a log row. */
export async function countUnlogged(db: Queries): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT (SELECT count(*) FROM ledger WHERE kind = 'consume')
      - (SELECT count(*) FROM (SELECT DISTINCT logs.request_id FROM ${loggedCalls}) AS logged)
      AS count
  `.execute(db)
  return rows[0]?.count ?? 0
}

function openCallCheck(): Check {
  return {
    subject: 'open call',
    figures: { ledger_rows: 'I4' },
    rows: sql`
      SELECT reservations.request_id AS subject, 0 AS ledger_rows_should, 1 AS ledger_rows_is
      FROM reservations JOIN ledger ON ledger.request_id = reservations.request_id`,
  }
}

function doubleBillCheck(): Check {
  return {
    subject: 'request',
    figures: { ledger_rows: 'I4' },
    rows: sql`
      SELECT request_id AS subject, 1 AS ledger_rows_should, count(*) AS ledger_rows_is
      FROM ledger WHERE request_id IS NOT NULL GROUP BY request_id HAVING count(*) > 1`,
  }
}

/**
 * Only calls leave debt. A carried debt is part of the charged amount, and the token was charged as
 * much as its user. Other debts were not charged: the user's amount is split between the token's
 * amount and the token's debt. An unlimited or deleted token is charged nothing.
 */
function debtCheck(): Check {
  return {
    subject: 'ledger row',
    figures: { debt: 'I5', token_amount: 'I5', token_debt: 'I5' },
    rows: sql`
      SELECT id AS subject,
        CASE WHEN kind <> 'consume' THEN 0
          WHEN carried AND debt > -user_amount THEN -user_amount ELSE debt END AS debt_should,
        debt AS debt_is,
        CASE WHEN carried AND token_amount <> 0 THEN user_amount ELSE token_amount END
          AS token_amount_should,
        token_amount AS token_amount_is,
        CASE WHEN kind <> 'consume' THEN 0
          WHEN carried THEN CASE WHEN token_debt > -token_amount THEN -token_amount
            ELSE token_debt END
          WHEN token_amount <> 0 OR token_debt <> 0 THEN token_amount - user_amount
          ELSE 0 END AS token_debt_should,
        token_debt AS token_debt_is
      FROM ledger`,
  }
}

function redemptionCheck({ adoptedAt }: Scope): Check {
  return {
    subject: 'redemption code',
    figures: { uses: 'I6' },
    rows: sql`
      SELECT redemptions.id AS subject,
        CASE WHEN ledger.id IS NULL THEN 0 ELSE 1 END AS uses_should,
        CASE WHEN redemptions.status = ${RedemptionStatus.used} THEN 1 ELSE 0 END AS uses_is
      FROM redemptions
      LEFT JOIN ledger ON ledger.request_id = 'redeem:' || CAST(redemptions.id AS text)
      WHERE ledger.id IS NOT NULL OR coalesce(redemptions.redeemed_time, 0) > ${adoptedAt}`,
  }
}

interface FigureTable {
  table: string
  subject: RawBuilder<unknown>
  /** May be negative. */
  signed: string[]
  unsigned: string[]
}

const SUMS = ['requests', 'quota', 'prompt_tokens', 'completion_tokens']

const FIGURES: FigureTable[] = [
  {
    table: 'users',
    subject: sql.ref('id'),
    signed: ['quota'],
    unsigned: ['used_quota', 'request_count'],
  },
  {
    table: 'tokens',
    subject: sql.ref('id'),
    signed: ['remain_quota'],
    unsigned: ['used_quota'],
  },
  { table: 'channels', subject: sql.ref('id'), signed: [], unsigned: ['used_quota'] },
  {
    table: 'ledger',
    subject: sql.ref('id'),
    signed: ['user_amount', 'token_amount'],
    unsigned: ['debt', 'token_debt', 'prompt_tokens', 'completion_tokens', 'created_at'],
  },
  {
    table: 'reservations',
    subject: sql.ref('request_id'),
    signed: [],
    unsigned: ['user_amount', 'token_amount', 'created_at'],
  },
  {
    table: 'usage_hourly',
    subject: sql`'of user ' || CAST(user_id AS text) || ', hour ' || CAST(hour AS text)`,
    signed: [],
    unsigned: ['hour', ...SUMS],
  },
  {
    table: 'channel_usage_hourly',
    subject: sql`'of channel ' || CAST(channel_id AS text) || ', hour ' || CAST(hour AS text)`,
    signed: [],
    unsigned: ['hour', ...SUMS],
  },
  {
    table: 'usage_daily',
    subject: sql`'of user ' || CAST(user_id AS text) || ', day ' || CAST(day AS text)`,
    signed: [],
    unsigned: ['day', ...SUMS],
  },
]

/** Tables in which adopted figures may be negative because of bugs in One API. */
const ADOPTABLE = /^(users|tokens|channels|usage_\w+|channel_usage_\w+)$/

/** Compares each figure with itself if it is valid, else with null. */
function rangeCheck(
  { engine, adoptedAt }: Scope,
  { table, subject, signed, unsigned }: FigureTable,
): Check {
  const isAdopted = adoptedAt >= 0 && ADOPTABLE.test(table)
  const fit = (column: string) => {
    const value = sql.ref(column)
    const mayBeNegative = isAdopted || signed.includes(column)
    const lowest = sql.lit(mayBeNegative ? -Number.MAX_SAFE_INTEGER : 0)
    const isWhole = engine === 'sqlite' ? sql`typeof(${value}) = 'integer'` : sql`true`
    return sql`${value} IS NULL OR
      (${isWhole} AND ${value} BETWEEN ${lowest} AND ${sql.lit(Number.MAX_SAFE_INTEGER)})`
  }
  const columns = [...signed, ...unsigned]
  const pairs = columns.map((column) => {
    const value = sql`coalesce(${sql.ref(column)}, 0)`
    const should = sql.ref(`${column}_should`)
    return sql`CASE WHEN ${fit(column)} THEN ${value} END AS ${should},
      ${value} AS ${sql.ref(`${column}_is`)}`
  })
  return {
    subject: `${table} row`,
    figures: Object.fromEntries(columns.map((column) => [column, 'I7'])),
    rows: sql`SELECT ${subject} AS subject, ${sql.join(pairs)} FROM ${sql.table(table)}`,
  }
}
