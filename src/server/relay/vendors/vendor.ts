import type { BalanceUnit, ChannelTypeInput } from '../../../contract/channel-type-row.ts'
import type { Capabilities } from '../../model/capabilities.ts'
import type { Provider, Task } from '../protocols/dialect/provider.ts'
import type { UpstreamTraits } from '../protocols/dialect/traits.ts'
import type { VendorRefusals } from './shared/refusals.ts'
import type { ReadBalance } from './shared/balance.ts'
import type { ModelList } from './shared/model-list.ts'

/**
 * Everything that Gatehouse knows of one vendor. A file in this folder that exports a constant of
 * `openaiVendor({…})` or `nativeVendor({…})` declares one; the constant's name is its name in
 * `ChannelTypeNumber`. `npm run vendors` writes what is derived from the declarations: `list.ts`,
 * the contract's table of channel types, and `docs/manual/en/providers/`.
 *
 * The members of `ChannelTypeInput` are number, names, colour, address, key and form fields. They
 * are copied into the contract, because the console needs them and must not load server code: write
 * them as data.
 */
export interface Vendor extends Omit<ChannelTypeInput, 'balance'> {
  /** Place in the console's list of types, lowest first; absent: behind those that have one. */
  readonly listPosition?: number

  /**
   * How its upstream is called: address, headers, request edits, streams. A function chooses by
   * model and task. Null if calls of this type are not relayed, or not by the usual path.
   */
  readonly provider:
    | Provider
    | ((model: string, task: Task, capabilities: Capabilities) => Provider)
    | null
  /** Differences that the converters of its dialect must know; absent: none. */
  readonly traits?: UpstreamTraits
  /** What its errors mean where the HTTP status does not say it; absent: what it means for all. */
  readonly refusals?: VendorRefusals

  /** How to ask for the account's balance, and what the number counts; absent: it cannot be asked. */
  readonly balance?: VendorBalance
  /** How to ask for the models that a key may use; absent: it cannot be asked. */
  readonly modelList?: ModelList

  /**
   * The models that the form of a new channel offers, current ones first. Empty if only the
   * operator knows them; absent if channels of this type have none.
   */
  readonly models?: readonly string[]
  /** Names without a place in `models` that operators still map to others. */
  readonly formerModels?: readonly string[]
  /** `owned_by` of its models in the answer of `GET /v1/models`; absent: they are another vendor's. */
  readonly owner?: string
  /**
   * A model that several vendors list belongs to the owner with the lowest rank. Makers of models
   * have ranks below 100, hosts of other makers' models from 100 on. Absent: 99.
   */
  readonly ownerRank?: number
  /** Its names in lists of published prices; absent: no prices are taken from it. */
  readonly priceLists?: PriceListNames

  /** Text for the vendor's page in `docs/manual/en/providers/`. */
  readonly docs?: Partial<VendorDocs>
}

/** How to ask for an account's balance. */
export interface VendorBalance {
  readonly unit: BalanceUnit
  readonly read: ReadBalance
  /** An empty balance never disables a channel, because some upstreams of this type answer 0. */
  readonly neverDisables?: true
}

/** What lists of published prices call a vendor. */
export interface PriceListNames {
  /**
   * A model that several sellers list in models.dev has the price of the seller with the lowest
   * rank. Makers of models have ranks up to 150, hosts of other makers' models higher ones.
   */
  readonly rank: number
  /** Ids of models.dev, the one with preferred prices first. */
  readonly modelsDev?: readonly string[]
  /** `litellm_provider` of LiteLLM's list. */
  readonly liteLlm?: string
}

/** What a vendor's page says that its declaration does not show. In English, as all documents. */
export interface VendorDocs {
  /** Titles of the vendor's documentation that the code follows. */
  readonly source: string
  /** How far chat supports each of these. */
  readonly chat: Readonly<Record<'pictures' | 'tools' | 'json' | 'thinking' | 'usage', string>>
  /** Facts for operators, one sentence or two each. */
  readonly notes: readonly string[]
}

/** What most vendors of OpenAI's dialect support. */
export const OPENAI_CHAT: VendorDocs['chat'] = {
  pictures: 'as data or by address, where the model sees',
  tools: 'yes',
  json: 'as the model offers it',
  thinking: '`reasoning_effort` in, `reasoning_content` out',
  usage: 'asked for in streams; counted here when it does not come',
}

/** Declares a vendor with a protocol of its own. */
export const nativeVendor = (declaration: Vendor): Vendor => declaration

const RANK_WHEN_UNSET = 99

/** Vendors by `ownerRank`, the lowest first. */
export const byOwnerRank = (vendors: readonly Vendor[]): readonly Vendor[] =>
  vendors.toSorted((a, b) => rankOf(a) - rankOf(b))

const rankOf = ({ ownerRank = RANK_WHEN_UNSET }: Vendor): number => ownerRank

/** Names that stand in a text, separated by white space. */
export const names = (text: string): readonly string[] => text.trim().split(/\s+/)
