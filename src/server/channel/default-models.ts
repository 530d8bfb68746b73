import { channelTypesInListOrder } from '../../contract/channel-types.ts'
import { vendorOf } from '../relay/vendors/registry.ts'

/**
 * Returns the models that the form of a new channel offers, which are also known by name. Empty if
 * only the operator can list them; null for types without models and unknown types.
 */
export const defaultModels = (type: number): readonly string[] | null =>
  vendorOf(type).models ?? null

/**
 * Returns the response of `GET /api/models`: the number of every known type as text → its models,
 * or `null`.
 */
export function defaultModelsByType(): Record<string, readonly string[] | null> {
  return Object.fromEntries(
    channelTypesInListOrder.map(({ type }) => [String(type), defaultModels(type)]),
  )
}
