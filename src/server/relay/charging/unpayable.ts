import { AppError } from '../../app-error.ts'
import { findPrice } from '../../ledger/price.ts'
import { findUser } from '../../user/user-store.ts'
import type { RelayCall, RelayParts } from '../relay-call.ts'
import type { Caller } from '../routing/caller.ts'
import { sentModel } from '../routing/choose-channel.ts'
import { hasArrived } from '../transport/request-body.ts'

/**
 * Throws `user_quota_insufficient`, as the reservation would, for a caller who cannot pay for any
 * call, before the body is read: a body takes memory and time of everybody else. A body that has
 * come with its head is read all the same, so that the refusal is noted with the model's name.
 * A token without quota has been refused by then.
 */
export async function refuseUnpayable(
  parts: RelayParts,
  { request }: RelayCall,
  caller: Caller,
): Promise<void> {
  if (caller.user.quota > 0 || hasArrived(request)) return
  // Rows in memory may be two seconds old: somebody may have paid meanwhile.
  const owner = await findUser(parts.app.database.read, caller.user.id)
  if (owner !== undefined && owner.quota > 0) return
  if (await servesFreeModel(parts, caller)) return
  throw new AppError('user_quota_insufficient')
}

/** Whether a model that the caller may use costs nothing on one of its channels. */
async function servesFreeModel(
  { app, channels }: RelayParts,
  { groups }: Caller,
): Promise<boolean> {
  const map = await channels.current()
  const ratios = app.options.ratios()
  return groups.some((group) =>
    map.models([group]).some((requested) =>
      map
        .tiers(group, requested)
        .flat()
        .some((channel) => {
          const mapped = sentModel(channel, requested)
          const name = { requested, mapped, channelType: channel.type, group }
          return findPrice(ratios, name)?.factors.isFree === true
        }),
    ),
  )
}
