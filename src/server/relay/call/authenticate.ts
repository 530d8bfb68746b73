import { namedLanguage } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import { isAmbiguous } from '../../http/request-head.ts'
import { findStanding } from '../../ledger/ledger-store.ts'
import { findPrice } from '../../ledger/price.ts'
import type { Caller, KeyOwner } from '../routing/caller.ts'
import { sentModel } from '../routing/choose-channel.ts'
import { hasArrived } from '../transport/request-body.ts'
import type { Call, RelayParts } from './call.ts'

/**
 * Authenticates the caller by the API key. If the client names no language, errors from here on use
 * the language in which the token's owner last used the console. Throws the first refusal of the
 * key; `onRefused` receives the owner of the refused key.
 */
export async function authenticate(
  { app, callers }: RelayParts,
  call: Call,
  onRefused?: (owner: KeyOwner) => void,
): Promise<Caller> {
  const speakTo = ({ user }: KeyOwner): void => {
    const named = namedLanguage(call.request.headers['accept-language'])
    if (named === null) call.language = app.languages.of(user.id) ?? call.language
  }
  const address = (): string => app.addressOf(call.request)
  const caller = await callers.authenticate(credentialOf(call), address, (owner) => {
    speakTo(owner)
    onRefused?.(owner)
  })
  speakTo(caller)
  call.caller = caller
  return caller
}

/** Returns the token's key from where clients of each dialect put it. Throws if there are two. */
function credentialOf({ request, query, dialect }: Call): string | undefined {
  const { headers } = request
  if (isAmbiguous(request)) throw new AppError('authorization_ambiguous')
  const named = headers['x-api-key'] ?? headers['x-goog-api-key']
  const inQuery = dialect === 'gemini' ? (query.get('key') ?? undefined) : undefined
  const elsewhere = typeof named === 'string' ? named : inQuery
  return headers.authorization || (elsewhere ?? headers.authorization)
}

/**
 * Throws `user_quota_insufficient` or `user_quota_owed`, as the reservation would, for a caller who
 * cannot pay for any call even after all open calls have ended. The check runs before the body is
 * read, which takes memory and time from all other calls. A body that arrived with its head is read
 * all the same, so that the failed call is recorded with the model's name. A token without quota
 * has already been refused.
 */
export async function refuseUnpayable(parts: RelayParts, { request, caller }: Call): Promise<void> {
  if (caller.user.quota > 0 || hasArrived(request)) return
  // Cached rows may be two seconds old: the user may have paid meanwhile.
  const standing = await findStanding(parts.app.database.read, {
    userId: caller.user.id,
    tokenId: caller.token.id,
  })
  // If the row is gone, the reservation reports the error.
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
