import type { ChannelKey } from '../../../contract/route-api.ts'
import { heldKeys } from '../../channel/key/channel-key.ts'
import { isPausedByHand, keyPausesOf } from '../../channel/key/channel-key-store.ts'
import type { StoredChannel } from '../../channel/channel-store.ts'
import type { RelayParts } from '../call/call.ts'
import { sentModel } from '../routing/choose-channel.ts'

/** Returns the health of a channel's keys: the stored state and this process's recent results. */
export async function keyHealth(parts: RelayParts, channel: StoredChannel): Promise<ChannelKey[]> {
  const { app, channels, health } = parts
  const [map, pauses] = await Promise.all([
    channels.current(),
    keyPausesOf(app.database.read, channel.id),
  ])
  const keyed = map.find(channel.id)?.keyed ?? []
  const now = app.clock.nowSeconds()
  return heldKeys(channel).map(({ id, tail }): ChannelKey => {
    const none = { id, tail, status: 0, cause: '', since: 0, until: 0 }
    const pause = pauses.find(({ key_id }) => key_id === id)
    if (pause !== undefined) {
      const { status, cause, paused_at: since, next_trial_at: until } = pause
      if (isPausedByHand(pause)) return { ...none, state: 'off', since }
      return { ...none, state: 'paused', status, cause, since, until }
    }
    const one = keyed.find(({ keyId }) => keyId === id)
    const waits = one?.models.map((model) => health.waitSeconds(one, sentModel(one, model))) ?? []
    const waitSeconds = Math.max(0, ...waits)
    if (waitSeconds > 0) return { ...none, state: 'throttled', until: now + waitSeconds }
    const isFailing = one?.models.some((model) => !health.admits(one, sentModel(one, model)))
    return { ...none, state: isFailing === true ? 'circuit' : 'in_use' }
  })
}
