import { noteNoChannel } from './watch.ts'
import type { ReferredItems } from './referred-items.ts'
import { groupNames } from '../../../contract/user.ts'
import { AppError } from '../../app-error.ts'
import type { Call, RelayParts } from './call.ts'
import { ownError, shown, type RelayError } from '../protocols/dialect/relay-error.ts'
import { type Caller, refusePin } from '../routing/caller.ts'
import type { PausedChannel } from '../routing/channel-map.ts'
import {
  chooseChannel,
  isKeyOff,
  sentModel,
  type RoutableChannel,
  type Tiers,
} from '../routing/choose-channel.ts'
import { all, type Admits, type Staying } from '../routing/key-turns.ts'
import { trailOf } from '../routing/trail.ts'

/** The channels that may serve a call, and the next one to ask. */

export interface Route {
  group: string
  /** Empty if only disabled channels serve the call; one of them may be due for a trial. */
  tiers: Tiers
  paused: readonly PausedChannel[]
  /** The channel is fixed: an admin named it, or the call continues a response stored there. */
  isPinned: boolean
  /** The conversation's key, see `Affinity`; null if the call belongs to none. */
  conversation: string | null
  /** Stored items that a Responses API request references; null for another API. */
  referred: ReferredItems | null
  /** Prompt tokens that the upstream reads again from a stored response. */
  earlierTokens: number
}

/** The channels that may serve a call, and their group. */
type Destination = Pick<Route, 'group' | 'tiers' | 'paused' | 'isPinned'>

/** Finds the channels for the call. Throws `no_channel` and other routing errors. */
export async function findRoute(parts: RelayParts, call: Call): Promise<void> {
  const { caller, input } = call
  refusePin(caller)
  let destination: Destination
  try {
    destination = await destinationOf(parts, caller, input.model)
  } catch (error) {
    noteNoChannel(parts, call, error)
    throw error
  }
  // Only a call with a pinned channel reaches this line without a model.
  if (input.model === '') throw new AppError('relay_field_required', { field: 'model' })
  if (call.attempted !== null) call.attempted.modelName = input.model
  call.route = { ...destination, conversation: null, referred: null, earlierTokens: 0 }
}

/** Returns the pinned channel, or the channels of the caller's first group that has any. */
async function destinationOf(
  { channels }: RelayParts,
  caller: Caller,
  model: string,
): Promise<Destination> {
  const current = channels.current()
  // The map is a promise only after a change; without one, the call continues synchronously.
  const map = current instanceof Promise ? await current : current
  if (caller.pinnedChannel !== null) {
    const channel = /^\d{1,15}$/.test(caller.pinnedChannel)
      ? map.find(Number(caller.pinnedChannel))
      : undefined
    if (channel === undefined) throw new AppError('channel_pin_unknown')
    if (!channel.isEnabled) throw new AppError('channel_pin_disabled')
    const served = groupNames(channel.row.group ?? '')
    const group = caller.groups.find((name) => served.includes(name)) ?? caller.groups[0] ?? ''
    return { group, tiers: [[channel]], paused: [], isPinned: true }
  }
  for (const group of caller.groups) {
    const tiers = map.tiers(group, model)
    if (tiers.length > 0) {
      return { group, tiers, paused: map.paused(group, model), isPinned: false }
    }
  }
  for (const group of caller.groups) {
    const paused = map.paused(group, model)
    if (paused.length > 0) return { group, tiers: [], paused, isPinned: false }
  }
  throw noChannel(caller, model)
}

export const noChannel = ({ groups }: Caller, model: string): AppError =>
  model === ''
    ? new AppError('model_missing')
    : new AppError('no_channel', { group: groups.join(', '), model: shown(model) })

/**
 * Returns the channel to ask next, with its key, or null if none is left. If every circuit breaker
 * is open, one channel is still asked once, but not before its upstream's `Retry-After`. A
 * conversation keeps its channel if that is among the candidates; a new conversation gets one by
 * its hash.
 */
export function nextChannel(
  { health, keys, random, affinity }: RelayParts,
  call: Call,
  { tried, isFirst }: { tried: ReadonlySet<number>; isFirst: boolean },
): RoutableChannel | null {
  const { tiers, isPinned, conversation } = call.route
  const { model } = call.input
  const used = call.trail?.usedKeys ?? NONE
  // Later attempts only aim at being served at all.
  const place = isFirst ? affinity.placeOf(conversation) : null
  const wish = { preferred: place?.channelId, conversation }
  const staying: Staying = { place, conversation }
  if (isPinned || health.isCalm()) {
    const channel = chooseChannel(tiers, tried, random, wish)
    if (channel === null) return null
    // If all of its keys are paused, other channels are considered.
    if (isPinned || keys.hasNext(channel, used, all)) return keys.next(channel, used, all, staying)
  }
  const isWell: Admits = (one) => health.admits(one, sentModel(one, model))
  // Broken connections count for the channel, refusals for the key, so both are checked.
  const isOpen: Admits = (one) => isWell(one) && keys.hasNext(one, used, isWell)
  const isOpenOrTold: Admits = (one) => {
    if (isOpen(one)) return true
    trailOf(call).skip(one, waitOf(health, one, model))
    return false
  }
  const isSure: Admits = (one) => isOpen(one) && !health.isSuspect(one, sentModel(one, model))
  // A first attempt may go to a suspect channel, to test whether it has recovered. A retry takes a
  // channel whose last call succeeded, if the priority has one.
  const channel = isFirst
    ? chooseChannel(tiers, tried, random, { admits: isOpenOrTold, ...wish })
    : firstOf(
        tiers,
        (tier) =>
          chooseChannel([tier], tried, random, { admits: isSure, ...wish }) ??
          chooseChannel([tier], tried, random, { admits: isOpenOrTold, ...wish }),
      )
  if (channel !== null) return keys.next(channel, used, isWell, staying)
  if (!isFirst) return null
  const isWilling: Admits = (one) => health.waitSeconds(one, sentModel(one, model)) === 0
  const admits: Admits = (one) => keys.hasLast(one, used, isWilling)
  const last = chooseChannel(tiers, tried, random, { admits, ...wish })
  return last === null ? null : keys.next(last, used, isWilling, staying)
}

function firstOf<T, R>(values: readonly T[], look: (value: T) => R | null): R | null {
  for (const value of values) {
    const found = look(value)
    if (found !== null) return found
  }
  return null
}

const NONE: readonly RoutableChannel[] = []

/** Returns a disabled channel that this call tests before all others, or null. */
export async function trialOf(
  { liveStatus, keys }: RelayParts,
  paused: readonly PausedChannel[],
): Promise<RoutableChannel | null> {
  const channel = await liveStatus.trial(paused)
  return channel === null ? null : keys.next(channel, NONE)
}

/** Returns the seconds until any key of the channel may be used again; 0 if one may be now. */
export function waitOf(
  health: RelayParts['health'],
  channel: RoutableChannel,
  model: string,
): number {
  const sent = sentModel(channel, model)
  if (channel.keyed.length === 0) return health.waitSeconds(channel, sent)
  const inUse = channel.keyed.filter(({ pause }) => pause === null)
  return inUse.length === 0 ? 0 : Math.min(...inUse.map((one) => health.waitSeconds(one, sent)))
}

/** Returns the error with the shortest wait if every upstream has requested one; null otherwise. */
export function waitError({ health }: RelayParts, call: Call): RelayError | null {
  const waits = call.route.tiers
    .flat()
    .map((channel) => waitOf(health, channel, call.input.model))
    .filter((seconds) => seconds > 0)
  if (waits.length === 0) return null
  const error = ownError(new AppError('upstream_busy'), call.language)
  return { ...error, retryAfter: String(Math.min(...waits)) }
}

/** Returns the channel with the named key if the channel still has it and it is not paused. */
export const withKey = (channel: RoutableChannel, keyId: string): RoutableChannel =>
  channel.keyed.find((one) => one.keyId === keyId && !isKeyOff(one)) ?? channel

/** Returns the channel in the caller's first group that has it; null if no group has it. */
export async function routeAt(
  { channels }: RelayParts,
  { caller, input, route }: Call,
  { channel_id, key_id }: { channel_id: number; key_id: string },
): Promise<Destination | null> {
  const serves = (tiers: Tiers) => {
    const channel = tiers.flat().find(({ id }) => id === channel_id)
    return channel && withKey(channel, key_id)
  }
  if (route.isPinned) return serves(route.tiers) === undefined ? null : route
  const map = await channels.current()
  for (const group of caller.groups) {
    const channel = serves(map.tiers(group, input.model))
    if (channel !== undefined) return { group, tiers: [[channel]], paused: [], isPinned: true }
  }
  return null
}
