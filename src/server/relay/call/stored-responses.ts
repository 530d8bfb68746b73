import { providerOf } from '../vendors/registry.ts'
import { type Provider, type ProviderCall, providerCallOf } from '../protocols/dialect/provider.ts'
import { shown } from '../protocols/dialect/relay-error.ts'
import { type ReferredItems, referredItems } from './referred-items.ts'
import { routeAt } from './route.ts'
import { AppError } from '../../app-error.ts'
import { allowsModel } from '../../token/token.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'
import { unsupportedField } from '../protocols/canonical/reading.ts'
import type { RelayParts, Call } from './call.ts'
import type { Caller } from '../routing/caller.ts'
import { type RoutableChannel, sentModel } from '../routing/choose-channel.ts'
import {
  deleteExpiredResponses,
  findResponse,
  saveResponse,
  type KnownResponse,
  STORED_ID,
} from './response-store.ts'

/**
 * Responses stay with the upstream that made them. A request that refers to one goes to the same
 * channel; for other callers the response does not exist.
 */

/** Time for which upstreams keep responses: thirty days. */
const KEPT_SECONDS = 30 * 86_400
/** Share of inserts that are followed by a deletion of expired rows. */
const CLEARING_SHARE = 1 / 256
/** Maximum number of items of one response that can be referenced; real responses have fewer. */
const ITEMS_MAX = 1000

/** Throws `response_unknown` for a response that does not belong to this caller. */
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

/** Returns the response that the request continues; null if it continues none. */
async function earlierResponse(
  parts: RelayParts,
  caller: Caller,
  { body, isKept }: { body: ScannedBody; isKept: () => boolean },
): Promise<KnownResponse | null> {
  const id = memberValue(body, 'previous_response_id') ?? null
  if (id === null) return null
  // If no channel of the route keeps responses, the member is unsupported, not the id unknown.
  if (!isKept()) throw unsupportedField('previous_response_id')
  if (typeof id !== 'string')
    throw new AppError('relay_field_invalid', { field: 'previous_response_id' })
  return knownResponse(parts, caller, id)
}

/** The stored items that a call continues, and the channel that stores them. */
interface Followed {
  /** The channel that the call must use; null if it may use any. */
  place: Awaited<ReturnType<typeof routeAt>>
  referred: ReferredItems
  earlierTokens: number
}

/**
 * Routes a call that continues a stored response to the channel that stores it; the upstream reads
 * the whole earlier conversation again. A call that references items goes to their channel if
 * possible.
 */
export async function followStored(parts: RelayParts, call: Call): Promise<Followed> {
  const { caller, input, route } = call
  const isKept = (): boolean =>
    route.tiers.length === 0 ||
    route.tiers.flat().some((channel) => keepsResponses(parts, call, channel, input.model))
  const earlier = await earlierResponse(parts, caller, { body: input.body, isKept })
  const referred = await referredItems(parts.app, caller, input.body)
  if (earlier !== null) {
    const place = await routeAt(parts, call, earlier)
    if (place === null) {
      const groups = route.isPinned ? [route.group] : caller.groups
      throw new AppError('no_channel', { group: groups.join(', '), model: shown(input.model) })
    }
    return { place, referred, earlierTokens: earlier.total_tokens }
  }
  const { last } = referred
  const place = last === null ? null : await routeAt(parts, call, last)
  return { place, referred, earlierTokens: 0 }
}

/** The endpoint where a channel keeps its responses. */
export interface ResponseHome {
  channel: RoutableChannel
  provider: Provider
  to: ProviderCall
  url: string
}

/** Whether the channel keeps responses, so that a request can continue one. */
const keepsResponses = (
  parts: RelayParts,
  call: Call,
  channel: RoutableChannel,
  model: string,
): boolean =>
  !parts.lacksResponses.has(channel, model) && homeOf(parts, call, channel, model) !== null

/** Returns the endpoint of a channel's stored responses; null if it does not store responses. */
export function homeOf(
  { app }: RelayParts,
  call: Call,
  channel: RoutableChannel,
  model: string,
): ResponseHome | null {
  const { type } = channel
  const asked = {
    task: 'responses',
    model: sentModel(channel, model),
    isStream: false,
    type,
  } as const
  const to = providerCallOf(app, asked, call)
  const provider = providerOf(type, to.model, to.task, to.capabilities)
  const url = provider?.url(channel, to) ?? null
  return provider === null || url === null ? null : { channel, provider, to, url }
}

/**
 * Stores the owner of a response. A database failure does not delay the response; it only cannot be
 * found later.
 */
export async function rememberResponse(
  { app, random }: RelayParts,
  { caller, input, figures }: Call,
  channel: RoutableChannel,
): Promise<void> {
  const { model } = input
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
