/**
 * The models a channel of a type usually serves: what the channel form fills in, and what the
 * gateway knows by name. Current names come first, then older ones that still have a price.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { channelTypesInListOrder } from '../../contract/channel-types.ts'

const ModelLists = z.record(z.string(), z.array(z.string().min(1)))

/** Types that serve what another type serves. */
const sameModelsAs: ReadonlyMap<number, number> = new Map([
  ...[2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 21, 22, 50].map((type) => [type, 1] as const),
  [51, 24],
  [52, 14],
])

/** Whatever the operator lists: a bot's id is a model here. */
const typeOfBots = 34

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
 * The default models of a type. Empty where only the operator can know (34); `null` where models
 * mean nothing (43) and for types we do not know.
 */
export function defaultModels(type: number): readonly string[] | null {
  if (type === typeOfBots) return []
  return modelLists().get(String(sameModelsAs.get(type) ?? type)) ?? null
}

/** The answer of `GET /api/models`: every known type's number as text → its models, or `null`. */
export function defaultModelsByType(): Record<string, readonly string[] | null> {
  return Object.fromEntries(
    channelTypesInListOrder.map(({ type }) => [String(type), defaultModels(type)]),
  )
}
