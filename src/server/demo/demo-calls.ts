import { groupNames } from '../../contract/user.ts'
import { costOf, findPrice, priceAt } from '../ledger/price.ts'
import { bookedFactors } from '../ledger/price/price-lines.ts'
import type { Ratios } from '../option/live-options.ts'
import { channelsFor, type DemoChannel } from './demo-channels.ts'
import { demoModels, type DemoModel } from './demo-models.ts'
import { requestIdAt, type DemoPerson } from './demo-people.ts'
import type { DemoToken } from './demo-tokens.ts'
import type { Dice } from './dice.ts'

/** A relayed call in the past, with the content of its settlement. */
export interface DemoCall {
  kind: 'call'
  atSeconds: number
  token: DemoToken
  channel: DemoChannel
  requestId: string
  /** Upstream name of the model. */
  modelName: string
  /** In points. */
  cost: number
  promptTokens: number
  completionTokens: number
  elapsedMs: number
  isStream: boolean
  /** JSON of the price's factors. */
  detail: string
  /** Text of the log row. */
  content: string
}

export interface CallSetting {
  dice: Dice
  ratios: Ratios
  people: readonly DemoPerson[]
  tokens: readonly DemoToken[]
  channels: readonly DemoChannel[]
}

/** Percentage of a person's calls to their favorite models. */
const FAVOURITE_PERCENT = 80
const STREAM_PERCENT = 70
/** Upstreams cache prompts from this length, in steps of it. */
const CACHE_STEP = 1024
const CACHED_PERCENT = 30

/** Returns one call per time, except where no channel serves the model. */
export function planCalls(times: readonly number[], setting: CallSetting): DemoCall[] {
  const tokensOf = Map.groupBy(setting.tokens, ({ owner }) => owner)
  return times.flatMap((atSeconds) => {
    const call = planCall(atSeconds, { ...setting, tokensOf })
    return call === null ? [] : [call]
  })
}

const DRAWS_MAX = 50

/** Draws until it finds a person who could call at that time. */
function planCall(
  atSeconds: number,
  setting: CallSetting & { tokensOf: ReadonlyMap<DemoPerson, DemoToken[]> },
): DemoCall | null {
  const { dice, people, tokensOf, channels } = setting
  for (let draw = 0; draw < DRAWS_MAX; draw += 1) {
    const person = dice.weighted(people, ({ activity }) => activity)
    if (atSeconds < person.joinedSeconds || atSeconds >= person.leavesSeconds) continue
    const token = drawToken(dice, tokensOf.get(person) ?? [], atSeconds)
    const model = drawModel(dice, person, token)
    const place = placeOf(channels, { person, model: model.name, atSeconds })
    if (token === null || place === null) continue
    const channel = dice.weighted(place.channels, ({ weight, priority }) => 1 + weight + priority)
    return callOf({ atSeconds, token, model, channel, group: place.group }, setting)
  }
  return null
}

function drawToken(dice: Dice, tokens: readonly DemoToken[], atSeconds: number): DemoToken | null {
  const usable = tokens.filter(
    ({ createdSeconds, endsSeconds }) => createdSeconds <= atSeconds && atSeconds < endsSeconds,
  )
  return usable.length === 0 ? null : dice.pick(usable)
}

function drawModel(dice: Dice, person: DemoPerson, token: DemoToken | null): DemoModel {
  const isBound = token !== null && token.models !== ''
  const models = isBound || dice.percent(FAVOURITE_PERCENT) ? person.favourites : demoModels
  return dice.weighted(models, ({ share }) => share)
}

/** Tries the groups in order; the first with a channel for the model serves the call. */
function placeOf(
  channels: readonly DemoChannel[],
  wanted: { person: DemoPerson; model: string; atSeconds: number },
): { group: string; channels: DemoChannel[] } | null {
  const { person, model, atSeconds } = wanted
  for (const group of groupNames(person.group)) {
    const found = channelsFor(channels, { model, group, atSeconds })
    if (found.length > 0) return { group, channels: found }
  }
  return null
}

interface Draft {
  atSeconds: number
  token: DemoToken
  model: DemoModel
  channel: DemoChannel
  group: string
}

function callOf(draft: Draft, { dice, ratios }: CallSetting): DemoCall {
  const { atSeconds, token, model, channel, group } = draft
  const modelName = mappedName(channel, model.name)
  const named = { requested: model.name, mapped: modelName, channelType: channel.type, group }
  const price = findPrice(ratios, named)
  if (price === null) throw new Error(`the demo's model ${model.name} has no price`)
  const used = drawTokens(dice, model)
  const { promptTokens, completionTokens } = used
  const typicalMs = model.firstMs + completionTokens * model.tokenMs
  return {
    kind: 'call',
    atSeconds,
    token,
    channel,
    requestId: requestIdAt(dice, atSeconds),
    modelName,
    cost: costOf(price, used),
    promptTokens,
    completionTokens,
    elapsedMs: Math.round(dice.spread(typicalMs, 0.25)),
    isStream: completionTokens > 0 && dice.percent(STREAM_PERCENT),
    detail: JSON.stringify(
      bookedFactors(priceAt(price, promptTokens), used, {
        requestedModel: model.name,
        source: 'upstream',
      }),
    ),
    content: price.ratioText,
  }
}

function mappedName({ modelMapping }: DemoChannel, model: string): string {
  if (modelMapping === '') return model
  const mapping: unknown = JSON.parse(modelMapping)
  const mapped = typeof mapping === 'object' && mapping !== null && Reflect.get(mapping, model)
  return typeof mapped === 'string' ? mapped : model
}

interface UsedTokens {
  promptTokens: number
  cachedTokens: number
  completionTokens: number
}

function drawTokens(dice: Dice, model: DemoModel): UsedTokens {
  const promptTokens = Math.max(1, Math.round(dice.spread(model.promptTokens, 0.9)))
  const steps = Math.floor(promptTokens / CACHE_STEP)
  const isCached = model.completionTokens > 0 && steps > 0 && dice.percent(CACHED_PERCENT)
  return {
    promptTokens,
    cachedTokens: isCached ? dice.whole(1, steps) * CACHE_STEP : 0,
    completionTokens: Math.round(dice.spread(model.completionTokens, 0.7)),
  }
}
