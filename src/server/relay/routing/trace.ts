import { groupNames } from '../../../contract/user.ts'
import type { ChannelMap } from './channel-map.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import type { RouteCandidate, RouteState, RouteTrace } from '../../../contract/route-api.ts'
import { shown } from '../protocols/dialect/relay-error.ts'
import type { Caller } from './caller.ts'
import type { RoutableChannel, Tiers } from './choose-channel.ts'
import type { Trail } from './trail.ts'

/** Maximum number of channels in a trace, because many traces are stored. */
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

/** Returns the stored trace of a call. */
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

/**
 * Returns a channel's state from the call's trail. A channel without an entry was as healthy as
 * those that were asked, or came later in order.
 */
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
 * Returns the channels of a group for a model in the order they are tried, then the disabled ones.
 * `stateOf` returns the state of a channel in a tier; tiers count from 1.
 */
export function candidatesOf(
  { tiers, disabled }: Pick<Traced, 'tiers' | 'disabled'>,
  stateOf: (channel: RoutableChannel, tier: number) => Stated,
): RouteCandidate[] {
  const served = tiers.flatMap((channels, index) =>
    channels.map((channel) => candidate(channel, index + 1, stateOf(channel, index + 1))),
  )
  // A disabled channel that was tried has an entry in the trail.
  const out = disabled.map((channel) => {
    const { state, until } = stateOf(channel, 1)
    return candidate(channel, 0, { state: state === 'asked' ? state : outState(channel), until })
  })
  return [...served, ...out]
}

const outState = ({ row }: RoutableChannel): RouteState =>
  row.status === ChannelStatus.autoDisabled ? 'auto_disabled' : 'disabled'

/** Returns the list entry of a channel. */
export const candidate = (
  { id, name, priority, weight }: RoutableChannel,
  tier: number,
  stated: Stated,
): RouteCandidate => ({ channel_id: id, name, tier, priority, weight, ...stated })

/** Returns channels that would serve the model to one of the groups if they were enabled. */
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
