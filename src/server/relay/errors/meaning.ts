import { arrayOr, recordOr, type JsonRecord } from '../json/json-value.ts'
import { vendors } from '../vendors/list.ts'
import { vendorOf } from '../vendors/registry.ts'
import type { Meaning, SaidRefusal, VendorRefusals } from '../vendors/shared/refusals.ts'
import { tooLongIn } from '../vendors/shared/too-long.ts'

/**
 * Corrects the status of upstream errors whose status does not match their meaning. The channel's
 * vendor decides first (`refusals` of its declaration); the rest applies to every upstream.
 */

/** The channel's type and base URL. */
export interface RefusedChannel {
  type: number
  baseUrl: string
}

export function meantBy(channel: RefusedChannel, said: SaidRefusal): Meaning | null {
  const meant = refusalsOf(channel)?.meaning(said) ?? meantByAll(said)
  if (meant !== null) return meant
  const tooLong = tooLongIn(said)
  if (tooLong !== null) return { status: said.status === 413 ? 413 : 400, tooLong }
  const { code, type } = said
  return BLAMED.has(code) || BLAMED.has(type) || FILTERED.test(code) ? { status: 400 } : null
}

/**
 * Returns the meaning of a refusal that is the same for every upstream; null if the status is
 * right.
 */
function meantByAll({ status, code, type, message }: SaidRefusal): Meaning | null {
  const known = ACCOUNT_STATUSES.get(code) ?? ACCOUNT_STATUSES.get(type)
  if (known !== undefined && status !== 429) return { status: known, isOurs: true }
  if (status === GROQ_CAPACITY) return { status: 503 }
  const isClientError = status >= 400 && status < 500
  if (isClientError && (RATE_LIMITED.has(code) || RATE_LIMITED.has(type))) {
    // The request alone exceeds this account's tokens per minute: a smaller request is served.
    if (status === 413) return { status, isAboveAccountLimit: true }
    return status === 429 ? null : { status: 429 }
  }
  const begun = message.slice(0, BEGINNING_MAX)
  if (status === 400 && WRONG_KEY.test(begun)) return { status: 401 }
  const isUnpaid = UNPAID.some((sentence) => sentence.test(begun))
  if (isUnpaid && status !== 429) return { status: status === 402 ? 402 : 403, isOurs: true }
  if (NO_CHANNEL.test(begun)) return { status: 503, isOurs: true }
  if (status === 410 || (MAY_MEAN_MODEL.has(status) && isModelMissing(code, type, begun))) {
    return { status: 404, word: 'model_not_found' }
  }
  return null
}

/** Characters searched for known sentences; the text after them may quote the client's request. */
const BEGINNING_MAX = 200

/**
 * Codes and types of refused keys and accounts, with the status they stand for. A bill or key error
 * from a gateway of the One API family concerns that gateway's customer, who is the operator here:
 * another channel is asked, and this one is not disabled for it. Sources: OpenAI, "Error codes";
 * One API and New API, `relay/controller`; Alibaba, Baidu, StepFun, "Error codes".
 */
const ACCOUNT_STATUSES: ReadonlyMap<string, number> = new Map([
  ['billing_hard_limit_reached', 402],
  ['billing_not_active', 402],
  ['insufficient_balance', 402],
  ['insufficient_balance_error', 402],
  ['invalid_api_key', 401],
  ['incorrect_api_key', 401],
  ['account_deactivated', 401],
  ['access_terminated', 403],
  ['insufficient_user_quota', 403],
  ['pre_consume_token_quota_failed', 403],
  ['token_quota_insufficient', 403],
])

/**
 * Codes for too many requests or tokens, which some upstreams send with a status other than 429.
 */
const RATE_LIMITED: ReadonlySet<string> = new Set([
  'rate_limit_exceeded',
  'rate_limit_error',
  'rate_limited',
  'RequestLimitExceeded',
  'ThrottlingException',
  'TooManyRequestsException',
])

/** Status of "Flex Tier Capacity Exceeded". Source: Groq, "Error codes": 498. */
const GROQ_CAPACITY = 498

const WRONG_KEY = /^(?:Incorrect|Invalid) API key\b|^API key not valid\b/i

/** Messages of vendors and gateways about an account or token with an insufficient balance. */
const UNPAID: readonly RegExp[] = [
  /^(?:用户|账户|账号|您的账户|预扣费|令牌|该令牌|此令牌|余额|额度).{0,16}(?:不足|失败|用尽|欠费)/,
  /^(?:insufficient (?:account |user )?(?:balance|quota|credits?|funds)|your (?:credit |account )?balance is (?:too low|insufficient|not enough)|you have (?:insufficient|run out of) credits|billing hard limit)/i,
]

/** Messages of One API and its forks: their group has no channel for the model. */
const NO_CHANNEL =
  /^当前分组 ?.{0,80}?下?对于模型 ?.{0,100}?无可用渠道|^No available channel for model/

/** Statuses that vendors use for an unknown model. */
const MAY_MEAN_MODEL: ReadonlySet<number> = new Set([400, 403, 404, 422])

/**
 * Codes for an unknown model. Sources: Mistral and Perplexity (`invalid_model`), GitHub Models,
 * Together, Groq, Hugging Face, Alibaba, Novita, Tencent Hunyuan: their pages of error codes.
 */
const MODEL_CODES: ReadonlySet<string> = new Set([
  'invalid_model',
  'unknown_model',
  'unavailable_model',
  'model_not_found',
  'model_not_available',
  'model_not_supported',
  'model_decommissioned',
  'ModelNotFound',
  'MODEL_NOT_FOUND',
  'InvalidParameterValue.Model',
])

/**
 * Beginnings of messages about an unknown model. In this order: DeepSeek and Alibaba, SiliconFlow,
 * OpenRouter (two), LiteLLM, MiniMax, GitHub, Mistral and Perplexity, OpenAI, vLLM and Groq and
 * Hugging Face, Voyage, Zhipu and others.
 */
const MODEL_SENTENCES: readonly RegExp[] = [
  /^Model Not Exist\b/i,
  /^Model does not exist\b/i,
  /^\S{1,150} is not a valid model ID\b/,
  /^No endpoints found\b/,
  /^.{0,80}Invalid model name passed in model=/,
  /^invalid params, unknown model\b/i,
  /^unknown model\b/i,
  /^Invalid model(?: ID\b|: | ['"`])/i,
  /^The (?:requested )?model [\s'"`]?\S{1,120} (?:does not exist|has been (?:decommissioned|deprecated|retired)|is not (?:available|found)|is not supported by any provider)/i,
  /^Model \S{1,120} (?:is not supported\. Supported models|not found|does not exist|is not available)/i,
  /^(?:该|此|未知|无效的?)?模型.{0,60}(?:不存在|未找到|已下线)|^(?:未知|无效的?)模型/,
]

const isModelMissing = (code: string, type: string, begun: string): boolean =>
  MODEL_CODES.has(code) ||
  MODEL_CODES.has(type) ||
  MODEL_SENTENCES.some((sentence) => sentence.test(begun)) ||
  // Zhipu's error code, which is unambiguous only together with this message.
  (code === '1211' && /模型|model/i.test(begun))

/** DeepL's HTTP status for an exhausted character quota. */
const DEEPL_SPENT = 456

/**
 * Returns the corrected status. Gemini returns 400 for an invalid key or an account that may not be
 * used from this region, which is not the client's fault and may succeed on another channel. It
 * names the reason in `ErrorInfo`, not only in the message. Source: Google's API design guide,
 * "ErrorInfo".
 */
export function truerStatus(status: number, error: JsonRecord | null): number {
  if (status === DEEPL_SPENT) return 402
  if (status !== 400 || error === null) return status
  const reasons = arrayOr(error['details']).map((detail) => recordOr(detail)['reason'])
  if (reasons.includes('API_KEY_INVALID')) return 401
  return error['status'] === 'FAILED_PRECONDITION' ? 403 : status
}

/**
 * Codes of content filters and failed requests, which mean the same from every upstream. Sources:
 * Alibaba Cloud Model Studio, "Error messages"; Azure OpenAI, "Content filtering", and Moonshot;
 * OpenAI, "Images"; Groq, "Error Codes". Billing codes are not included: a reseller's billing error
 * concerns the reseller's own account.
 */
const BLAMED: ReadonlySet<string> = new Set([
  'data_inspection_failed',
  'DataInspectionFailed',
  'content_filter',
  'content_policy_violation',
  'moderation_blocked',
  'tool_use_failed',
])

/** Volcano Ark's codes for filtered texts and images, in requests and responses. */
const FILTERED = /(?:SensitiveContentDetected|RiskDetection)\b/

const withHosts: readonly VendorRefusals[] = vendors.flatMap(({ refusals }) =>
  refusals?.hosts === undefined ? [] : [refusals],
)

/**
 * Returns the vendor's refusals. Many vendors are reached by a channel of OpenAI's type or a
 * compatible one, so the host decides.
 */
function refusalsOf({ type, baseUrl }: RefusedChannel): VendorRefusals | undefined {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  return withHosts.find(({ hosts }) => hosts?.test(host)) ?? vendorOf(type).refusals
}
