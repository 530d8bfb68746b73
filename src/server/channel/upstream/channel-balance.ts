import { channelType } from '../../../contract/channel-types.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import { AppError } from '../../app-error.ts'
import type { BalanceQuestion } from '../../relay/vendors/balance.ts'
import { vendors } from '../../relay/vendors/list.ts'
import { vendorOf } from '../../relay/vendors/registry.ts'

/** Types whose upstream can be asked for a balance. */
export const typesWithBalance: readonly number[] = vendors
  .filter(({ balance }) => balance !== undefined)
  .map(({ type }) => type)

/** Decimals that are kept: differences of amounts leave more behind. */
const PRECISION = 1e6

/** What is left, in the unit of the type. Throws the refusal that says why it is not known. */
export async function readBalance(question: BalanceQuestion): Promise<number> {
  const { type } = question.channel
  const { balance } = vendorOf(type)
  if (balance === undefined) {
    throw new AppError('channel_balance_unsupported', { type: channelType(type).label.zh })
  }
  return Math.round((await balance.read(question)) * PRECISION) / PRECISION
}

/** A channel and its balance as they were before it was asked. */
export interface BeforeBalance {
  type: number
  status: number
  balance: number | null
  askedSeconds: number | null
  /** Why the program has disabled it; null: it has not, or nobody knows. */
  pausedFor: string | null
}

/**
 * The status that a balance gives a channel, or null if it keeps its own. A channel that was
 * disabled because its balance was spent is enabled when there is one again. It is disabled when
 * two readings in a row found nothing left, unless the vendor's balance cannot be trusted for
 * that.
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
