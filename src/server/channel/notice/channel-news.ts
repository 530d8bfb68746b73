import { ChannelStatus } from '../../../contract/channel.ts'
import type { Database } from '../../db/database.ts'

/**
 * Announces that channels work again, known from a test or a manual change and not from a call.
 * Every process then resets its failure state for them.
 */
export interface GoodNews {
  ids: readonly number[]
  /** One of several keys; absent for all. */
  keyId?: string | undefined
  /** Upstream name of one model; absent for all. */
  model?: string
}

const ANNOUNCED = 'channels-well'
const CHANGED = 'channels'
/** PostgreSQL limits a notification to 8,000 bytes. */
const IDS_AT_ONCE = 400

export async function announceGoodNews(
  database: Pick<Database, 'announce'>,
  { ids, ...of }: GoodNews,
): Promise<void> {
  for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
    const news: GoodNews = { ids: ids.slice(start, start + IDS_AT_ONCE), ...of }
    await database.announce(`${ANNOUNCED}:${JSON.stringify(news)}`)
  }
}

/** Announces to every process that these channels were changed or deleted. */
export async function announceChannels(
  database: Pick<Database, 'announce'>,
  ids: readonly number[],
): Promise<void> {
  for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
    await database.announce(`${CHANGED}:${ids.slice(start, start + IDS_AT_ONCE).join(',')}`)
  }
}

/** Returns the changed channels of an announcement, or null if it concerns something else. */
export function changedChannelsIn(message: string): readonly number[] | 'all' | null {
  // Processes of an earlier version announce without ids: any channel may have changed.
  if (message === CHANGED || message === 'everything') return 'all'
  if (!message.startsWith(`${CHANGED}:`)) return null
  return message
    .slice(CHANGED.length + 1)
    .split(',')
    .map(Number)
}

/** Whether the channel was enabled manually. */
export const isEnabledNow = (before: { status: number }, after: { status: number }): boolean =>
  before.status !== ChannelStatus.enabled && after.status === ChannelStatus.enabled

/** Parses an announcement of working channels, or returns null if it concerns something else. */
export function goodNewsIn(message: string): GoodNews | null {
  if (!message.startsWith(`${ANNOUNCED}:`)) return null
  // Only the function above writes it.
  return JSON.parse(message.slice(ANNOUNCED.length + 1)) as GoodNews
}
