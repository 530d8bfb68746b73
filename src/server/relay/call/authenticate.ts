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
 * Finds whose call it is by its key. Where the client names no language, errors are from then on in
 * the one in which the token's owner last used the console. Throws the first refusal of the key;
 * `onRefused` is told whose key was refused.
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

/** The token's key, where clients of the different dialects put it. Throws when there are two. */
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
 * cannot pay for any call even after its open calls have ended. This happens before the body is
 * read, which takes memory and time of everybody else. A body that has come with its head is read
 * all the same, so that the refusal is noted with the model's name. A token without quota has been
 * refused by then.
 */
export async function refuseUnpayable(parts: RelayParts, { request, caller }: Call): Promise<void> {
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
