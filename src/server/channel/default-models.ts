/**
 * The models a channel of a type usually serves: what the channel form fills in, and what the
 * gateway knows by name. Current names come first, then older ones that still have a price.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ChannelTypeNumber } from '../../contract/channel-type-number.ts'
import { channelTypesInListOrder } from '../../contract/channel-types.ts'

const ModelLists = z.record(z.string(), z.array(z.string().min(1)))

/** Types that serve what another type serves. */
const sameModelsAs: ReadonlyMap<number, number> = new Map<number, number>([
  [ChannelTypeNumber.api2d, ChannelTypeNumber.openai],
  [ChannelTypeNumber.azure, ChannelTypeNumber.openai],
  [ChannelTypeNumber.closeAi, ChannelTypeNumber.openai],
  [ChannelTypeNumber.openaiSb, ChannelTypeNumber.openai],
  [ChannelTypeNumber.openaiMax, ChannelTypeNumber.openai],
  [ChannelTypeNumber.ohMyGpt, ChannelTypeNumber.openai],
  [ChannelTypeNumber.custom, ChannelTypeNumber.openai],
  [ChannelTypeNumber.aiLs, ChannelTypeNumber.openai],
  [ChannelTypeNumber.aiProxy, ChannelTypeNumber.openai],
  [ChannelTypeNumber.api2Gpt, ChannelTypeNumber.openai],
  [ChannelTypeNumber.aigc2d, ChannelTypeNumber.openai],
  [ChannelTypeNumber.aiProxyLibrary, ChannelTypeNumber.openai],
  [ChannelTypeNumber.fastGpt, ChannelTypeNumber.openai],
  [ChannelTypeNumber.openaiCompatible, ChannelTypeNumber.openai],
  [ChannelTypeNumber.geminiOpenai, ChannelTypeNumber.gemini],
  [ChannelTypeNumber.anthropicCompatible, ChannelTypeNumber.anthropic],
])

let loaded: ReadonlyMap<string, readonly string[]> | undefined

/** Most processes never ask, so the file is read on the first question. */
function modelLists(): ReadonlyMap<string, readonly string[]> {
  loaded ??= new Map(
    Object.entries(
      ModelLists.parse(
        JSON.parse(readFileSync(new URL('default-models.json', import.meta.url), 'utf8')),
      ),
    ),
  )
  return loaded
}

/**
 * The default models of a type. Empty where only the operator can know; `null` where models mean
 * nothing and for types we do not know.
 */
export function defaultModels(type: number): readonly string[] | null {
  // Whatever the operator lists: a bot's id is a model here.
  if (type === ChannelTypeNumber.coze) return []
  return modelLists().get(String(sameModelsAs.get(type) ?? type)) ?? null
}

/** The answer of `GET /api/models`: every known type's number as text → its models, or `null`. */
export function defaultModelsByType(): Record<string, readonly string[] | null> {
  return Object.fromEntries(
    channelTypesInListOrder.map(({ type }) => [String(type), defaultModels(type)]),
  )
}
