import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import type { TooLong } from '../dialect/relay-error.ts'
import { arrayOr, recordOr, type JsonRecord } from '../json/json-value.ts'
import { TOO_LONG, tooLongIn } from './too-long.ts'

/**
 * What vendors mean by refusals whose status says something else, by their codes where they have
 * any. Where only words tell it, these are a vendor's own sentence from its beginning: behind that
 * it may repeat what somebody asked. Unpaid bills are 402, wrong keys and closed accounts 401, a
 * missing model 404, and what the request itself is blamed for 400.
 */

export interface SaidRefusal {
  status: number
  code: string
  type: string
  message: string
}

/** Where the channel's calls go. */
export interface RefusedChannel {
  type: number
  baseUrl: string
}

export interface Meaning {
  status: number
  /** In place of the vendor's code and type, which would be understood as something else. */
  word?: string
  /** The request is longer than the model's context. */
  tooLong?: TooLong
}

export function meantBy(channel: RefusedChannel, said: SaidRefusal): Meaning | null {
  const vendor = vendorOf(channel)
  const ofVendor = vendor === null ? null : (VENDORS[vendor](said) ?? null)
  if (ofVendor !== null) return ofVendor
  const tooLong = tooLongIn(said)
  if (tooLong !== null) return { status: said.status === 413 ? 413 : 400, tooLong }
  const { code, type } = said
  return BLAMED.has(code) || BLAMED.has(type) || FILTERED.test(code) ? { status: 400 } : null
}

/** DeepL's own number for an account whose characters are spent. */
const DEEPL_SPENT = 456

/**
 * Gemini answers 400 where the key is wrong, or the account may not be used from here, which is not
 * the client's fault and may go better elsewhere. It says so by a name, not only in words. Source:
 * Google's API design guide, "ErrorInfo".
 */
export function truerStatus(status: number, error: JsonRecord | null): number {
  if (status === DEEPL_SPENT) return 402
  if (status !== 400 || error === null) return status
  const reasons = arrayOr(error['details']).map((detail) => recordOr(detail)['reason'])
  if (reasons.includes('API_KEY_INVALID')) return 401
  return error['status'] === 'FAILED_PRECONDITION' ? 403 : status
}

/**
 * Filters and failed calls, which mean the same whoever passes them on. Sources: Alibaba Cloud
 * Model Studio, "Error messages"; Azure OpenAI, "Content filtering", and Moonshot; OpenAI,
 * "Images"; Groq, "Error Codes". Bills are not among them: those that a reseller passes on are its
 * own.
 */
const BLAMED: ReadonlySet<string> = new Set([
  'data_inspection_failed',
  'DataInspectionFailed',
  'content_filter',
  'content_policy_violation',
  'moderation_blocked',
  'tool_use_failed',
])

/** Volcano Ark's names of texts and pictures that its filter found, in questions and answers. */
const FILTERED = /(?:SensitiveContentDetected|RiskDetection)\b/

type Vendor =
  | 'alibaba'
  | 'anthropic'
  | 'ark'
  | 'azure'
  | 'bedrock'
  | 'deepl'
  | 'moonshot'
  | 'novita'
  | 'openrouter'
  | 'siliconflow'
  | 'together'
  | 'xai'
  | 'zhipu'

const OF_TYPE: ReadonlyMap<number, Vendor> = new Map([
  [ChannelTypeNumber.azure, 'azure'],
  [ChannelTypeNumber.anthropic, 'anthropic'],
  [ChannelTypeNumber.zhipu, 'zhipu'],
  [ChannelTypeNumber.dashscope, 'alibaba'],
  [ChannelTypeNumber.openrouter, 'openrouter'],
  [ChannelTypeNumber.moonshot, 'moonshot'],
  [ChannelTypeNumber.bedrock, 'bedrock'],
  [ChannelTypeNumber.deepl, 'deepl'],
  [ChannelTypeNumber.together, 'together'],
  [ChannelTypeNumber.volcengineArk, 'ark'],
  [ChannelTypeNumber.novita, 'novita'],
  [ChannelTypeNumber.siliconflow, 'siliconflow'],
  [ChannelTypeNumber.xai, 'xai'],
  [ChannelTypeNumber.bailian, 'alibaba'],
  [ChannelTypeNumber.anthropicCompatible, 'anthropic'],
])

/** Vendors that are often reached by a channel of OpenAI's type or a compatible one. */
const OF_HOST: readonly [host: RegExp, vendor: Vendor][] = [
  [/(?:^|\.)aliyuncs\.com$/, 'alibaba'],
  [/(?:^|\.)(?:bigmodel\.cn|z\.ai)$/, 'zhipu'],
  [/(?:^|\.)moonshot\.(?:cn|ai)$/, 'moonshot'],
  [/(?:^|\.)(?:volces|bytepluses)\.com$/, 'ark'],
  [/(?:^|\.)siliconflow\.(?:cn|com)$/, 'siliconflow'],
  [/(?:^|\.)x\.ai$/, 'xai'],
  [/(?:^|\.)openrouter\.ai$/, 'openrouter'],
  [/(?:^|\.)azure\.com$/, 'azure'],
  [/(?:^|\.)together\.(?:xyz|ai)$/, 'together'],
]

function vendorOf({ type, baseUrl }: RefusedChannel): Vendor | null {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  const named = OF_HOST.find(([pattern]) => pattern.test(host))
  return named?.[1] ?? OF_TYPE.get(type) ?? null
}

type Understand = (said: SaidRefusal) => Meaning | undefined

function byCode(statuses: Readonly<Record<string, number>>): Understand {
  // Names that every object has are no codes.
  const known = new Map(Object.entries(statuses))
  return ({ code }) => {
    const status = known.get(code)
    return status === undefined ? undefined : { status }
  }
}

const VENDORS: Readonly<Record<Vendor, Understand>> = {
  // Overdue payments come with 400; tokens of a minute that are spent come with 429 in OpenAI's
  // words for an account that is. Source: Model Studio, "Error messages".
  alibaba: ({ code, type }) => {
    if (code === 'Arrearage') return { status: 402 }
    const isThrottled = code === 'insufficient_quota' || type === 'insufficient_quota'
    return isThrottled ? { status: 429, word: 'rate_limit_exceeded' } : undefined
  },

  // Both come with 400. Source: Anthropic's help center, on credits and on disabled organizations.
  anthropic: ({ message }) => {
    if (message.startsWith('Your credit balance is too low to access the ')) return { status: 402 }
    return message.startsWith('This organization has been disabled') ? { status: 401 } : undefined
  },

  // Source: Volcano Ark, "Error codes": an overdue balance is one of its 403.
  ark: byCode({ AccountOverdueError: 402 }),

  // A model that is not there: its models are deployments, and its sentence names nothing else.
  // Source: Azure OpenAI, "Troubleshooting".
  azure: ({ code }) =>
    code === 'DeploymentNotFound' ? { status: 404, word: 'model_not_found' } : undefined,

  // The code is the name in its header. Source: Amazon Bedrock, "Common errors" and
  // "Troubleshooting".
  bedrock: ({ code, message }) => {
    if (/^(?:UnrecognizedClient|InvalidSignature|ExpiredToken)Exception$/.test(code)) {
      return { status: 401 }
    }
    return /^(?:The provided model identifier is invalid|Invocation of model ID \S+ with on-demand)/.test(
      message,
    )
      ? { status: 404 }
      : undefined
  },

  // Source: DeepL's API reference, "Error handling": 403 is a key that is not valid.
  deepl: ({ status }) => (status === 403 ? { status: 401 } : undefined),

  // A suspended account comes with 429. Source: Kimi's forum, "API Billing behaviour".
  moonshot: ({ type }) => (type === 'exceeded_current_quota_error' ? { status: 402 } : undefined),

  // Source: Novita's API reference, "Error codes".
  novita: byCode({ NOT_ENOUGH_BALANCE: 402 }),

  // What is left pays for smaller requests: an account that has nothing is told another sentence.
  openrouter: ({ status, message }) =>
    status === 402 && message.startsWith('This request requires more credits, or fewer max_tokens')
      ? { status: 403 }
      : undefined,

  // Source: SiliconFlow's documentation, "Error handling".
  siliconflow: byCode({ 20012: 404, 30001: 402 }),

  // Source: Together's documentation, "Error codes": its 403 is a prompt that is too long.
  together: (said) =>
    said.status === 403 && /\bmax_(?:new_)?tokens\b|\bcontext length\b/.test(said.message)
      ? { status: 400, tooLong: tooLongIn(said) ?? TOO_LONG }
      : undefined,

  // A wrong key comes with 400, filtered content and spent credits with 403 (429 too). Source:
  // docs.x.ai, "Debugging Errors", and its own sentences.
  xai: ({ message }) => {
    if (message.startsWith('Incorrect API key provided')) return { status: 401 }
    if (message.startsWith('Content violates usage guidelines')) return { status: 400 }
    return XAI_SPENT.test(message) ? { status: 402 } : undefined
  },

  // Source: docs.z.ai, "Errors". 429 is also its status for accounts.
  zhipu: (said) => (said.code === '1261' ? { status: 400, tooLong: TOO_LONG } : zhipuStatus(said)),
}

const zhipuStatus = byCode({
  1110: 401,
  1111: 401,
  1112: 401,
  1113: 402,
  1121: 401,
  1211: 404,
  1301: 400,
  1309: 402,
})

const XAI_SPENT =
  /^Your (?:newly created )?teams? (?:[\w-]{1,64} )?(?:has either used all available credits|doesn't have any credits)/
