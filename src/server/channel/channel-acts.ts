import type { AuditedAct } from '../audit/audit-store.ts'
import type { StoredChannel } from './channel-store.ts'
import { heldKeys, type HeldKey } from './key/channel-key.ts'

/**
 * What the audit keeps of a change to a channel. Of several keys also the ends, by which people
 * tell them apart: the keys themselves are masked.
 */
export const channelUpdate = (
  before: StoredChannel,
  after: StoredChannel,
  nowSeconds: number,
): AuditedAct => ({
  nowSeconds,
  action: 'channel.update',
  target: { id: before.id, name: before.name ?? '' },
  ...(hasSeveralKeys(before) || hasSeveralKeys(after)
    ? { before: { ...before, keys: tailsOf(before) }, after: { ...after, keys: tailsOf(after) } }
    : { before, after }),
})

/** That a key which was set aside is used again. */
export const keyResumption = (
  channel: StoredChannel,
  { tail }: HeldKey,
  nowSeconds: number,
): AuditedAct => ({
  ...channelUpdate(channel, channel, nowSeconds),
  before: null,
  after: { key_resumed: tail },
})

const hasSeveralKeys = (channel: StoredChannel): boolean => heldKeys(channel).length > 1
const tailsOf = (channel: StoredChannel): string =>
  heldKeys(channel)
    .map(({ tail }) => tail)
    .join(', ')

export const channelDeletion = (channel: StoredChannel, nowSeconds: number): AuditedAct => ({
  nowSeconds,
  action: 'channel.delete',
  target: { id: channel.id, name: channel.name ?? '' },
  before: channel,
  after: null,
})
