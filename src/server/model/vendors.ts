import { channelTypesInListOrder } from '../../contract/channel-types.ts'

/** Vendors of models by channel type, from their declarations (`modelVendor`). */
const VENDORS: ReadonlyMap<number, string> = new Map(
  channelTypesInListOrder.flatMap(({ type, modelVendor }) =>
    modelVendor === undefined ? [] : [[type, modelVendor] as const],
  ),
)

/** Null for a channel type without its own vendor. */
export const vendorOf = (type: number | undefined): string | null => VENDORS.get(type ?? 0) ?? null

const REACHED: ReadonlySet<string> = new Set(VENDORS.values())

export const isReachedVendor = (vendor: string): boolean => REACHED.has(vendor)
