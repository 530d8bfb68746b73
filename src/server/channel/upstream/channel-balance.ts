import { channelType } from '../../../contract/channel-types.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import { AppError } from '../../app-error.ts'
import type { BalanceQuestion } from '../../relay/vendors/shared/balance.ts'
import { vendors } from '../../relay/vendors/list.ts'
import { vendorOf } from '../../relay/vendors/registry.ts'

/** Types whose upstream reports a balance. */
export const typesWithBalance: readonly number[] = vendors
  .filter(({ balance }) => balance !== undefined)
  .map(({ type }) => type)

/** Precision that is kept; differences of amounts have rounding errors. */
const PRECISION = 1e6

/** Returns the balance in the unit of the type. Throws if it cannot be read. */
export async function readBalance(question: BalanceQuestion): Promise<number> {
  const { type } = question.channel
  const { balance } = vendorOf(type)
  if (balance === undefined) {
    throw new AppError('channel_balance_unsupported', { type: channelType(type).label })
  }
  return Math.round((await balance.read(question)) * PRECISION) / PRECISION
}

/** State of a channel before its balance was read. */
export interface BeforeBalance {
  type: number
  status: number
  balance: number | null
  askedSeconds: number | null
  /** Why it was disabled automatically; null if it was not, or the cause is unknown. */
  pausedFor: string | null
}

/**
 * Returns the status after a balance was read, or null if unchanged. A channel that was disabled
 * because its balance was used up is enabled after a refill. It is disabled when two readings in a
 * row found nothing left, unless the vendor's balance is unreliable for that.
 */
export function statusAfterBalance(
  before: BeforeBalance,
  balance: number,
  { disables, enables }: { disables: boolean; enables: boolean },
): number | null {
  const isFilled = balance > 0 && before.pausedFor === 'balance'
  if (enables && isFilled && before.status === ChannelStatus.autoDisabled) {
    return ChannelStatus.enabled
  }
  const wasEmpty = (before.askedSeconds ?? 0) > 0 && (before.balance ?? 0) <= 0
  const isSpent = balance <= 0 && wasEmpty && vendorOf(before.type).balance?.neverDisables !== true
  return disables && isSpent && before.status === ChannelStatus.enabled
    ? ChannelStatus.autoDisabled
    : null
}
