import { isTrialDue } from '../../channel/channel-pause-store.ts'
import type { FailedAttempt } from '../errors/attempt-outcome.ts'
import { verdictOf } from '../errors/verdict.ts'
import type { Place } from './conversation/affinity.ts'
import { isKeyOff, type RoutableChannel, type Tiers } from './choose-channel.ts'
import { homeOf } from './conversation/home.ts'

/** Whether a channel with this key may be asked now. */
export type Admits = (keyed: RoutableChannel) => boolean

/** Whose call a key is for, where it goes on from others. */
export interface Staying {
  /** Where the conversation was served last; null: nowhere that is known. */
  place: Place | null
  /** Null: the call is of none. */
  conversation: string | null
}

/**
 * Chooses which key of a channel a call is sent with: the keys in use take turns, and a
 * conversation always has the same one. A key that was set aside gets one real call when its trial
 * is due. If all keys are set aside and the channel is still enabled, they are used all the same:
 * nothing is gained by refusing. Keys that a person has paused are never used.
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
   * key of `staying` is taken if it could be its turn.
   */
  next(
    channel: RoutableChannel,
    used: readonly RoutableChannel[],
    admits?: Admits,
    staying?: Staying,
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

  /** In use, or due, and not tried yet. */
  function isNext(one: RoutableChannel, used: readonly RoutableChannel[], admits: Admits): boolean {
    if (isUsed(used, one)) return false
    const { pause } = one
    return pause === null ? admits(one) : isTrialDue(pause.nextTrialSeconds, nowSeconds())
  }

  /** Place of the next key in the list; -1: none. */
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

  /** The next in turn, which ends its turn. */
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

  /** A key that is set aside is given to a call, if its time has come. */
  function noteTrial(one: RoutableChannel): void {
    const { pause } = one
    const now = nowSeconds()
    if (pause === null || !isTrialDue(pause.nextTrialSeconds, now)) return
    const dueAt = pause.nextTrialSeconds
    // Moved on first, so that no other call of this process is given it meanwhile.
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

/** Names of keys are beginnings of their hashes; all have the same share. */
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

/** For whoever asks for nothing more. */
export const all: Admits = () => true

const isUsed = (used: readonly RoutableChannel[], { id, keyId }: RoutableChannel): boolean =>
  used.some((one) => one.id === id && one.keyId === keyId)

/** Keys of one channel that a call tries while other channels are left for it. */
const KEYS_AT_ONCE = 2

/**
 * Whether a call that failed in this way may go on with another key of the same channel. Whatever
 * is not about the key it would meet there again; and a channel full of dead keys must not take all
 * attempts of a call that others could serve.
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
  /** Channels, this one among them. */
  tried: ReadonlySet<number>
  used: readonly RoutableChannel[] | undefined
}
