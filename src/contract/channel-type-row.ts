/**
 * The part of a vendor's declaration that the console needs too: its row in the table of channel
 * types. Vendors declare it in `src/server/relay/vendors/`; `npm run vendors` copies it into
 * channel-type-rows.ts. `row` fills in the defaults.
 */

/** A text in the two languages of the console. */
export interface Words {
  readonly zh: string
  readonly en: string
}

/** Badge colour by name; the console maps names to shades with enough contrast. */
export type BadgeColor =
  | 'red'
  | 'orange'
  | 'yellow'
  | 'olive'
  | 'green'
  | 'teal'
  | 'blue'
  | 'violet'
  | 'purple'
  | 'pink'
  | 'brown'
  | 'grey'
  | 'black'

/**
 * What the number in a channel's `balance` counts: dollars, yuan, ten-thousandths of a yuan, or
 * points shown through the quota format.
 */
export type BalanceUnit = 'usd' | 'cny' | 'cny_per_10000' | 'quota'

/** Members of the channel's `config` JSON that a form field fills. */
export type ConfigMember =
  | 'api_version'
  | 'deployment_dots'
  | 'plugin'
  | 'library_id'
  | 'user_id'
  | 'region'
  | 'ak'
  | 'sk'
  | 'vertex_ai_project_id'
  | 'vertex_ai_adc'

export interface ChannelTypeField {
  /** The member of `config` that stores the value. */
  readonly config: ConfigMember
  /**
   * Also stored in the `other` column, which older servers read for this type. On reading,
   * `config` wins and `other` fills in when it is missing.
   */
  readonly alsoOther: boolean
  readonly label: Words
  readonly placeholder: string
  /** Stored if the form is submitted with an empty field; `''` stores nothing. */
  readonly default: string
  readonly required: boolean
  /** Never returned to a browser; an empty value in an update means unchanged. */
  readonly secret: boolean
  readonly multiline: boolean
  /**
   * Identifies the operator's account at the upstream: removed from upstream texts that are shown.
   */
  readonly isAccount?: true
  /** Allowed values; any text if not set. */
  readonly choices?: readonly FieldChoice[]
  /** Value that applies to a stored channel without one; the default if not set. */
  readonly whenAbsent?: string
}

export interface FieldChoice {
  readonly value: string
  readonly label: Words
}

export interface ChannelTypeKey {
  readonly placeholder: Words
  /** Parts of the stored key, in order; a single part is an ordinary opaque secret. */
  readonly parts: readonly string[]
  /** Joins the parts; `''` for a single part. */
  readonly separator: string
  /** The last part may itself contain the separator. */
  readonly isOpenEnded: boolean
  /**
   * Config members that compose the key, which then is not entered itself; empty except for types
   * 33 and 42.
   */
  readonly composedOf: readonly ConfigMember[]
  /**
   * A first part that matches is a complete key, without a second part. If not set, every key needs
   * all parts.
   */
  readonly standsAlone?: RegExp
  /** The parts are sent to the upstream as one secret and must not be split. */
  readonly sentWhole: boolean
  /** Separates the secret from an application id, which is not part of the bearer token. */
  readonly appIdSeparator?: string
}

export interface ChannelTypeBaseUrl {
  /** `required`: the type has no default address. `hidden`: the address cannot be set. */
  readonly mode: 'optional' | 'required' | 'hidden'
  readonly label: Words
  readonly placeholder: string
}

/** Form fields that a type may omit. */
export type HiddenField = 'key' | 'batch' | 'models' | 'model_mapping' | 'system_prompt'

export interface ChannelType {
  /** The number in the channel's `type` column. */
  readonly type: number
  readonly label: Words
  readonly color: BadgeColor
  /**
   * Used if a channel's `base_url` is empty; `''` if the type has no default. No trailing slash.
   */
  readonly baseUrl: string
  /** `openai`, or the name of the vendor's own protocol. */
  readonly protocol: string
  /**
   * Provider in models.dev whose models this vendor serves, or a name of our own if models.dev does
   * not list it. Selects the capabilities of models; not set if the vendor is unknown.
   */
  readonly modelVendor?: string
  /** Replaces the leading `/v1` of a request path at this upstream (OpenAI protocol). */
  readonly pathPrefix: string
  /** Request paths that have a different path at this upstream, relative to its address. */
  readonly paths: Readonly<Record<string, string>>
  /**
   * Matches an address of one part of the API, as vendors document it. Its first group is the base
   * address of all parts.
   */
  readonly partAddress?: RegExp
  /** Matches an address that replaces `/v1` although it does not end in a version. */
  readonly wholeAddress?: RegExp
  /** Default address for keys that match. */
  readonly baseUrlForKeys?: { readonly keys: RegExp; readonly baseUrl: string }
  /** Path prefix for models that match, instead of `pathPrefix`. */
  readonly prefixForModels?: { readonly models: RegExp; readonly pathPrefix: string }
  /** For models that match, replaces the prefix `from` of paths below `/v1` with `to`. */
  readonly pathForModels?: { readonly models: RegExp; readonly from: string; readonly to: string }
  readonly key: ChannelTypeKey
  readonly baseUrlField: ChannelTypeBaseUrl
  readonly fields: readonly ChannelTypeField[]
  readonly hiddenFields: readonly HiddenField[]
  /** Whether a channel must list at least one model. */
  readonly needsModels: boolean
  /** `null` if the upstream has no balance API. */
  readonly balance: BalanceUnit | null
  /** Notice that the form shows for this type. */
  readonly notice: Words | null
  /** Listed separately: the service may have ended, and new channels should not use it. */
  readonly legacy: boolean
  /** The service has ended: existing channels can only be viewed and deleted. */
  readonly retired: boolean
}

/** A row as written: number, label, colour, and what differs from the defaults. */
export interface ChannelTypeInput extends Partial<
  Omit<ChannelType, 'type' | 'label' | 'color' | 'key' | 'baseUrlField'>
> {
  readonly type: number
  readonly label: string | Words
  readonly color: BadgeColor
  readonly key?: Partial<ChannelTypeKey>
  readonly baseUrlField?: Partial<ChannelTypeBaseUrl>
}

export const words = (text: string | Words): Words =>
  typeof text === 'string' ? { zh: text, en: text } : text

const ordinaryKey: ChannelTypeKey = {
  placeholder: { zh: '上游发给您的密钥', en: 'Secret key from the upstream' },
  parts: ['key'],
  separator: '',
  isOpenEnded: false,
  composedOf: [],
  sentWhole: false,
}

export function row(input: ChannelTypeInput): ChannelType {
  const baseUrl = input.baseUrl ?? ''
  return {
    protocol: 'openai',
    pathPrefix: '/v1',
    paths: {},
    fields: [],
    hiddenFields: [],
    needsModels: true,
    balance: null,
    notice: null,
    legacy: false,
    retired: false,
    ...input,
    baseUrl,
    label: words(input.label),
    key: { ...ordinaryKey, ...input.key },
    baseUrlField: {
      mode: 'optional',
      label: { zh: '接口地址（Base URL）', en: 'Base URL' },
      placeholder: baseUrl || 'https://api.example.com',
      ...input.baseUrlField,
    },
  }
}

/** A key of several parts that the adapter splits. */
export const keyOf = (separator: string, ...parts: string[]): Partial<ChannelTypeKey> => ({
  placeholder: { zh: `格式：${parts.join(separator)}`, en: `Format: ${parts.join(separator)}` },
  parts,
  separator,
})

/** A key composed of form fields, in this order. */
export const composedKey = (...members: ConfigMember[]): Partial<ChannelTypeKey> => ({
  placeholder: { zh: '由以下各项组成', en: 'Made of the fields below' },
  parts: members,
  separator: '|',
  composedOf: members,
})

export function field(
  config: ConfigMember,
  label: string | Words,
  more: Partial<ChannelTypeField> = {},
): ChannelTypeField {
  return {
    config,
    alsoOther: false,
    placeholder: '',
    default: '',
    required: false,
    secret: false,
    multiline: false,
    ...more,
    label: words(label),
  }
}

/**
 * Row for channel types without a row of their own: shown in grey, and called with OpenAI's
 * protocol at the channel's address.
 */
export const unknownRow: ChannelType = row({
  type: 0,
  label: { zh: '未知', en: 'Unknown' },
  color: 'grey',
  baseUrlField: { mode: 'required' },
})
