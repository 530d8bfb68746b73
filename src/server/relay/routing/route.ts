import { AppError } from '../../app-error.ts'
import type { RelayCall, RelayParts } from '../relay-call.ts'
import { ownError, shown, type RelayError } from '../relay-error.ts'
import type { Caller } from './caller.ts'
import type { PausedChannel } from './channel-map.ts'
import { chooseChannel, sentModel, type RoutableChannel, type Tiers } from './choose-channel.ts'

/** Where a call may go, and where it goes next. */

export interface Route {
  group: string
  /** Empty: only disabled channels serve it, and one may be due for a trial. */
  tiers: Tiers
  paused: readonly PausedChannel[]
  /** An admin has named the channel: no other is asked. */
  isPinned: boolean
}

interface RoutedCall {
  caller: Caller
  model: string
  route: Route
}

/** Where the call may go: the pinned channel, or the first of the caller's groups that has one. */
export async function routeOf(
  { channels }: RelayParts,
  caller: Caller,
  model: string,
): Promise<Route> {
  const current = channels.current()
  // A promise only after a change: the usual call goes on without a turn of the event loop.
  const map = current instanceof Promise ? await current : current
  if (caller.pinnedChannel !== null) {
    const channel = /^\d{1,15}$/.test(caller.pinnedChannel)
      ? map.find(Number(caller.pinnedChannel))
      : undefined
    if (channel === undefined) throw new AppError('channel_pin_unknown')
    if (!channel.isEnabled) throw new AppError('channel_pin_disabled')
    return { group: caller.groups[0] ?? '', tiers: [[channel]], paused: [], isPinned: true }
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
  new AppError('no_channel', { group: groups.join(', '), model: shown(model) })

/**
 * The channel to ask next, or null: none is left. Where every circuit breaker is open a call is
 * tried rather than refused, once; but nobody is asked before the time that it has named itself.
 */
export function nextChannel(
  { health, random }: RelayParts,
  { route: { tiers, isPinned }, model }: RoutedCall,
  { tried, isFirst }: { tried: ReadonlySet<number>; isFirst: boolean },
): RoutableChannel | null {
  if (isPinned || health.isCalm()) return chooseChannel(tiers, tried, random)
  const channel = chooseChannel(tiers, tried, random, (open) =>
    health.admits(open, sentModel(open, model)),
  )
  if (channel !== null || !isFirst) return channel
  return chooseChannel(tiers, tried, random, (one) => waitOf(health, one, model) === 0)
}

const waitOf = (health: RelayParts['health'], channel: RoutableChannel, model: string): number =>
  health.waitSeconds(channel, sentModel(channel, model))

/** What a client hears when every upstream wants to be left alone: for how long. */
export function waitError(
  { health }: RelayParts,
  call: RelayCall,
  text: RoutedCall,
): RelayError | null {
  const waits = text.route.tiers
    .flat()
    .map((channel) => waitOf(health, channel, text.model))
    .filter((seconds) => seconds > 0)
  if (waits.length === 0) return null
  const error = ownError(new AppError('upstream_busy'), call.language)
  return { ...error, retryAfter: String(Math.min(...waits)) }
}

/** The one channel, in the first of the caller's groups that it serves. */
export async function routeTo(
  { channels }: RelayParts,
  { caller, model, route }: RoutedCall,
  channelId: number,
): Promise<Route> {
  const serves = (tiers: Tiers) => tiers.flat().find(({ id }) => id === channelId)
  if (route.isPinned) {
    if (serves(route.tiers) !== undefined) return route
    throw new AppError('no_channel', { group: route.group, model: shown(model) })
  }
  const map = await channels.current()
  for (const group of caller.groups) {
    const channel = serves(map.tiers(group, model))
    if (channel !== undefined) return { group, tiers: [[channel]], paused: [], isPinned: true }
  }
  throw new AppError('no_channel', { group: caller.groups.join(', '), model: shown(model) })
}
