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

/** Whether a person has enabled the channel. */
export const isEnabledNow = (before: { status: number }, after: { status: number }): boolean =>
  before.status !== ChannelStatus.enabled && after.status === ChannelStatus.enabled

/** What an announcement says of channels; null: it is about something else. */
export function goodNewsIn(message: string): GoodNews | null {
  if (!message.startsWith(`${ANNOUNCED}:`)) return null
  // Only the function above writes it.
  return JSON.parse(message.slice(ANNOUNCED.length + 1)) as GoodNews
}
