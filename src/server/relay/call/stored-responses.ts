import type { RequestFigures } from '../dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import { allowsModel } from '../../token/token.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'
import { unsupportedField } from '../canonical/reading.ts'
import type { RelayParts } from './call.ts'
import type { Caller } from '../routing/caller.ts'
import type { RoutableChannel } from '../routing/choose-channel.ts'
import {
  deleteExpiredResponses,
  findResponse,
  saveResponse,
  type KnownResponse,
} from '../responses/response-store.ts'

/**
 * Responses stay with the upstream that made them. Whatever refers to one goes to the same channel,
 * and to whose it is not there is no such response.
 */

/** Upstreams keep responses for thirty days. */
const KEPT_SECONDS = 30 * 86_400
/** One of so many rows is followed by clearing away what has expired. */
const CLEARING_SHARE = 1 / 256
export const STORED_ID = /^[\w-]{1,200}$/
/** Items of one response that can be referred to; none has so many. */
const ITEMS_MAX = 1000

/** Throws `response_unknown` for one that is not this caller's to use. */
export async function knownResponse(
  { app }: RelayParts,
  { user, token }: Caller,
  responseId: string,
): Promise<KnownResponse> {
  const found = STORED_ID.test(responseId)
    ? await findResponse(app.database.read, {
        userId: user.id,
        responseId,
        nowSeconds: app.clock.nowSeconds(),
      })
    : null
  if (found === null || !allowsModel(token, found.model)) {
    throw new AppError('response_unknown', { id: responseId.slice(0, 128) })
  }
  return found
}

/** What the request goes on from; null: it begins anew. */
export async function earlierResponse(
  parts: RelayParts,
  caller: Caller,
  { body, isKept }: { body: ScannedBody; isKept: () => boolean },
): Promise<KnownResponse | null> {
  const id = memberValue(body, 'previous_response_id') ?? null
  if (id === null) return null
  // Where no channel of the route keeps responses, the member is unsupported, not the id unknown.
  if (!isKept()) throw unsupportedField('previous_response_id')
  if (typeof id !== 'string')
    throw new AppError('relay_field_invalid', { field: 'previous_response_id' })
  return knownResponse(parts, caller, id)
}

/** Remembers who made it. An answer is not held up by a database in trouble: it is only not found. */
export async function rememberResponse(
  { app, random }: RelayParts,
  channel: RoutableChannel,
  made: { caller: Caller; model: string; figures: Pick<RequestFigures, 'seen'> },
): Promise<void> {
  const { caller, model, figures } = made
  const { id = null, totalTokens = 0, itemIds = [] } = figures.seen ?? {}
  const response =
    id === null || !STORED_ID.test(id) ? null : { response_id: id, total_tokens: totalTokens }
  const items = [...new Set(itemIds)].filter((item) => STORED_ID.test(item)).slice(0, ITEMS_MAX)
  if (response === null && items.length === 0) return
  const nowSeconds = app.clock.nowSeconds()
  try {
    const where = {
      user_id: caller.user.id,
      channel_id: channel.id,
      key_id: channel.keyId,
      model,
      expires_at: nowSeconds + KEPT_SECONDS,
    }
    await saveResponse(app.database.write, where, { response, itemIds: items })
    if (random() < CLEARING_SHARE * (1 + items.length))
      await deleteExpiredResponses(app.database.write, nowSeconds)
  } catch (error) {
    app.trace.warn({ err: error, channelId: channel.id }, 'a response could not be remembered')
  }
}
