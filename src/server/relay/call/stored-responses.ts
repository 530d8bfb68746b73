import { providerOf } from '../vendors/registry.ts'
import { type Provider, type ProviderCall, providerCallOf } from '../dialect/provider.ts'
import { shown } from '../dialect/relay-error.ts'
import { type ReferredItems, referredItems } from './referred-items.ts'
import { routeAt } from './route.ts'
import { AppError } from '../../app-error.ts'
import { allowsModel } from '../../token/token.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'
import { unsupportedField } from '../canonical/reading.ts'
import type { RelayParts, Call } from './call.ts'
import type { Caller } from '../routing/caller.ts'
import { type RoutableChannel, sentModel } from '../routing/choose-channel.ts'
import {
  deleteExpiredResponses,
  findResponse,
  saveResponse,
  type KnownResponse,
  STORED_ID,
} from '../responses/response-store.ts'

/**
 * Responses stay with the upstream that made them. Whatever refers to one goes to the same channel,
 * and to whose it is not there is no such response.
 */

/** Upstreams keep responses for thirty days. */
const KEPT_SECONDS = 30 * 86_400
/** One of so many rows is followed by clearing away what has expired. */
const CLEARING_SHARE = 1 / 256
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
async function earlierResponse(
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

/** What a call goes on from, and where that is kept. */
interface Followed {
  /** Null: it may go anywhere. */
  place: Awaited<ReturnType<typeof routeAt>>
  referred: ReferredItems
  earlierTokens: number
}

/**
 * What goes on from a stored response goes where it is stored, and reads all that came before. What
 * names items of one goes there if it can.
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

/** Where a channel keeps its responses. */
export interface ResponseHome {
  channel: RoutableChannel
  provider: Provider
  to: ProviderCall
  url: string
}

/** Whether the channel keeps responses, so that one can be gone on from. */
const keepsResponses = (
  parts: RelayParts,
  call: Call,
  channel: RoutableChannel,
  model: string,
): boolean => !parts.chatOnly.has(channel, model) && homeOf(parts, call, channel, model) !== null

/** Null: it has no such address. */
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

/** Remembers who made it. An answer is not held up by a database in trouble: it is only not found. */
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
