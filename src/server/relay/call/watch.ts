import { groupNames } from '../../../contract/user.ts'
import { AppError } from '../../app-error.ts'
import type { RelayCall, RelayParts } from './call.ts'
import type { Caller } from '../routing/caller.ts'
import type { ChannelMap } from '../routing/channel-map.ts'
import type { RoutableChannel, Tiers } from '../routing/choose-channel.ts'
import { traceOf } from '../routing/trace.ts'
import { Trail } from '../routing/trail.ts'

interface Traced {
  caller: Caller
  model: string
  route: { group: string; tiers: Tiers }
}

/** Keeps how a call went; nobody waits for it. */
export function keepTrace(parts: RelayParts, call: RelayCall, traced: Traced, trail: Trail): void {
  const { app, channels, traces } = parts
  const keep = async (): Promise<void> => {
    const { caller, model, route } = traced
    const { group, tiers } = route
    const map = await channels.current()
    const nowSeconds = app.clock.nowSeconds()
    const told = { created_at: nowSeconds, outcome: trail.outcome }
    traces.keep(call.requestId, told, () => {
      const disabled = disabledChannels(map, caller.groups, model)
      return traceOf(trail, { caller, model, group, tiers, disabled, nowSeconds })
    })
  }
  keep().catch((error: unknown) => {
    app.trace.warn({ err: error, requestId: call.requestId }, 'a call was not traced')
  })
}

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

/**
 * Keeps that a call found no channel, if that is what it met, and tells clients that ask again by
 * themselves not to: nobody serves such a model.
 */
export function noteNoChannel(
  parts: RelayParts,
  call: RelayCall,
  { caller, model }: Omit<Traced, 'route'>,
  error: unknown,
): void {
  if (!(error instanceof AppError) || error.code !== 'no_channel') return
  const route = { group: caller.groups.join(), tiers: [] }
  keepTrace(parts, call, { caller, model, route }, new Trail('no_channel'))
  call.headers.push('X-Should-Retry', 'false')
}
