import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { AnswerReader, ClientDialect } from './dialect.ts'
import type { UpstreamTraits } from './traits.ts'

/** What it needs to pass an answer on to a client that speaks the same. */
export type PassedOn = Pick<
  ClientDialect,
  'name' | 'streamWriter' | 'wholeAsEvents' | 'gatherer' | 'end' | 'errorPiece'
>

/**
 * How a call is measured. `pricedAs` is the name that has the price, the requested or the mapped
 * one: what a name tells, such as whether the model is sold by the token, is read from it.
 */
export type MeteringAs = (pricedAs: string, sold: Sold) => Metering

/** What else of a channel and its price decides how a call is measured. */
export interface Sold {
  /** Of the channel's vendor. */
  traits: UpstreamTraits
  /** Pictures have a price by the token, and so has what is read to draw them. */
  byPictureToken: boolean
}

/**
 * How a call is measured whose price is not simply its text: pictures, speech, rankings. Made for
 * each attempt from what the client asked.
 */
export interface Metering {
  /**
   * Highest usage that the request allows: it is reserved, and it is charged if the real usage is
   * unknown. Null: text is counted as for any chat.
   */
  estimate: TokenUsage | null
  /** What may be used beside the text that is counted, held back with it. */
  extras?: UsedExtras
  reading: AnswerReader & PassedOn
}
