import { NEVER_TRIED_SECONDS } from '../../channel/channel-pause-store.ts'
import type { Overrides } from '../../channel/overrides.ts'
import type { ChannelRow } from '../../db/schema.ts'
import type { JsonRecord } from '../json/json-value.ts'
import { homeOf } from './conversation/home.ts'

/**
 * Chooses the channel for a call: among the channels that serve the model to the group, from the
 * highest priority with an untried channel, one by weight. A channel that has failed in this call
 * is not asked again; a lower priority is asked if the higher one has no channel left.
 *
 * Weights are shares: 30 gets three times the calls of 10. If all are 0, the shares are equal; if
 * only some are 0, those get no calls until the others have failed. A call without a conversation
 * is assigned at random, a call of a conversation by the conversation's hash: see `homeOf`.
 */

export interface RoutableChannel {
  id: number
  type: number
  /** If the channel has several keys, the first one that is not paused, until a key is chosen. */
  key: string
  /** Id of the chosen key; '' if the channel has one key, or none has been chosen yet. */
  keyId: string
  /**
   * Identifies the upstream address and account, regardless of the number of keys. If it changes,
   * all recorded health is reset.
   */
  account: string
  /** One copy of the channel for each key, if it has several. */
  keyed: readonly RoutableChannel[]
  /** The pause of this key; null if it is in use. */
  pause: KeyPause | null
  name: string
  baseUrl: string
  priority: number
  weight: number
  isEnabled: boolean
  /** Requested model → model sent upstream. */
  modelMapping: ReadonlyMap<string, string>
  systemPrompt: string
  /** Version of the upstream's API; '' if its type has no version. */
  apiVersion: string
  /** Members of `config`, as stored; the type's form defines them. */
  config: JsonRecord
  /** Changes applied to every request. */
  overrides: Overrides
  models: readonly string[]
  row: ChannelRow
}

/** The pause of a key that the upstream has refused or that was paused manually. */
export interface KeyPause {
  /** Unix time in seconds when a real call may try it again; moved on by each trial. */
  nextTrialSeconds: number
}

/** Whether this key was paused manually: no call uses it. */
export const isKeyOff = ({ pause }: RoutableChannel): boolean =>
  pause?.nextTrialSeconds === NEVER_TRIED_SECONDS

/** Returns the model name that is sent upstream. */
export const sentModel = ({ modelMapping }: RoutableChannel, model: string): string =>
  modelMapping.get(model) ?? model

/** Channels of one group and model by priority, highest first. */
export type Tiers = readonly (readonly RoutableChannel[])[]

/** Groups channels by priority, highest first; the order within a tier does not matter. */
export function tiersOf(channels: readonly RoutableChannel[]): Tiers {
  const byPriority = Map.groupBy(channels, (channel) => channel.priority)
  return [...byPriority.entries()].toSorted(([a], [b]) => b - a).map(([, tier]) => tier)
}

interface Wish {
  /** Whether a channel may be asked now; if absent, all may. */
  admits?: (channel: RoutableChannel) => boolean
  /** Id of the channel to choose if it is among the candidates. */
  preferred?: number | undefined
  /** The conversation's key; null if the call belongs to none. */
  conversation?: string | null
}

/**
 * Chooses a channel. `random` returns a number in [0, 1). Returns null if every channel that may be
 * asked has been tried.
 */
export function chooseChannel(
  tiers: Tiers,
  tried: ReadonlySet<number>,
  random: () => number,
  { admits, ...wish }: Wish = {},
): RoutableChannel | null {
  for (const tier of tiers) {
    // Nearly every call is a first attempt, and nearly every tier has one channel.
    const untried = tried.size === 0 ? tier : tier.filter(({ id }) => !tried.has(id))
    const open = admits === undefined ? untried : untried.filter(admits)
    if (open.length > 0) return byWeight(open, random, wish)
  }
  return null
}

function byWeight(
  channels: readonly RoutableChannel[],
  random: () => number,
  { preferred, conversation = null }: Wish,
): RoutableChannel | null {
  if (channels.length === 1) return channels[0] ?? null
  const total = totalWeight(channels)
  const share = shareIn(total)
  if (preferred !== undefined) {
    const found = channels.find(({ id }) => id === preferred)
    if (found !== undefined && share(found) > 0) return found
  }
  if (conversation !== null) return homeAmong(channels, conversation)
  let left = random() * (total === 0 ? channels.length : total)
  for (const channel of channels) {
    left -= share(channel)
    if (left < 0) return channel
  }
  return channels.at(-1) ?? null
}

const totalWeight = (channels: readonly RoutableChannel[]): number =>
  channels.reduce((sum, { weight }) => sum + weight, 0)

const shareIn =
  (total: number) =>
  ({ weight }: RoutableChannel): number =>
    total === 0 ? 1 : weight

/** Returns the channel for a conversation that no channel has served yet. */
export const homeAmong = (
  channels: readonly RoutableChannel[],
  conversation: string,
): RoutableChannel | null =>
  homeOf(conversation, channels, {
    numberOf: ({ id }) => id,
    shareOf: shareIn(totalWeight(channels)),
  })
