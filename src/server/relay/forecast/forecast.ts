import type { SurfaceCall } from '../protocols/dialect/surface.ts'
import type { RouteForecast, RouteQuestion, RouteState } from '../../../contract/route-api.ts'
import type { Language } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import { costOf, findPrice, type Price } from '../../ledger/price.ts'
import { placeOf, providerCallOf } from '../protocols/dialect/provider.ts'
import { providerOf } from '../vendors/registry.ts'
import { surfaceOf } from '../surfaces/surfaces.ts'
import type { RelayParts } from '../call/call.ts'
import { shown } from '../protocols/dialect/relay-error.ts'
import { conversationNamed } from '../routing/conversation/affinity.ts'
import type { ChannelMap } from '../routing/channel-map.ts'
import {
  homeAmong,
  sentModel,
  type RoutableChannel,
  type Tiers,
} from '../routing/choose-channel.ts'
import { waitOf } from '../call/route.ts'
import { candidate, candidatesOf, disabledChannels } from '../routing/trace.ts'
import { limitsRefusalOf, refusalOf, whoAsks, type Asker } from './who-asks.ts'

/** Maximum number of channels in a forecast. */
const CANDIDATES_MAX = 100

/**
 * Returns the forecast of a call: the channels with their probabilities and prices, or the refusal.
 */
export async function forecastOf(
  parts: RelayParts,
  question: RouteQuestion,
  language: Language,
): Promise<RouteForecast> {
  const { asked, model } = callOf(question)
  const asker = await whoAsks(parts.app, question)
  const map = await parts.channels.current()
  const group = asker.groups.find((name) => map.tiers(name, model).length > 0)
  const tiers = group === undefined ? [] : map.tiers(group, model)
  const look = lookAt(parts, { asked, model, group: group ?? '' })
  const states = statesOf(tiers, look)
  const conversation = conversationIn(asker, { question, group: group ?? '', model })
  const preferred = parts.affinity.placeOf(conversation)?.channelId
  const shares = sharesOf(tiers, states, { preferred, conversation })
  const listed = [
    ...candidatesOf({ tiers, disabled: disabledChannels(map, asker.groups, model) }, (channel) =>
      stated(parts, states.get(channel.id) ?? 'open', waitOf(parts.health, channel, model)),
    ),
    ...ofOtherGroups(map, asker, model),
  ]
  const channels = listed.slice(0, CANDIDATES_MAX).map((row) => {
    const channel = map.find(row.channel_id)
    return {
      ...row,
      probability: shares.get(row.channel_id) ?? 0,
      stays: row.channel_id === preferred && shares.get(preferred) === 1,
      sent_model: channel === undefined ? model : sentModel(channel, model),
      price: channel === undefined ? null : priceText(look(channel).price, question),
    }
  })
  const priceOf = (id: number): Price | null => {
    const channel = map.find(id)
    return channel === undefined ? null : look(channel).price
  }
  const cost = leastCost(parts, { channels, priceOf, question })
  const { prompt, completion } = tokensAsked(question)
  const refusal =
    refusalOf(parts.app, asker, { model, cost }) ??
    routeRefusal(states, { groups: asker.groups, model }) ??
    (await limitsRefusalOf(parts.app, asker, { tokens: prompt + completion, quota: cost }))
  return {
    refusal: refusal && { code: refusal.code, message: refusal.text(language) },
    model,
    group: group ?? '',
    groups: [...asker.groups],
    channels,
    omitted: Math.max(0, listed.length - CANDIDATES_MAX),
    attempts_max: 1 + parts.app.options.number('RetryTimes'),
  }
}

const USUAL_PATH = '/v1/chat/completions'

/** Returns the call that the question describes. Throws the error if it describes none. */
function callOf(question: RouteQuestion): { asked: SurfaceCall; model: string } {
  const [path = ''] = (question.path?.trim() || USUAL_PATH).split('?')
  const asked = surfaceOf(path, new URLSearchParams())
  if (asked === null) throw new AppError('route_path_unknown', { path: shown(path) })
  const model = question.model.trim() || (asked.model ?? asked.surface.defaultModel ?? '')
  if (model === '') throw new AppError('relay_field_required', { field: 'model' })
  return { asked, model }
}

interface Looked {
  state: RouteState
  price: Price | null
}

interface Call {
  asked: SurfaceCall
  model: string
  group: string
}

/** Returns the state of a channel for a call, assuming that it is enabled and in the group. */
function lookAt(parts: RelayParts, { asked, model, group }: Call) {
  const { app, health, keys } = parts
  return (channel: RoutableChannel): Looked => {
    const mapped = sentModel(channel, model)
    const price = findPrice(app.options.ratios(), {
      requested: model,
      mapped,
      channelType: channel.type,
      group,
    })
    const isWell = (one: RoutableChannel): boolean => health.admits(one, mapped)
    if (price === null) return { state: 'price', price }
    if (!hasAddress(parts, channel, asked.surface, mapped)) return { state: 'protocol', price }
    if (waitOf(health, channel, model) > 0) return { state: 'throttled', price }
    if (!isWell(channel)) return { state: 'circuit', price }
    return { state: keys.hasNext(channel, [], isWell) ? 'open' : 'keys', price }
  }
}

/** Whether the channel's provider supports the call, directly or converted. */
function hasAddress(
  { app }: RelayParts,
  channel: RoutableChannel,
  { task }: SurfaceCall['surface'],
  model: string,
): boolean {
  const to = providerCallOf(app, { task, model, isStream: false, type: channel.type }, null)
  return placeOf(providerOf(channel.type, model, task, to.capabilities), channel, to) !== null
}

type States = Map<number, RouteState>

/**
 * Returns each channel's state. In the first tier with an available channel, those are chosen
 * first.
 */
function statesOf(tiers: Tiers, look: (channel: RoutableChannel) => Looked): States {
  const states: States = new Map()
  let isFound = false
  for (const tier of tiers) {
    const looked = tier.map((channel) => [channel.id, look(channel).state] as const)
    for (const [id, state] of looked) {
      states.set(id, state === 'open' && isFound ? 'lower' : state)
    }
    isFound ||= looked.some(([, state]) => state === 'open')
  }
  return states
}

/** States of channels that are tried as a last resort before the call is refused. */
const TRIED_AT_LAST: readonly string[] = ['circuit', 'keys']

/** Returns the conversation that the question names; null if none. */
function conversationIn(
  { user }: Asker,
  { question, group, model }: { question: RouteQuestion; group: string; model: string },
): string | null {
  const name = question.conversation?.trim()
  return user === null ? null : conversationNamed(name, { userId: user.id, group, model })
}

/** Returns the probability of each channel to be chosen first. */
function sharesOf(
  tiers: Tiers,
  states: States,
  { preferred, conversation }: { preferred: number | undefined; conversation: string | null },
): Map<number, number> {
  for (const wanted of [['open'], TRIED_AT_LAST]) {
    const able = tiers.map((tier) => tier.filter(({ id }) => wanted.includes(states.get(id) ?? '')))
    const first = able.find((tier) => tier.length > 0)
    if (first === undefined) continue
    const total = first.reduce((sum, { weight }) => sum + weight, 0)
    const shares = new Map(
      first.map(({ id, weight }) => [id, total === 0 ? 1 / first.length : weight / total]),
    )
    const stays = preferred !== undefined && (shares.get(preferred) ?? 0) > 0
    if (stays) return new Map([[preferred, 1]])
    const home = conversation === null ? null : homeAmong(first, conversation)
    return home === null ? shares : new Map([[home.id, 1]])
  }
  return new Map()
}

const stated = ({ app }: RelayParts, state: RouteState, waitSeconds: number) => ({
  state,
  until: state === 'throttled' ? app.clock.nowSeconds() + waitSeconds : 0,
})

const ofOtherGroups = (map: ChannelMap, { groups }: Asker, model: string) => {
  const ours = new Set(groups.flatMap((group) => map.tiers(group, model).flat()))
  return map
    .naming(model)
    .filter((channel) => channel.isEnabled && !ours.has(channel))
    .map((channel) => candidate(channel, 0, { state: 'group', until: 0 }))
}

const TOKENS_ASKED = 1000

const tokensAsked = ({ prompt_tokens, completion_tokens }: RouteQuestion) => ({
  prompt: prompt_tokens ?? TOKENS_ASKED,
  completion: completion_tokens ?? TOKENS_ASKED,
})

function priceText(price: Price | null, question: RouteQuestion) {
  if (price === null) return null
  const { prompt, completion } = tokensAsked(question)
  return {
    priced_as: price.pricedAs,
    model_ratio: price.modelRatio,
    completion_ratio: price.completionRatio,
    group_ratio: price.groupRatio,
    ...(price.perCall === null ? {} : { model_price: price.perCall }),
    cost: costOf(price, {
      promptTokens: prompt,
      cachedTokens: 0,
      completionTokens: completion,
    }),
  }
}

/**
 * Returns the minimum balance with which the call can run on the most expensive channel that may be
 * chosen first: the prompt and one token, because the reply is limited to the balance.
 */
function leastCost(
  { app }: RelayParts,
  asked: {
    channels: RouteForecast['channels']
    priceOf(id: number): Price | null
    question: RouteQuestion
  },
): number {
  const { prompt, completion } = tokensAsked(asked.question)
  const completionTokens = app.options.flag('ReserveFullAnswer')
    ? Math.min(1, completion)
    : completion
  const costs = asked.channels.map(({ probability, channel_id: id }) => {
    const price = probability > 0 ? asked.priceOf(id) : null
    if (price === null) return 0
    return costOf(price, { promptTokens: prompt, cachedTokens: 0, completionTokens })
  })
  return Math.max(0, ...costs)
}

/** Returns the reason why no channel would be asked; null if one would be. */
function routeRefusal(
  states: States,
  { groups, model }: { groups: readonly string[]; model: string },
): AppError | null {
  const found = new Set(states.values())
  if ([...found].some((state) => state === 'open' || TRIED_AT_LAST.includes(state))) return null
  if (found.size === 0) {
    return new AppError('no_channel', { group: groups.join(', '), model: shown(model) })
  }
  if (found.has('throttled')) return new AppError('upstream_busy')
  if (found.has('protocol')) return new AppError('route_protocol')
  return new AppError('model_unpriced', { model: shown(model) })
}
