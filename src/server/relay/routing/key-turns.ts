import { isTrialDue } from '../../channel/channel-pause-store.ts'
import type { FailedAttempt } from '../errors/attempt-outcome.ts'
import { verdictOf } from '../errors/verdict.ts'
import type { Place } from './conversation/affinity.ts'
import { isKeyOff, type RoutableChannel, type Tiers } from './choose-channel.ts'
import { homeOf } from './conversation/home.ts'

/** Whether a channel with this key may be asked now. */
export type Admits = (keyed: RoutableChannel) => boolean

/** The conversation of a call and the place that last served it. */
export interface Staying {
  /** The place that last served the conversation; null if unknown. */
  place: Place | null
  /** The conversation's key; null if the call belongs to none. */
  conversation: string | null
}

/**
 * Chooses the key of a channel for a call: the keys in use take turns, and a conversation keeps its
 * key. A paused key gets one real call when its trial is due. If all keys are paused and the
 * channel is still enabled, they are used anyway, because refusing would gain nothing. Keys that
 * were paused manually are never used.
 */
export interface KeyTurns {
  /**
   * Whether a usable key exists; for a channel with one key, whether it is admitted. `used`: keys
   * that the call has tried already.
   */
  hasNext(channel: RoutableChannel, used: readonly RoutableChannel[], admits: Admits): boolean
  /** Like `hasNext`, if no other channel is left. */
  hasLast(channel: RoutableChannel, used: readonly RoutableChannel[], admits: Admits): boolean
  /**
   * Returns the channel with the key to use; null if no key is usable. A channel with one key is
   * returned unchanged. The key of `staying` is preferred if it could be next.
   */
  next(
    channel: RoutableChannel,
    used: readonly RoutableChannel[],
    admits?: Admits,
    staying?: Staying,
  ): RoutableChannel | null
}

/**
 * Creates the key rotation. `onTrial` is called when a paused key is used for a call; its pause has
 * been moved on in memory by `trialDelaySeconds` and was due at `dueAt` (Unix seconds).
 */
export function createKeyTurns(
  nowSeconds: () => number,
  trialDelaySeconds: number,
  onTrial: (keyed: RoutableChannel, dueAt: number) => void,
): KeyTurns {
  /** Start index of the next call in the key list, by channel id. Entries are never removed. */
  const turns = new Map<number, number>()

  /** Whether a key is in use, or due for a trial, and not tried yet by this call. */
  function isNext(one: RoutableChannel, used: readonly RoutableChannel[], admits: Admits): boolean {
    if (isUsed(used, one)) return false
    const { pause } = one
    return pause === null ? admits(one) : isTrialDue(pause.nextTrialSeconds, nowSeconds())
  }

  /** Returns the index of the next key in the list; -1 if no key is usable. */
  function find(
    { id, keyed }: RoutableChannel,
    used: readonly RoutableChannel[],
    admits: Admits,
  ): number {
    const start = turns.get(id) ?? 0
    for (let step = 0; step < keyed.length; step += 1) {
      const index = (start + step) % keyed.length
      const one = keyed[index]
      if (one !== undefined && isNext(one, used, admits)) return index
    }
    return -1
  }

  /** Like `find`, if no other channel is left: also a refused key, if all are paused. */
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

  /** Returns the next key in turn and advances the turn. */
  function takeTurn(
    channel: RoutableChannel,
    used: readonly RoutableChannel[],
    admits: Admits,
  ): RoutableChannel | null {
    const { id, keyed } = channel
    const index = findLast(channel, used, admits)
    const one = keyed[index] ?? null
    if (one !== null) turns.set(id, (index + 1) % keyed.length)
    return one
  }

  /** Records the trial of a paused key that is due. */
  function noteTrial(one: RoutableChannel): void {
    const { pause } = one
    const now = nowSeconds()
    if (pause === null || !isTrialDue(pause.nextTrialSeconds, now)) return
    const dueAt = pause.nextTrialSeconds
    // Moved on first, so that no other call of this process uses it meanwhile.
    pause.nextTrialSeconds = now + trialDelaySeconds
    onTrial(one, dueAt)
  }

  return {
    hasNext: (channel, used, admits) =>
      channel.keyed.length === 0 ? admits(channel) : find(channel, used, admits) >= 0,
    hasLast: (channel, used, admits) =>
      channel.keyed.length === 0 ? admits(channel) : findLast(channel, used, admits) >= 0,
    next(channel, used, admits = all, { place, conversation } = OF_NONE) {
      const { keyed } = channel
      if (keyed.length === 0) return channel
      const kept = place === null ? undefined : keyed.find((one) => isAt(one, place))
      if (kept?.pause === null && !isUsed(used, kept) && admits(kept)) return kept
      const home =
        conversation === null
          ? null
          : homeAmong(
              keyed.filter((one) => isNext(one, used, admits)),
              conversation,
            )
      const one = home ?? takeTurn(channel, used, admits)
      if (one !== null) noteTrial(one)
      return one
    },
  }
}

const OF_NONE: Staying = { place: null, conversation: null }

/**
 * Returns a conversation's key. Ids of keys are prefixes of their hashes; all have the same share.
 */
const homeAmong = (
  keyed: readonly RoutableChannel[],
  conversation: string,
): RoutableChannel | null =>
  homeOf(conversation, keyed, {
    numberOf: ({ keyId }) => parseInt(keyId.slice(0, 8), 16),
    shareOf: () => 1,
  })

const isAt = ({ id, keyId }: RoutableChannel, place: Place): boolean =>
  id === place.channelId && keyId === place.keyId

/** Admits every channel. */
export const all: Admits = () => true

const isUsed = (used: readonly RoutableChannel[], { id, keyId }: RoutableChannel): boolean =>
  used.some((one) => one.id === id && one.keyId === keyId)

/** Keys of one channel that a call tries while other channels are left for it. */
const KEYS_AT_ONCE = 2

/**
 * Whether a call that failed in this way may try another key of the same channel. An error that is
 * not about the key would occur again there, and a channel full of invalid keys must not use up the
 * attempts of a call that other channels could serve.
 */
export function mayUseOtherKey(
  { id, keyId }: RoutableChannel,
  failed: Pick<FailedAttempt, 'cause' | 'error'>,
  { tiers, tried, used = [] }: AttemptsSoFar,
): boolean {
  if (keyId === '' || !verdictOf(failed).otherKey) return false
  const channels = tiers.flat()
  const channel = channels.find((one) => one.id === id)
  const isLeft = channel?.keyed.some((one) => one.pause === null && !isUsed(used, one))
  if (isLeft !== true) return false
  const count = used.filter((one) => one.id === id).length
  return count < KEYS_AT_ONCE || channels.every((one) => one.id === id || tried.has(one.id))
}

interface AttemptsSoFar {
  tiers: Tiers
  /** Ids of the channels tried, including this one. */
  tried: ReadonlySet<number>
  used: readonly RoutableChannel[] | undefined
}
