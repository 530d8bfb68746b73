import { ChannelStatus } from '../../../contract/channel.ts'
import type { Database } from '../../db/database.ts'

/**
 * Good news of channels that no call has brought: a test has passed, or a person wants them used
 * again. Every process hears it, and forgets what trouble it has had with them.
 */
export interface GoodNews {
  ids: readonly number[]
  /** Of one key of several; absent: of all. */
  keyId?: string | undefined
  /** Of one model, as it is sent upstream; absent: of all. */
  model?: string
}

const ANNOUNCED = 'channels-well'
const CHANGED = 'channels'
/** PostgreSQL passes 8,000 bytes on at once. */
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

/** Tells every process that these channels are no longer as they were, or not there any more. */
export async function announceChannels(
  database: Pick<Database, 'announce'>,
  ids: readonly number[],
): Promise<void> {
  for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
    await database.announce(`${CHANGED}:${ids.slice(start, start + IDS_AT_ONCE).join(',')}`)
  }
}

/** Which channels a message says have changed; null: it is about something else. */
export function changedChannelsIn(message: string): readonly number[] | 'all' | null {
  // Without ids, as processes of an earlier version say it: any of them.
  if (message === CHANGED || message === 'everything') return 'all'
  if (!message.startsWith(`${CHANGED}:`)) return null
  return message
    .slice(CHANGED.length + 1)
    .split(',')
    .map(Number)
}

/** Whether a person has enabled the channel. */
export const isEnabledNow = (before: { status: number }, after: { status: number }): boolean =>
  before.status !== ChannelStatus.enabled && after.status === ChannelStatus.enabled

/** What an announcement says of channels; null: it is about something else. */
export function goodNewsIn(message: string): GoodNews | null {
  if (!message.startsWith(`${ANNOUNCED}:`)) return null
  // Only the function above writes it.
  return JSON.parse(message.slice(ANNOUNCED.length + 1)) as GoodNews
}
