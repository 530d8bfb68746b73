import { isTrialDue } from '../../channel/channel-pause-store.ts'
import { liesElsewhere } from '../attempt.ts'
import type { RelayError } from '../dialect/relay-error.ts'
import type { Place } from './affinity.ts'
import { isKeyOff, type RoutableChannel, type Tiers } from './choose-channel.ts'

/** Whether a channel with this key may be asked now. */
export type Admits = (keyed: RoutableChannel) => boolean

/**
 * Which of a channel's keys is next: in turn those that are in use. A key that is set aside gets
 * one real call when its time has come. If all are set aside and the channel serves nevertheless,
 * they are used as if they were not: nothing is gained by refusing. Those that a person has paused
 * never are.
 */
export interface KeyTurns {
  /**
   * Whether a key is there that may be used; of a channel with one key, whether it is admitted.
   * `used`: keys that the call has tried already.
   */
  hasNext(channel: RoutableChannel, used: readonly RoutableChannel[], admits: Admits): boolean
  /** The same where nobody else is left to ask. */
  hasLast(channel: RoutableChannel, used: readonly RoutableChannel[], admits: Admits): boolean
  /**
   * The channel with the key to use, or null: there is none. A channel with one key is that. The
   * key of `preferred` is taken if it could be its turn.
   */
  next(
    channel: RoutableChannel,
    used: readonly RoutableChannel[],
    admits?: Admits,
    preferred?: Place | null,
  ): RoutableChannel | null
}

/**
 * `onTrial`: a key that is set aside is given to a call; its pause has been moved on in memory, and
 * was due at `dueAt`, seconds. `trialDelaySeconds`: by how much.
 */
export function createKeyTurns(
  nowSeconds: () => number,
  trialDelaySeconds: number,
  onTrial: (keyed: RoutableChannel, dueAt: number) => void,
): KeyTurns {
  /** Where in the list the next call begins, by channel. Never loses an entry. */
  const turns = new Map<number, number>()

  /** Place of the next key in the list, one that is in use or due; -1: none. */
  function find(
    { id, keyed }: RoutableChannel,
    used: readonly RoutableChannel[],
    admits: Admits,
  ): number {
    const start = turns.get(id) ?? 0
    for (let step = 0; step < keyed.length; step += 1) {
      const index = (start + step) % keyed.length
      const one = keyed[index]
      if (one === undefined) continue
      if (isUsed(used, one)) continue
      const { pause } = one
      if (pause === null ? admits(one) : isTrialDue(pause.nextTrialSeconds, nowSeconds())) {
        return index
      }
    }
    return -1
  }

  /** The same where nobody else is left: one that the upstream refused, if all are set aside. */
  function findLast(
    channel: RoutableChannel,
    used: readonly RoutableChannel[],
    admits: Admits,
  ): number {
    const { id, keyed } = channel
    const index = find(channel, used, admits)
    const isOut = keyed.every(({ pause }) => pause !== null)
    if (index >= 0 || !isOut || used.some((one) => one.id === id)) return index
    const start = turns.get(id) ?? 0
    const places = keyed.map((_, step) => (start + step) % keyed.length)
    return places.find((place) => keyed[place] !== undefined && !isKeyOff(keyed[place])) ?? -1
  }

  return {
    hasNext: (channel, used, admits) =>
      channel.keyed.length === 0 ? admits(channel) : find(channel, used, admits) >= 0,
    hasLast: (channel, used, admits) =>
      channel.keyed.length === 0 ? admits(channel) : findLast(channel, used, admits) >= 0,
    next(channel, used, admits = all, preferred = null) {
      const { id, keyed } = channel
      if (keyed.length === 0) return channel
      const kept = preferred === null ? undefined : keyed.find((one) => isAt(one, preferred))
      if (kept?.pause === null && !isUsed(used, kept) && admits(kept)) return kept
      const index = findLast(channel, used, admits)
      const one = keyed[index]
      if (one === undefined) return null
      turns.set(id, (index + 1) % keyed.length)
      const { pause } = one
      const now = nowSeconds()
      if (pause !== null && isTrialDue(pause.nextTrialSeconds, now)) {
        const dueAt = pause.nextTrialSeconds
        // Moved on first, so that no other call of this process is given it meanwhile.
        pause.nextTrialSeconds = now + trialDelaySeconds
        onTrial(one, dueAt)
      }
      return one
    },
  }
}

const isAt = ({ id, keyId }: RoutableChannel, place: Place): boolean =>
  id === place.channelId && keyId === place.keyId

/** For whoever asks for nothing more. */
export const all: Admits = () => true

const isUsed = (used: readonly RoutableChannel[], { id, keyId }: RoutableChannel): boolean =>
  used.some((one) => one.id === id && one.keyId === keyId)

/** Statuses that speak of a key and its account. */
const OF_KEY: ReadonlySet<number> = new Set([401, 402, 403, 429])

/** Keys of one channel that a call tries while other channels are left for it. */
const KEYS_AT_ONCE = 2

/**
 * Whether a call that failed in this way may go on with another key of the same channel. Whatever
 * is not about the key it would meet there again; and a channel full of dead keys must not take all
 * attempts of a call that others could serve.
 */
export function mayUseOtherKey(
  { id, keyId }: RoutableChannel,
  { error }: { error: Pick<RelayError, 'status' | 'code' | 'message'> },
  { tiers, tried, used = [] }: AttemptsSoFar,
): boolean {
  if (keyId === '' || !(OF_KEY.has(error.status) || liesElsewhere(error))) return false
  const channels = tiers.flat()
  const channel = channels.find((one) => one.id === id)
  const isLeft = channel?.keyed.some((one) => one.pause === null && !isUsed(used, one))
  if (isLeft !== true) return false
  const count = used.filter((one) => one.id === id).length
  return count < KEYS_AT_ONCE || channels.every((one) => one.id === id || tried.has(one.id))
}

interface AttemptsSoFar {
  tiers: Tiers
  /** Channels, this one among them. */
  tried: ReadonlySet<number>
  used: readonly RoutableChannel[] | undefined
}
