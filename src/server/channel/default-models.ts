import { channelTypesInListOrder } from '../../contract/channel-types.ts'
import { vendorOf } from '../relay/vendors/registry.ts'

/**
 * The models that the form of a new channel offers, which the gateway also knows by name. Empty if
 * only the operator knows them; null for types without models and types that are unknown.
 */
export const defaultModels = (type: number): readonly string[] | null =>
  vendorOf(type).models ?? null

/** The answer of `GET /api/models`: every known type's number as text → its models, or `null`. */
export function defaultModelsByType(): Record<string, readonly string[] | null> {
  return Object.fromEntries(
    channelTypesInListOrder.map(({ type }) => [String(type), defaultModels(type)]),
  )
}
