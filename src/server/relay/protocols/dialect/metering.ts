import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { AnswerReader, ClientDialect } from './dialect.ts'
import type { UpstreamTraits } from './traits.ts'

/** Data for passing an answer on to a client of the same dialect. */
export type PassedOn = Pick<
  ClientDialect,
  'name' | 'streamWriter' | 'wholeAsEvents' | 'gatherer' | 'end' | 'errorPiece'
>

/**
 * How a call is measured. `pricedAs` is the model name with the price, the requested or the mapped
 * one: whether the model is sold by the token is looked up under it.
 */
export type MeteringAs = (pricedAs: string, sold: Sold) => Metering

/** Other properties of a channel and its price that decide how a call is measured. */
export interface Sold {
  /** Traits of the channel's vendor. */
  traits: UpstreamTraits
  /** Images are priced by the token, and so is the prompt that they are generated from. */
  byImageToken: boolean
}

/**
 * How to measure a call that is not priced by its text alone: images, speech, reranking. Made for
 * each attempt from the client's request.
 */
export interface Metering {
  /**
   * Highest usage that the request allows: it is reserved, and it is charged if the real usage is
   * unknown. Null: text is counted as for any chat.
   */
  estimate: TokenUsage | null
  /** Possible usage beside the counted text, reserved with it. */
  extras?: UsedExtras
  reading: AnswerReader & PassedOn
}
