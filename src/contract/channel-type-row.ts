/**
 * The part of a vendor's declaration that the console needs as well: its row in the table of
 * channel types. Vendors declare it in `src/server/relay/vendors/`; `npm run vendors` copies it
 * into channel-type-rows.ts. `row` fills in the defaults.
 */

/** A sentence or name in the two languages of the console. */
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

/** Members of the `config` JSON text that a form field fills. */
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
  /** Where the value is stored: this member of `config`. */
  readonly config: ConfigMember
  /**
   * Also stored in the `other` column, which older servers read for this type. On reading,
   * `config` wins and `other` fills in when it is missing.
   */
  readonly alsoOther: boolean
  readonly label: Words
  readonly placeholder: string
  /** Stored when the form is submitted with the field empty; `''` stores nothing. */
  readonly default: string
  readonly required: boolean
  /** Never sent back to a browser; an empty value in an update means unchanged. */
  readonly secret: boolean
  readonly multiline: boolean
  /** Identifies the operator's account at the upstream: hidden where upstream texts are shown. */
  readonly isAccount?: true
  /** The values it may have; absent: any text. */
  readonly choices?: readonly FieldChoice[]
  /** What a stored channel that has no value does; absent: what the default says. */
  readonly whenAbsent?: string
}

export interface FieldChoice {
  readonly value: string
  readonly label: Words
}

export interface ChannelTypeKey {
  readonly placeholder: Words
  /** What the stored key consists of, in order; one part is the ordinary opaque secret. */
  readonly parts: readonly string[]
  /** Joins the parts, `''` for one part. */
  readonly separator: string
  /** The last part may itself contain the separator. */
  readonly isOpenEnded: boolean
  /** Config members the key is composed of, instead of being typed; empty for all but 33 and 42. */
  readonly composedOf: readonly ConfigMember[]
  /** A first part like this needs no second one, which is then left out; absent: all need it. */
  readonly standsAlone?: RegExp
  /** The parts go to the upstream as one secret: nothing may split them. */
  readonly sentWhole: boolean
  /** An application id may follow the secret behind this text; it is not part of the bearer. */
  readonly appIdSeparator?: string
}

export interface ChannelTypeBaseUrl {
  /** `required`: there is no default. `hidden`: the type has no address to choose. */
  readonly mode: 'optional' | 'required' | 'hidden'
  readonly label: Words
  readonly placeholder: string
}

/** Form fields a type may do without. */
export type HiddenField = 'key' | 'batch' | 'models' | 'model_mapping' | 'system_prompt'

export interface ChannelType {
  /** The number in the channel's `type` column. */
  readonly type: number
  readonly label: Words
  readonly color: BadgeColor
  /** Used when a channel's `base_url` is empty; `''` when the type has none. No trailing slash. */
  readonly baseUrl: string
  /** `openai`, or the name of the vendor's own protocol. */
  readonly protocol: string
  /**
   * The provider of models.dev whose models it serves, or a name of ours if models.dev does not
   * list it. Capabilities of models are looked up by it; absent: the vendor is unknown.
   */
  readonly modelVendor?: string
  /** What stands for the leading `/v1` of a request path at this upstream (OpenAI protocol). */
  readonly pathPrefix: string
  /** Request paths that are elsewhere altogether at this upstream, below its address. */
  readonly paths: Readonly<Record<string, string>>
  /**
   * Matches an address of one part of the API, as vendors' pages give it. Its first group is the
   * address that all parts have in common.
   */
  readonly partAddress?: RegExp
  /** Matches an address that replaces `/v1` although it does not end in a version. */
  readonly wholeAddress?: RegExp
  /** The default address for keys that match. */
  readonly baseUrlForKeys?: { readonly keys: RegExp; readonly baseUrl: string }
  /** The path prefix for models that match, in place of `pathPrefix`. */
  readonly prefixForModels?: { readonly models: RegExp; readonly pathPrefix: string }
  /** For models that match, paths below `/v1` that begin with `from` begin with `to`. */
  readonly pathForModels?: { readonly models: RegExp; readonly from: string; readonly to: string }
  readonly key: ChannelTypeKey
  readonly baseUrlField: ChannelTypeBaseUrl
  readonly fields: readonly ChannelTypeField[]
  readonly hiddenFields: readonly HiddenField[]
  /** Whether a channel must list at least one model. */
  readonly needsModels: boolean
  /** `null` when the upstream cannot be asked for its balance. */
  readonly balance: BalanceUnit | null
  /** What the form says to somebody who picks this type. */
  readonly notice: Words | null
  /** Offered apart: its service may be gone, new channels should not use it. */
  readonly legacy: boolean
  /** Its service has ended for good: what exists can be looked at and deleted, no more. */
  readonly retired: boolean
}

/** A row as written: number, name, colour, and whatever differs from the ordinary case. */
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

/** A key of several parts that the adapter takes apart again. */
export const keyOf = (separator: string, ...parts: string[]): Partial<ChannelTypeKey> => ({
  placeholder: { zh: `格式：${parts.join(separator)}`, en: `Format: ${parts.join(separator)}` },
  parts,
  separator,
})

/** A key that is not typed but joined from form fields, in this order. */
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

/** How a type we have no row for is shown and called: grey, as OpenAI at the address it names. */
export const unknownRow: ChannelType = row({
  type: 0,
  label: { zh: '未知', en: 'Unknown' },
  color: 'grey',
  baseUrlField: { mode: 'required' },
})
