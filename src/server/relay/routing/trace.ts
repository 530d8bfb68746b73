import { groupNames } from '../../../contract/user.ts'
import type { ChannelMap } from './channel-map.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import type { RouteCandidate, RouteState, RouteTrace } from '../../../contract/route-api.ts'
import { shown } from '../dialect/relay-error.ts'
import type { Caller } from './caller.ts'
import type { RoutableChannel, Tiers } from './choose-channel.ts'
import type { Trail } from './trail.ts'

/** Channels that a trace names: many traces are kept. */
const CANDIDATES_MAX = 20

interface Traced {
  caller: Caller
  model: string
  group: string
  tiers: Tiers
  /** Channels that would serve the call if they were enabled. */
  disabled: readonly RoutableChannel[]
  nowSeconds: number
}

/** What is kept of a call. */
export function traceOf(trail: Trail, traced: Traced): RouteTrace {
  const { caller, model, group, nowSeconds } = traced
  const channels = candidatesOf(traced, stateIn(trail, traced))
  return {
    created_at: nowSeconds,
    outcome: trail.outcome,
    username: caller.user.username,
    token_name: caller.token.name ?? '',
    model: shown(model),
    group,
    attempts: trail.attempts,
    channels: channels.slice(0, CANDIDATES_MAX),
    omitted: Math.max(0, channels.length - CANDIDATES_MAX),
  }
}

type Stated = Pick<RouteCandidate, 'state' | 'until'>

/** By what the call noted; what it did not note was as well as those it asked, or came later. */
function stateIn(trail: Trail, { tiers, nowSeconds }: Traced) {
  const asked = new Set(trail.attempts.map(({ channel_id }) => channel_id))
  const isReached = ({ id }: RoutableChannel): boolean => asked.has(id) || trail.skipped.has(id)
  const last = tiers.findLastIndex((tier) => tier.some(isReached))
  return ({ id }: RoutableChannel, tier: number): Stated => {
    if (asked.has(id)) return { state: 'asked', until: 0 }
    const skipped = trail.skipped.get(id)
    if (skipped === undefined) return { state: tier > last + 1 ? 'lower' : 'open', until: 0 }
    const { state, waitSeconds } = skipped
    return { state, until: waitSeconds === 0 ? 0 : nowSeconds + waitSeconds }
  }
}

/**
 * The channels of a group for a model, in the order they are tried, then those that are disabled.
 * `stateOf` tells of the first; tiers count from 1.
 */
export function candidatesOf(
  { tiers, disabled }: Pick<Traced, 'tiers' | 'disabled'>,
  stateOf: (channel: RoutableChannel, tier: number) => Stated,
): RouteCandidate[] {
  const served = tiers.flatMap((channels, index) =>
    channels.map((channel) => candidate(channel, index + 1, stateOf(channel, index + 1))),
  )
  // One that was tried is among those that are disabled.
  const out = disabled.map((channel) => {
    const { state, until } = stateOf(channel, 1)
    return candidate(channel, 0, { state: state === 'asked' ? state : outState(channel), until })
  })
  return [...served, ...out]
}

const outState = ({ row }: RoutableChannel): RouteState =>
  row.status === ChannelStatus.autoDisabled ? 'auto_disabled' : 'disabled'

/** How a channel is listed. */
export const candidate = (
  { id, name, priority, weight }: RoutableChannel,
  tier: number,
  stated: Stated,
): RouteCandidate => ({ channel_id: id, name, tier, priority, weight, ...stated })

/** Channels that would serve the model to one of the groups if they were enabled. */
export const disabledChannels = (
  map: ChannelMap,
  groups: readonly string[],
  model: string,
): RoutableChannel[] =>
  map
    .naming(model)
    .filter(({ isEnabled, row }) => !isEnabled && servesGroup(row.group ?? '', groups))

const servesGroup = (list: string, groups: readonly string[]): boolean =>
  groupNames(list).some((group) => groups.includes(group))
