import type Sqlite from 'better-sqlite3'
import { NEVER_EXPIRES, TokenStatus } from '../../../contract/token.ts'
import { UserStatus } from '../../../contract/user.ts'
import { dayOf, hourOf } from '../../clock.ts'
import {
  checkpointText,
  operationFault,
  type CheckpointOperation,
  type LedgerOperation,
  type LedgerResult,
  type ReserveOperation,
  type ReserveRefusal,
  type Settlement,
} from '../operations.ts'
import {
  createSqliteLimits,
  limitedCall,
  mayBeLimited,
  type SqliteLimits,
} from '../limit/sqlite-limits.ts'
import {
  prepareStatements,
  type OpenReservation,
  type Statements,
  type TokenFigures,
  type UserFigures,
} from './sqlite-statements.ts'

/**
 * The ledger on SQLite. Runs inside the writer thread. The batch's transaction holds the only write
 * lock of the file, so a row that was read cannot change meanwhile. Each user, token and channel is
 * therefore read once per batch, changed in memory by the operations in their order, and written
 * once at the end. Rollup sums are collected in the same way. Operations that are refused or find
 * their call closed change nothing.
 *
 * The batch commits as a whole or not at all: a failed write rejects every caller in it, and a call
 * whose settlement failed stays reserved until it is retried or recovered.
 * `0036-channel-sums.postgres.sql` implements the same algorithm for PostgreSQL, except that the
 * sums of channels are added up later: change both together.
 */

type Balance<Figures> = Omit<Figures, 'unlimited'> & { touched: boolean }
type UserBalance = Balance<UserFigures>
type TokenBalance = Balance<TokenFigures> & { unlimited: boolean }

interface Sums {
  /** Primary key of the rollup row, in the column order of its statement. */
  key: (number | string)[]
  requests: number
  quota: number
  promptTokens: number
  completionTokens: number
}

interface Batch {
  sql: Statements
  limits: SqliteLimits
  users: Map<number, UserBalance | null>
  tokens: Map<number, TokenBalance | null>
  channels: Map<number, number>
  hourly: Map<string, Sums>
  channelHourly: Map<string, Sums>
  daily: Map<string, Sums>
  /** Next ids of the tables that the batch writes to. */
  nextIds: Map<CountedTable, number>
}

/** Tables that a batch writes to, whose ids come from a counter. */
type CountedTable = 'ledger' | 'logs'

/** The points that settling takes. */
interface Charge {
  /** Points taken from the user. */
  charged: number
  /** Points taken from the limited token. */
  tokenTaken: number
  /** Points of the cost that the user's balance did not cover. */
  debt: number
  /** Points of `charged` that the token's quota did not cover. */
  tokenDebt: number
  /** Whether both debts were taken anyway, so that the balances went below zero. */
  isCarried: boolean
}

export function createSqliteBatch(
  db: Sqlite.Database,
): (operations: readonly LedgerOperation[]) => LedgerResult[] {
  const sql = prepareStatements(db)
  const limits = createSqliteLimits(db)
  return db.transaction((operations: readonly LedgerOperation[]): LedgerResult[] => {
    const batch: Batch = {
      sql,
      limits,
      users: new Map(),
      tokens: new Map(),
      channels: new Map(),
      hourly: new Map(),
      channelHourly: new Map(),
      daily: new Map(),
      nextIds: new Map(),
    }
    const results = operations.map((operation) => run(batch, operation))
    writeBalances(batch)
    writeRollups(batch)
    for (const [table, next] of batch.nextIds) sql.setCounter.run(next, table)
    return results
  }).immediate
}

/** Returns the id of the table's next row. The id is not reused even if the row is not written. */
function takeId({ sql, nextIds }: Batch, table: CountedTable): number {
  const id = nextIds.get(table) ?? sql.counter.get(table)?.next
  if (id === undefined) throw new Error(`no id counter for ${table}`)
  nextIds.set(table, id + 1)
  return id
}

function run(batch: Batch, operation: LedgerOperation): LedgerResult {
  const fault = operationFault(operation)
  if (fault !== null) return { kind: 'invalid', message: fault }
  switch (operation.kind) {
    case 'reserve':
      return reserve(batch, operation)
    case 'checkpoint':
      return checkpoint(batch, operation)
    case 'settle':
      return settle(batch, operation.settlement)
    case 'release':
      return release(batch, operation.requestId)
    default:
      return operation satisfies never
  }
}

function userOf({ sql, users }: Batch, id: number): UserBalance | null {
  let user = users.get(id)
  if (user === undefined) {
    const row = sql.user.get(id)
    user = row === undefined ? null : { ...row, touched: false }
    users.set(id, user)
  }
  return user
}

function tokenOf({ sql, tokens }: Batch, id: number): TokenBalance | null {
  let token = tokens.get(id)
  if (token === undefined) {
    const row = sql.token.get(id)
    token = row === undefined ? null : { ...row, unlimited: Boolean(row.unlimited), touched: false }
    tokens.set(id, token)
  }
  return token
}

function moveUser(user: UserBalance | null, points: number): void {
  if (user === null || points === 0) return
  user.quota += points
  user.touched = true
}

function moveToken(token: TokenBalance | null, points: number): void {
  if (token === null || points === 0) return
  token.remain += points
  token.touched = true
}

function reserve(batch: Batch, operation: ReserveOperation): LedgerResult {
  const { requestId, userId, tokenId, amount, nowSeconds, node } = operation
  const user = userOf(batch, userId)
  const token = tokenOf(batch, tokenId)
  const reason = reserveRefusal(user, token, operation)
  const limited = reason === null ? limitedCall(operation, user, token) : null
  const check = limited === null ? null : batch.limits.check(limited)
  if (reason === null && check?.isRefused !== true) {
    const tokenAmount = token?.unlimited === true ? 0 : amount
    const opened = batch.sql.openReservation.run(
      requestId,
      userId,
      tokenId,
      amount,
      tokenAmount,
      nowSeconds,
      node,
    )
    if (opened.changes === 1) {
      moveUser(user, -amount)
      moveToken(token, -tokenAmount)
      if (limited === null || check === null) return { kind: 'reserved' }
      batch.limits.take(limited, check)
      return { kind: 'reserved', facts: check.facts }
    }
  }
  // Checked last because it is rare: the batch runs for the second time and this call is already
  // open.
  const open = batch.sql.reservation.get(requestId)
  if (open?.node === node) return { kind: 'reserved' }
  if (open !== undefined) return { kind: 'invalid', message: 'another process holds this name' }
  if (check?.isRefused === true) return { kind: 'limited', facts: check.facts }
  // Without a refusal the reservation row would exist now.
  return { kind: 'refused', reason: reason ?? 'user_unavailable' }
}

/**
 * Reason to refuse the reservation, or null. The order of the checks decides which reason clients
 * see.
 */
function reserveRefusal(
  user: UserBalance | null,
  token: TokenBalance | null,
  { amount, nowSeconds }: ReserveOperation,
): ReserveRefusal | null {
  if (user?.status !== UserStatus.enabled) return 'user_unavailable'
  if (token?.status !== TokenStatus.enabled) return 'token_unavailable'
  if (token.expires !== NEVER_EXPIRES && token.expires < nowSeconds) return 'token_unavailable'
  if (user.quota < amount) return 'user_quota'
  if (!token.unlimited && token.remain < amount) return 'token_quota'
  return null
}

/** Increases the reservation, as far as the balances allow, if the cost has outgrown it. */
function checkpoint(batch: Batch, operation: CheckpointOperation): LedgerResult {
  const { settlement } = operation
  const open = batch.sql.reservation.get(settlement.requestId)
  if (open === undefined) return { kind: 'closed' }
  const user = userOf(batch, open.userId)
  const token = tokenOf(batch, open.tokenId)
  const fromUser = Math.max(0, Math.min(settlement.cost - open.userAmount, user?.quota ?? 0))
  const tokenHas = token === null || token.unlimited ? 0 : token.remain
  const fromToken = Math.max(0, Math.min(settlement.cost - open.tokenAmount, tokenHas))
  moveUser(user, -fromUser)
  moveToken(token, -fromToken)
  if (mayBeLimited(user, token)) batch.limits.grow(settlement)
  batch.sql.checkpoint.run(
    open.userAmount + fromUser,
    open.tokenAmount + fromToken,
    checkpointText(operation),
    settlement.requestId,
  )
  const userHeld = open.userAmount + fromUser
  const isTokenCounted = token !== null && !token.unlimited
  const held = isTokenCounted ? Math.min(userHeld, open.tokenAmount + fromToken) : userHeld
  return { kind: 'checkpointed', held }
}

function release(batch: Batch, requestId: string): LedgerResult {
  const open = batch.sql.closeReservation.get(requestId)
  if (open === undefined) return { kind: 'closed' }
  giveBack(batch, requestId, open)
  return { kind: 'released' }
}

function giveBack(batch: Batch, requestId: string, open: OpenReservation): void {
  const user = userOf(batch, open.userId)
  const token = tokenOf(batch, open.tokenId)
  moveUser(user, open.userAmount)
  moveToken(token, open.tokenAmount)
  if (mayBeLimited(user, token)) batch.limits.release(requestId)
}

function settle(batch: Batch, settlement: Settlement): LedgerResult {
  const open = batch.sql.closeReservation.get(settlement.requestId)
  if (open === undefined) return { kind: 'closed' }
  const user = userOf(batch, open.userId)
  const token = tokenOf(batch, open.tokenId)
  const charge = chargeOf(settlement.cost, { open, user, token })
  if (!recordSettled(batch, { settlement, open, charge })) {
    // Already billed under the same request id: return the points of this extra reservation.
    giveBack(batch, settlement.requestId, open)
    return { kind: 'closed' }
  }
  const { charged, tokenTaken, debt } = charge
  if (mayBeLimited(user, token)) batch.limits.settle(settlement, charged)
  if (user !== null) {
    user.quota += open.userAmount - charged
    user.usedQuota += charged
    user.requestCount += 1
    user.touched = true
  }
  if (token !== null) {
    token.remain += open.tokenAmount - tokenTaken
    token.used += charged
    token.accessed = settlement.nowSeconds
    token.address = settlement.address ?? token.address
    token.touched = true
  }
  return { kind: 'settled', charged, debt, userQuota: user?.quota ?? 0 }
}

/**
 * Returns the reservation and then charges the whole cost. A balance that does not cover it goes
 * below zero, and the next credit pays the debt. If the user no longer exists, only the reserved
 * points can be charged. A token that was deleted or became unlimited is not charged.
 */
function chargeOf(
  cost: number,
  held: { open: OpenReservation; user: UserBalance | null; token: TokenBalance | null },
): Charge {
  const { open, user, token } = held
  const isCarried = user !== null
  const charged = isCarried ? cost : Math.min(cost, open.userAmount)
  const debt = isCarried ? uncovered(cost, user.quota + open.userAmount) : cost - charged
  if (token === null || token.unlimited) {
    return { charged, debt, tokenTaken: 0, tokenDebt: 0, isCarried }
  }
  const tokenDebt = uncovered(charged, token.remain + open.tokenAmount)
  return {
    charged,
    debt,
    tokenTaken: isCarried ? charged : charged - tokenDebt,
    tokenDebt,
    isCarried,
  }
}

/** Part of `points` that a balance, which may already be negative, does not cover. */
const uncovered = (points: number, balance: number): number =>
  Math.min(points, Math.max(0, points - balance))

/**
 * Writes the ledger row, log row and sums of a settled call. Returns false if its request id
 * already has a ledger row.
 */
function recordSettled(
  batch: Batch,
  call: { settlement: Settlement; open: OpenReservation; charge: Charge },
): boolean {
  const { settlement, open, charge } = call
  const { userId, tokenId } = open
  const { nowSeconds, channelId, promptTokens, completionTokens } = settlement
  const inserted = batch.sql.insertLedger.run(
    takeId(batch, 'ledger'),
    nowSeconds,
    userId,
    tokenId,
    channelId,
    -charge.charged,
    -charge.tokenTaken,
    charge.debt,
    charge.tokenDebt,
    Number(charge.isCarried),
    promptTokens,
    completionTokens,
    settlement.requestId,
    settlement.detail,
  )
  if (inserted.changes === 0) return false
  if (settlement.keepLog) insertLog(batch, { settlement, userId, charged: charge.charged })
  batch.channels.set(channelId, (batch.channels.get(channelId) ?? 0) + charge.charged)
  const { username, tokenName, modelName } = settlement
  const hour = hourOf(nowSeconds)
  const day = dayOf(nowSeconds)
  const amounts = { charged: charge.charged, promptTokens, completionTokens }
  add(batch.hourly, [userId, hour, modelName, tokenName, username], amounts)
  add(batch.channelHourly, [hour, channelId, modelName], amounts)
  add(batch.daily, [userId, day, modelName], amounts)
  return true
}

function insertLog(
  batch: Batch,
  { settlement, userId, charged }: { settlement: Settlement; userId: number; charged: number },
): void {
  batch.sql.insertLog.run(
    takeId(batch, 'logs'),
    userId,
    settlement.nowSeconds,
    settlement.content,
    settlement.username,
    settlement.tokenName,
    settlement.modelName,
    charged,
    settlement.promptTokens,
    settlement.completionTokens,
    settlement.channelId,
    settlement.requestId,
    settlement.elapsedMs,
    Number(settlement.isStream),
    Number(settlement.systemPromptReset),
  )
}

function add(
  into: Map<string, Sums>,
  key: (number | string)[],
  amounts: { charged: number; promptTokens: number; completionTokens: number },
): void {
  const name = key.join('\0')
  let sums = into.get(name)
  if (sums === undefined) {
    sums = { key, requests: 0, quota: 0, promptTokens: 0, completionTokens: 0 }
    into.set(name, sums)
  }
  sums.requests += 1
  sums.quota += amounts.charged
  sums.promptTokens += amounts.promptTokens
  sums.completionTokens += amounts.completionTokens
}

function writeBalances({ sql, users, tokens, channels }: Batch): void {
  for (const user of users.values()) {
    if (user?.touched === true) {
      sql.updateUser.run(user.quota, user.usedQuota, user.requestCount, user.id)
    }
  }
  for (const token of tokens.values()) {
    if (token?.touched === true) {
      sql.updateToken.run(token.remain, token.used, token.accessed, token.address, token.id)
    }
  }
  for (const [id, used] of channels) sql.updateChannel.run(used, id)
}

function writeRollups(batch: Batch): void {
  const { sql } = batch
  for (const [statement, rows] of [
    [sql.addHourly, batch.hourly],
    [sql.addChannelHourly, batch.channelHourly],
    [sql.addDaily, batch.daily],
  ] as const) {
    for (const { key, requests, quota, promptTokens, completionTokens } of rows.values()) {
      statement.run(...key, requests, quota, promptTokens, completionTokens)
    }
  }
}
