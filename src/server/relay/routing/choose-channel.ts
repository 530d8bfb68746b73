import { NEVER_TRIED_SECONDS } from '../../channel/channel-pause-store.ts'
import type { Overrides } from '../../channel/overrides.ts'
import type { ChannelRow } from '../../db/schema.ts'
import type { JsonRecord } from '../json/json-value.ts'
import { homeOf } from './conversation/home.ts'

/**
 * Which channel gets a call: among those that serve the model to the group, of the highest priority
 * that still has one untried, one by weight. A channel that has failed in this call is not asked
 * again; a lower priority is asked when the higher one has none left.
 *
 * Weights are shares: 30 gets three times the calls of 10. Where all are 0 the shares are equal;
 * where only some are, those get none until the others have failed. A call of no conversation is
 * drawn by chance, one of a conversation by that: see `homeOf`.
 */

export interface RoutableChannel {
  id: number
  type: number
  /** Of several the first that nobody has paused, until one is chosen. */
  key: string
  /** Names the key among several; '': the channel has one, or none has been chosen yet. */
  keyId: string
  /** Stands for where it calls and as whom, however many keys it has. Another one: news to all. */
  account: string
  /** The channel once with each of its keys, if it has several. */
  keyed: readonly RoutableChannel[]
  /** Set while this key is set aside; null: it is in use. */
  pause: KeyPause | null
  name: string
  baseUrl: string
  priority: number
  weight: number
  isEnabled: boolean
  /** Requested model → model sent upstream. */
  modelMapping: ReadonlyMap<string, string>
  systemPrompt: string
  /** Version of the upstream's API, where its type has one; or ''. */
  apiVersion: string
  /** Members that its type's form asks for, as they are stored. */
  config: JsonRecord
  /** What it changes in every request. */
  overrides: Overrides
  models: readonly string[]
  row: ChannelRow
}

/** A key that the upstream has refused, or that a person has paused. */
export interface KeyPause {
  /** When a real call may try it again; moves on when one does. */
  nextTrialSeconds: number
}

/** Whether a person has paused this key: no call goes out with it. */
export const isKeyOff = ({ pause }: RoutableChannel): boolean =>
  pause?.nextTrialSeconds === NEVER_TRIED_SECONDS

/** As the upstream will know it. */
export const sentModel = ({ modelMapping }: RoutableChannel, model: string): string =>
  modelMapping.get(model) ?? model

/** Channels of one group and model in tiers, highest priority first. */
export type Tiers = readonly (readonly RoutableChannel[])[]

/** Groups by priority, highest first; the order within a tier does not matter. */
export function tiersOf(channels: readonly RoutableChannel[]): Tiers {
  const byPriority = Map.groupBy(channels, (channel) => channel.priority)
  return [...byPriority.entries()].toSorted(([a], [b]) => b - a).map(([, tier]) => tier)
}

interface Wish {
  /** Whether a channel may be asked now; absent: all may. */
  admits?: (channel: RoutableChannel) => boolean
  /** It is taken wherever it could be drawn. */
  preferred?: number | undefined
  /** Whose call it is; null: it is of no conversation. */
  conversation?: string | null
}

/**
 * `random` answers a number from 0 to below 1. Null when every channel that may be asked has been
 * tried.
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

/** The channel that a conversation goes to which has not been served by any. */
export const homeAmong = (
  channels: readonly RoutableChannel[],
  conversation: string,
): RoutableChannel | null =>
  homeOf(conversation, channels, {
    numberOf: ({ id }) => id,
    shareOf: shareIn(totalWeight(channels)),
  })
