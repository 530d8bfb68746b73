import { AppError } from '../../app-error.ts'
import { findStanding } from '../../ledger/ledger-store.ts'
import { findPrice } from '../../ledger/price.ts'
import type { RelayCall, RelayParts } from './call.ts'
import type { Caller } from '../routing/caller.ts'
import { sentModel } from '../routing/choose-channel.ts'
import { hasArrived } from '../transport/request-body.ts'

/**
 * Throws `user_quota_insufficient` or `user_quota_owed`, as the reservation would, for a caller who
 * cannot pay for any call even after its open calls have ended. This happens before the body is
 * read, which takes memory and time of everybody else. A body that has come with its head is read
 * all the same, so that the refusal is noted with the model's name. A token without quota has been
 * refused by then.
 */
export async function refuseUnpayable(
  parts: RelayParts,
  { request }: RelayCall,
  caller: Caller,
): Promise<void> {
  if (caller.user.quota > 0 || hasArrived(request)) return
  // Rows in memory may be two seconds old: somebody may have paid meanwhile.
  const standing = await findStanding(parts.app.database.read, {
    userId: caller.user.id,
    tokenId: caller.token.id,
  })
  // Of a row that is gone the reservation says what is wrong.
  if (standing === null) return
  const { userQuota, userHeld } = standing
  const points = userQuota + userHeld
  if (points > 0 || (points === 0 && (await servesFreeModel(parts, caller)))) return
  throw new AppError(userQuota < 0 ? 'user_quota_owed' : 'user_quota_insufficient')
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
