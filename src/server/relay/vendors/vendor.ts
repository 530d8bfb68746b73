import type { BalanceUnit, ChannelTypeInput, Words } from '../../../contract/channel-type-row.ts'
import type { Capabilities } from '../../model/capabilities.ts'
import type { Provider, Task } from '../protocols/dialect/provider.ts'
import type { UpstreamTraits } from '../protocols/dialect/traits.ts'
import type { VendorRefusals } from './shared/refusals.ts'
import type { ReadBalance } from './shared/balance.ts'
import type { ModelList } from './shared/model-list.ts'

/**
 * Declaration of one vendor. A file in this folder that exports a constant of `openaiVendor({…})`
 * or `nativeVendor({…})` declares a vendor; the constant's name is its name in `ChannelTypeNumber`.
 * `npm run vendors` writes the files that are derived from the declarations: `list.ts`, the
 * contract's table of channel types, and the pages of channel types in the manual.
 *
 * The members of `ChannelTypeInput` are number, names, colour, URL, key and form fields. They are
 * copied into the contract, because the console needs them and must not load server code: write
 * them as data.
 */
export interface Vendor extends Omit<ChannelTypeInput, 'balance'> {
  /** Position in the console's list of types, lowest first; types without a position come last. */
  readonly listPosition?: number

  /**
   * How the upstream is called: URL, headers, request edits, streams. A function chooses by model
   * and task. Null if calls of this type are not relayed, or not by the usual path.
   */
  readonly provider:
    | Provider
    | ((model: string, task: Task, capabilities: Capabilities) => Provider)
    | null
  /** Differences that the converters of its dialect must handle; absent for no differences. */
  readonly traits?: UpstreamTraits
  /**
   * Meanings of its errors that the HTTP status does not express; absent if the common rules apply.
   */
  readonly refusals?: VendorRefusals

  /** How to read the account's balance, and its unit; absent if the vendor has no such endpoint. */
  readonly balance?: VendorBalance
  /** How to list the models that a key may use; absent if the vendor has no such endpoint. */
  readonly modelList?: ModelList

  /**
   * Models that the form of a new channel offers, current ones first. Empty if they depend on
   * the operator's account; absent if channels of this type have no models.
   */
  readonly models?: readonly string[]
  /** Names that are not in `models` but that operators still map to other models. */
  readonly formerModels?: readonly string[]
  /**
   * `owned_by` of its models in the response of `GET /v1/models`; absent if another vendor owns
   * them.
   */
  readonly owner?: string
  /**
   * A model that several vendors list belongs to the owner with the lowest rank. Makers of models
   * have ranks below 100, hosts of other makers' models from 100 on. Absent: 99.
   */
  readonly ownerRank?: number
  /** Its names in lists of published prices; absent if no prices are imported from it. */
  readonly priceLists?: PriceListNames

  /** Text for the page of its channel type in the manual. */
  readonly docs?: Partial<VendorDocs>
}

/** How to read an account's balance. */
export interface VendorBalance {
  readonly unit: BalanceUnit
  readonly read: ReadBalance
  /** An empty balance never disables a channel, because some upstreams of this type answer 0. */
  readonly neverDisables?: true
}

/** Names of a vendor in lists of published prices. */
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

/** Text of a vendor's page in the manual that does not follow from its declaration. */
export interface VendorDocs {
  /** Titles of the vendor's documentation that the code follows; not translated. */
  readonly source: string
  /** Support of each feature in chat. */
  readonly chat: Readonly<Record<'images' | 'tools' | 'json' | 'reasoning' | 'usage', Words>>
  /** Facts for operators, one to three sentences each. */
  readonly notes: readonly Words[]
}

export const YES: Words = { en: 'yes', zh: '支持' }
export const NO: Words = { en: 'no', zh: '不支持' }

/** Features that most vendors with OpenAI's dialect support. */
export const OPENAI_CHAT: VendorDocs['chat'] = {
  images: {
    en: 'as data or by URL, for models with vision',
    zh: '以数据或网址发送，限有视觉能力的模型',
  },
  tools: YES,
  json: { en: 'depends on the model', zh: '取决于模型' },
  reasoning: {
    en: '`reasoning_effort` in the request, `reasoning_content` in the response',
    zh: '请求里的 `reasoning_effort`，响应里的 `reasoning_content`',
  },
  usage: {
    en: 'requested in streams; counted by Gatehouse if missing',
    zh: '在流中请求；没有给出时由网关计数',
  },
}

/** Declares a vendor with its own protocol. */
export const nativeVendor = (declaration: Vendor): Vendor => declaration

const RANK_WHEN_UNSET = 99

/** Vendors by `ownerRank`, lowest first. */
export const byOwnerRank = (vendors: readonly Vendor[]): readonly Vendor[] =>
  vendors.toSorted((a, b) => rankOf(a) - rankOf(b))

const rankOf = ({ ownerRank = RANK_WHEN_UNSET }: Vendor): number => ownerRank

/** Splits a text with names that are separated by whitespace. */
export const names = (text: string): readonly string[] => text.trim().split(/\s+/)
