import type { AuditedAct } from '../audit/audit-store.ts'
import type { StoredChannel } from './channel-store.ts'
import { heldKeys, type HeldKey } from './key/channel-key.ts'

/**
 * Returns the audit row of a changed channel. For several keys it includes their last characters,
 * because the keys themselves are masked.
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
    ? {
        before: { ...before, keys: tailsOf(heldKeys(before)) },
        after: { ...after, keys: tailsOf(heldKeys(after)) },
      }
    : { before, after }),
})

/** Returns the audit row for keys that were paused or resumed by hand. */
export const keySwitch = (
  channel: StoredChannel,
  { keys, isOn }: { keys: readonly HeldKey[]; isOn: boolean },
  nowSeconds: number,
): AuditedAct => ({
  ...channelUpdate(channel, channel, nowSeconds),
  before: null,
  after: { [isOn ? 'key_resumed' : 'key_paused']: tailsOf(keys) },
})

const hasSeveralKeys = (channel: StoredChannel): boolean => heldKeys(channel).length > 1
const tailsOf = (keys: readonly HeldKey[]): string => keys.map(({ tail }) => tail).join(', ')

export const channelDeletion = (channel: StoredChannel, nowSeconds: number): AuditedAct => ({
  nowSeconds,
  action: 'channel.delete',
  target: { id: channel.id, name: channel.name ?? '' },
  before: channel,
  after: null,
})
