import type { AuditedAct } from '../audit/audit-store.ts'
import type { StoredChannel } from './channel-store.ts'

/** What the audit keeps of a change to a channel. */
export const channelUpdate = (
  before: StoredChannel,
  after: StoredChannel,
  nowSeconds: number,
): AuditedAct => ({
  nowSeconds,
  action: 'channel.update',
  target: { id: before.id, name: before.name ?? '' },
  before,
  after,
})

export const channelDeletion = (channel: StoredChannel, nowSeconds: number): AuditedAct => ({
  nowSeconds,
  action: 'channel.delete',
  target: { id: channel.id, name: channel.name ?? '' },
  before: channel,
  after: null,
})
