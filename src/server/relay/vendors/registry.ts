import { unknownRow } from '../../../contract/channel-type-row.ts'
import { vendors } from './list.ts'
import { openaiVendor } from './openai-vendor.ts'
import { capabilitiesOf } from '../../model/model-table.ts'
import type { Provider, Task } from '../protocols/dialect/provider.ts'
import type { UpstreamTraits } from '../protocols/dialect/traits.ts'
import type { Vendor } from './vendor.ts'

const byType: ReadonlyMap<number, Vendor> = new Map(vendors.map((vendor) => [vendor.type, vendor]))

/** Channel types of newer or other programs: they use OpenAI's API at the channel's own URL. */
const { balance: _none, ...unknownType } = unknownRow
const unknownVendor = openaiVendor(unknownType)

/** The vendor of a channel type; never fails. */
export const vendorOf = (type: number): Vendor => byType.get(type) ?? unknownVendor

const NO_TRAITS: UpstreamTraits = {}

export const traitsOf = (type: number): UpstreamTraits => vendorOf(type).traits ?? NO_TRAITS

/** How channels of a type are called for a task; null if they are not relayed. */
export function providerOf(
  type: number,
  model: string,
  task: Task,
  capabilities = capabilitiesOf({ model, type }),
): Provider | null {
  const { provider } = vendorOf(type)
  return typeof provider === 'function' ? provider(model, task, capabilities) : provider
}
