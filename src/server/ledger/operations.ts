import { QUOTA_MAX } from '../../contract/quota.ts'
import type { LimitFacts } from '../limit/limit.ts'

/**
 * The ledger's named operations on a relayed call. The relay hands them to the storage in batches:
 * one message to the SQLite thread, one round trip to PostgreSQL; a batch is one transaction.
 *
 * The life of a call: `reserve` → (`checkpoint` …) → `settle`, or `release` when the upstream never
 * accepted. A reservation is a row that exists while the call is open; whoever deletes the row
 * closes the call, so that settling and releasing happen once between them, whatever process
 * tries.
 */

/**
 * Holds points back from user and token, or is refused and holds nothing. Reserving again under the
 * same id changes nothing as long as the first reservation is open: a batch may run twice after a
 * lost connection.
 */
export interface ReserveOperation {
  kind: 'reserve'
  /** Unique among all calls there ever were. */
  requestId: string
  userId: number
  tokenId: number
  /** Points to hold back, ≥ 0. */
  amount: number
  /**
   * Prompt and completion tokens that the call may use at most, for limits by the minute; absent:
   * none.
   */
  tokens?: number
  nowSeconds: number
  /** Process that holds it. */
  node: string
}

/**
 * What a call came to: everything its settlement writes. Whom it is booked to is what the
 * reservation says; user and token are repeated here for readers of a checkpoint.
 */
export interface Settlement {
  requestId: string
  /** When it is booked. */
  nowSeconds: number
  userId: number
  tokenId: number
  channelId: number
  /** Points, ≥ 0, whole. All of it is taken: a balance that does not cover it goes below zero. */
  cost: number
  promptTokens: number
  completionTokens: number
  username: string
  tokenName: string
  modelName: string
  /** JSON of the price's factors, kept with the ledger row so that anyone can recompute it. */
  detail: string
  /** Text of the log row. */
  content: string
  elapsedMs: number
  isStream: boolean
  systemPromptReset: boolean
  /** Whether a log row is written; ledger and sums are in any case. */
  keepLog: boolean
}

export interface SettleOperation {
  kind: 'settle'
  settlement: Settlement
}

/**
 * Stores what would be settled if the process died now, and extends the reservation to cover it, as
 * far as the balances go.
 */
export interface CheckpointOperation {
  kind: 'checkpoint'
  settlement: Settlement
  /** The reservation is extended and nothing else: whoever dies now releases the call. */
  isNothingDue?: boolean
}

/** What is stored of a checkpoint; empty: nothing is due. */
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
  /** `facts`: where token and user stood with their limits, of those that have some. */
  | { kind: 'reserved'; facts?: readonly LimitFacts[] }
  | { kind: 'refused'; reason: ReserveRefusal }
  /** Refused because a limit of the token or the user is reached. */
  | { kind: 'limited'; facts: readonly LimitFacts[] }
  | {
      kind: 'settled'
      /** Points taken: the cost, or less if the user is gone. */
      charged: number
      /** Points of the cost that the balance did not cover. */
      debt: number
      /** What the user has left. */
      userQuota: number
    }
  /** `held`: points that are held back for the call now, from user and limited token. */
  | { kind: 'checkpointed'; held: number }
  | { kind: 'released' }
  /** The call is not open: it was closed before, here or by somebody else. Nothing was booked. */
  | { kind: 'closed' }
  /** The operation itself is impossible; it was not run, the rest of the batch was. */
  | { kind: 'invalid'; message: string }

/**
 * Why an operation must not run, or null. A cost that is not a whole number of points in range is a
 * bug in the caller, never something to round here; the same goes for every other member, because
 * what one engine would swallow makes the other refuse the whole batch.
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

/** Whole, not negative, and small enough for sums of it to stay exact. */
const isPoints = (value: number): boolean =>
  Number.isSafeInteger(value) && value >= 0 && value <= QUOTA_MAX

const isName = (value: string): boolean => typeof value === 'string' && value !== ''
