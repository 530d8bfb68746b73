import { QUOTA_MAX } from '../../contract/quota.ts'
import type { LimitFacts } from '../limit/limit.ts'

/**
 * Ledger operations on a relayed call. The relay submits them to the storage in batches: one
 * message to the SQLite thread, or one round trip to PostgreSQL. A batch is one transaction.
 *
 * Life cycle of a call: `reserve` → (`checkpoint` …) → `settle`, or `release` if the upstream never
 * accepted it. A reservation is a row that exists while the call is open. The process that deletes
 * the row closes the call, so a call is settled or released exactly once, no matter which processes
 * try.
 */

/**
 * Reserves points of user and token; a refused reservation holds nothing. Reserving again under the
 * same id changes nothing while the first reservation is open, because a batch may run twice after
 * a lost connection.
 */
export interface ReserveOperation {
  kind: 'reserve'
  /** Unique among all calls ever made. */
  requestId: string
  userId: number
  tokenId: number
  /** Points to reserve, ≥ 0. */
  amount: number
  /**
   * Maximum number of prompt and completion tokens of the call, for limits per minute; absent if
   * not limited.
   */
  tokens?: number
  nowSeconds: number
  /** Name of the process that holds the reservation. */
  node: string
}

/**
 * The result of a call: everything that its settlement writes. It is booked to the user and token
 * of the reservation; the ids here are for readers of a checkpoint.
 */
export interface Settlement {
  requestId: string
  /** Time of booking. */
  nowSeconds: number
  userId: number
  tokenId: number
  channelId: number
  /**
   * Whole points, ≥ 0. The full cost is charged: a balance that does not cover it goes below zero.
   */
  cost: number
  promptTokens: number
  completionTokens: number
  username: string
  tokenName: string
  modelName: string
  /** JSON of the price's factors, stored in the ledger row so that the cost can be recomputed. */
  detail: string
  /** Text of the log row. */
  content: string
  elapsedMs: number
  isStream: boolean
  systemPromptReset: boolean
  /** Client address, stored with the token; absent if unknown. */
  address?: string
  /** Whether a log row is written. Ledger row and rollups are always written. */
  keepLog: boolean
}

export interface SettleOperation {
  kind: 'settle'
  settlement: Settlement
}

/**
 * Stores the settlement to book if the process dies, and extends the reservation to cover it, as
 * far as the balances allow.
 */
export interface CheckpointOperation {
  kind: 'checkpoint'
  settlement: Settlement
  /** Only extends the reservation: if the process dies now, the call is released. */
  isNothingDue?: boolean
}

/** Stored text of a checkpoint; empty if nothing is due. */
export const checkpointText = ({ settlement, isNothingDue }: CheckpointOperation): string =>
  isNothingDue === true ? '' : JSON.stringify(settlement)

export interface ReleaseOperation {
  kind: 'release'
  requestId: string
}

export type LedgerOperation =
  | ReserveOperation
  | SettleOperation
  | CheckpointOperation
  | ReleaseOperation

export type ReserveRefusal = 'user_unavailable' | 'token_unavailable' | 'user_quota' | 'token_quota'

export type LedgerResult =
  /** `facts`: state of the limits of user and token, for those that have limits. */
  | { kind: 'reserved'; facts?: readonly LimitFacts[] }
  | { kind: 'refused'; reason: ReserveRefusal }
  /** Refused because a limit of the token or user is reached. */
  | { kind: 'limited'; facts: readonly LimitFacts[] }
  | {
      kind: 'settled'
      /** Points charged: the cost, or less if the user was deleted. */
      charged: number
      /** Points of the cost that the balance did not cover. */
      debt: number
      /** User's remaining quota. */
      userQuota: number
    }
  /** `held`: points now reserved for the call, from the user and a limited token. */
  | { kind: 'checkpointed'; held: number }
  | { kind: 'released' }
  /** The call is not open: this or another process closed it before. Nothing was booked. */
  | { kind: 'closed' }
  /** The operation is invalid and was not run; the rest of the batch was. */
  | { kind: 'invalid'; message: string }

/**
 * Reason why an operation must not run, or null. A cost that is not a whole number in range is a
 * bug in the caller and is not rounded here. The other members are checked for the same reason: a
 * value that one engine accepts makes the other reject the whole batch.
 */
export function operationFault(operation: LedgerOperation): string | null {
  switch (operation.kind) {
    case 'reserve': {
      const { requestId, userId, tokenId, amount, tokens, nowSeconds, node } = operation
      if (!isPoints(amount)) return `amount ${amount} is not points`
      if (tokens !== undefined && !isPoints(tokens)) return 'token figures out of range'
      if (!isName(requestId) || !isName(node)) return 'a reservation has no name or no node'
      return [userId, tokenId, nowSeconds].every(isPoints) ? null : 'an id or time out of range'
    }
    case 'settle':
    case 'checkpoint':
      return settlementFault(operation.settlement)
    case 'release':
      return isName(operation.requestId) ? null : 'a release has no name'
    default:
      return operation satisfies never
  }
}

function settlementFault(settlement: Settlement): string | null {
  const { cost, promptTokens, completionTokens, userId, tokenId, channelId } = settlement
  const { nowSeconds, elapsedMs, username, tokenName, modelName, detail, content } = settlement
  const { isStream, systemPromptReset, keepLog } = settlement
  if (!isPoints(cost)) return `cost ${cost} is not points`
  if (!isPoints(promptTokens) || !isPoints(completionTokens)) return 'token figures out of range'
  if (!isName(settlement.requestId)) return 'a settlement has no name'
  if (![userId, tokenId, channelId, nowSeconds, elapsedMs].every(isPoints)) {
    return 'an id or time out of range'
  }
  if (
    ![username, tokenName, modelName, detail, content].every((text) => typeof text === 'string')
  ) {
    return 'a text is missing'
  }
  const isDecided = [isStream, systemPromptReset, keepLog].every(
    (flag) => typeof flag === 'boolean',
  )
  return isDecided ? null : 'a flag is missing'
}

/** Whether the value is a non-negative integer, small enough that sums stay exact. */
const isPoints = (value: number): boolean =>
  Number.isSafeInteger(value) && value >= 0 && value <= QUOTA_MAX

const isName = (value: string): boolean => typeof value === 'string' && value !== ''
