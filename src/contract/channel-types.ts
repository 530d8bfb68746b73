/**
 * What both sides know of the channel types: how one is named and shown, what its form asks for,
 * and where a call by the OpenAI protocol goes. Its rows are in two files by protocol.
 */
import { ChannelTypeNumber } from './channel-type-number.ts'
import { nativeRows } from './channel-type-native-rows.ts'
import { openaiRows } from './channel-type-openai-rows.ts'
import { unknownRow } from './channel-type-row.ts'
import type { ChannelType, ConfigMember } from './channel-type-row.ts'
import { moneyText } from './quota.ts'

export type {
  BadgeColor,
  BalanceUnit,
  ChannelType,
  ChannelTypeField,
  ConfigMember,
  Protocol,
  Words,
} from './channel-type-row.ts'

/** The order of the form's list, the most used first. */
const listOrder = [
  ChannelTypeNumber.openai,
  ChannelTypeNumber.openaiCompatible,
  ChannelTypeNumber.anthropic,
  ChannelTypeNumber.anthropicCompatible,
  ChannelTypeNumber.bedrock,
  ChannelTypeNumber.azure,
  ChannelTypeNumber.palm,
  ChannelTypeNumber.gemini,
  ChannelTypeNumber.geminiOpenai,
  ChannelTypeNumber.mistral,
  ChannelTypeNumber.novita,
  ChannelTypeNumber.volcengineArk,
  ChannelTypeNumber.qianfan,
  ChannelTypeNumber.qianfanV2,
  ChannelTypeNumber.dashscope,
  ChannelTypeNumber.bailian,
  ChannelTypeNumber.spark,
  ChannelTypeNumber.sparkV2,
  ChannelTypeNumber.zhipu,
  ChannelTypeNumber.zhinao,
  ChannelTypeNumber.moonshot,
  ChannelTypeNumber.hunyuan,
  ChannelTypeNumber.baichuan,
  ChannelTypeNumber.minimax,
  ChannelTypeNumber.groq,
  ChannelTypeNumber.ollama,
  ChannelTypeNumber.lingyi,
  ChannelTypeNumber.stepfun,
  ChannelTypeNumber.coze,
  ChannelTypeNumber.cohere,
  ChannelTypeNumber.deepseek,
  ChannelTypeNumber.cloudflare,
  ChannelTypeNumber.deepl,
  ChannelTypeNumber.together,
  ChannelTypeNumber.vertex,
  ChannelTypeNumber.proxy,
  ChannelTypeNumber.siliconflow,
  ChannelTypeNumber.xai,
  ChannelTypeNumber.replicate,
  ChannelTypeNumber.custom,
  ChannelTypeNumber.fastGpt,
  ChannelTypeNumber.aiProxyLibrary,
  ChannelTypeNumber.openrouter,
  ChannelTypeNumber.api2d,
  ChannelTypeNumber.openaiSb,
  ChannelTypeNumber.ohMyGpt,
  ChannelTypeNumber.aiProxy,
  ChannelTypeNumber.closeAi,
  ChannelTypeNumber.openaiMax,
  ChannelTypeNumber.aiLs,
  ChannelTypeNumber.api2Gpt,
  ChannelTypeNumber.aigc2d,
]

const rowsByType: ReadonlyMap<number, ChannelType> = new Map(
  [...openaiRows, ...nativeRows].map((row) => [row.type, row]),
)

/**
 * The row of a type; never fails. A database may hold numbers that newer or other programs
 * wrote: they get the grey unknown row, with their own number.
 */
export function channelType(type: number): ChannelType {
  return rowsByType.get(type) ?? { ...unknownRow, type }
}

/** All known types in the order of the form's list, the most used first. */
export const channelTypesInListOrder: readonly ChannelType[] = listOrder.map(channelType)

/** The form's list in its two sections. */
export function channelTypeSections(): { current: ChannelType[]; legacy: ChannelType[] } {
  return {
    current: channelTypesInListOrder.filter((row) => !row.legacy),
    legacy: channelTypesInListOrder.filter((row) => row.legacy),
  }
}

/** Without white space around it and slashes at its end: as it is stored, and as it is used. */
export function trimBaseUrl(baseUrl: string): string {
  const trimmed = baseUrl.trim()
  let end = trimmed.length
  while (trimmed[end - 1] === '/') end -= 1
  return trimmed.slice(0, end)
}

/** DashScope's own calls and its compatible mode lie side by side. */
const DASHSCOPE_PART =
  /^(https?:\/\/[^/]+\.aliyuncs\.com|.+(?=\/compatible-mode$))\/(?:compatible-mode|api(?:\/v\d+)?)$/i

/**
 * Version `v1` and the deployments of the dated ones lie side by side. Anybody's own path may be
 * called `/openai`: by itself it is a part at Azure's hosts only.
 */
const AZURE_PART =
  /^(https?:\/\/[^/]+\.azure\.(?:com|us|cn)(?:\/.+)?|.+(?=\/openai\/))\/openai(?:\/v1|\/deployments(?:\/[^/]+)?)?$/i

/** What vendors' pages give as the address of one part of an API, up to where all of it begins. */
const PARTS: Readonly<Partial<Record<number, RegExp>>> = {
  [ChannelTypeNumber.azure]: AZURE_PART,
  [ChannelTypeNumber.dashscope]: DASHSCOPE_PART,
  [ChannelTypeNumber.bailian]: DASHSCOPE_PART,
  // Beside it is `/beta`, where texts are completed.
  [ChannelTypeNumber.deepseek]: /^(https?:\/\/api\.deepseek\.com)\/v1$/i,
  [ChannelTypeNumber.cloudflare]:
    /^(https?:\/\/.+)\/client\/v4(?:\/accounts\/[^/]+(?:\/ai(?:\/v1)?)?)?$/i,
}

/** An address as `trimBaseUrl` leaves it, without the path of a part of the type's API. */
export function rootUrl(type: number, base: string): string {
  const part = PARTS[type]
  return part === undefined ? base : base.replace(part, '$1')
}

/** Keys of DeepL's free plan end so, and are known at the type's own address only. */
const DEEPL_FREE_KEY = /:fx$/
const DEEPL_PAID_ADDRESS = 'https://api.deepl.com'

/** Where calls go for which the channel names no address; `''` where nobody knows. */
export function defaultBaseUrl(type: number, key: string): string {
  const isPaidDeepl = type === ChannelTypeNumber.deepl && !DEEPL_FREE_KEY.test(key.trim())
  return isPaidDeepl ? DEEPL_PAID_ADDRESS : channelType(type).baseUrl
}

/** Whether the path of this address ends in something like `/v1`, `/v3`, `/v1beta`. */
function namesVersion(base: string): boolean {
  const host = base.indexOf('://') + '://'.length
  const slash = base.lastIndexOf('/')
  return slash >= host && /^v\d[a-z0-9]*$/i.test(base.slice(slash + 1))
}

export const isCloudflareGateway = (base: string): boolean =>
  /^https?:\/\/gateway\.ai\.cloudflare\.com(?:[:/]|$)/i.test(base)

/** `/v1/chat/completions?x=1` → the part after `/v1` and the query; `null` without a `/v1`. */
function splitPath(path: string): { plain: string; rest: string | null; query: string } {
  const questionMark = path.indexOf('?')
  const plain = questionMark < 0 ? path : path.slice(0, questionMark)
  const query = questionMark < 0 ? '' : path.slice(questionMark)
  const rest = plain === '/v1' || plain.startsWith('/v1/') ? plain.slice('/v1'.length) : null
  return { plain, rest, query }
}

/**
 * Where a call by the OpenAI protocol goes, or `null` when the type speaks another protocol or no
 * address is known. `requestPath` is the client's, such as `/v1/chat/completions`, and may carry a
 * query, which is kept. `baseUrl` may be empty: then the type's own address is used. `model` is
 * the upstream's name for the model.
 *
 * An address that itself ends in a version takes the place of `/v1` whatever the type: people
 * paste what their SDK takes, and `/v1/v1/…` or `/api/v3/api/v3/…` exists nowhere.
 */
export function upstreamUrl(
  type: number,
  baseUrl: string,
  requestPath: string,
  model = '',
): string | null {
  const row = channelType(type)
  const base = rootUrl(type, trimBaseUrl(baseUrl)) || row.baseUrl
  if (row.protocol !== 'openai' || base === '') return null

  const { plain, rest, query } = splitPath(requestPath)
  if (rest === null) return base + plain + query

  // Ark serves its assistants beside its models, told apart by the name alone.
  const task =
    type === ChannelTypeNumber.volcengineArk && model.startsWith('bot')
      ? rest.replace(/^\/chat\//, '/bots$&')
      : rest
  // Cloudflare's gateway wants OpenAI's paths without their version.
  if (namesVersion(base) || (type === ChannelTypeNumber.openai && isCloudflareGateway(base)))
    return base + task + query
  if (WHOLE[type]?.test(base) === true) return base + task + query

  const elsewhere = Object.hasOwn(row.paths, plain) ? row.paths[plain] : undefined
  const isThinking = type === ChannelTypeNumber.sparkV2 && SPARK_THINKS.test(model)
  return base + (elsewhere ?? (isThinking ? '/v2' : row.pathPrefix) + task) + query
}

/** Addresses that are whole, though they do not end in a version as others write it. */
const WHOLE: Readonly<Partial<Record<number, RegExp>>> = {
  // In the middle. Source: Qianfan's manual, "Coding Plan", "Token Plan".
  [ChannelTypeNumber.qianfanV2]: /\/v2\/(?:coding|tokenplan\/\w+)$/i,
  // After the model: `/x2`, where X1.5, of the same name, is at `/v2`.
  [ChannelTypeNumber.sparkV2]: /\/x\d$/i,
}

/** Spark's models that think are a version further. */
const SPARK_THINKS = /^(?:x\d|spark-x)/i

/**
 * What of a key of OpenAI's protocol is sent as the bearer. Of Qianfan's (47), the id of an
 * application may follow behind a bar, which is sent in a header of its own; null: there is none.
 */
export function bearerOf(type: number, key: string): { secret: string; appId: string | null } {
  const bar = type === ChannelTypeNumber.qianfanV2 ? key.indexOf('|') : -1
  if (bar < 0) return { secret: key, appId: null }
  return { secret: key.slice(0, bar).trim(), appId: key.slice(bar + 1).trim() || null }
}

/**
 * The parts of a stored key, or `null` when their number is wrong or one is empty. Type 42 ends in
 * JSON, which may contain the separator.
 */
export function splitKey(type: number, key: string): string[] | null {
  const { parts, separator, isOpenEnded, sentWhole } = channelType(type).key
  const whole = key.trim()
  if (whole === '') return null
  if (parts.length === 1 || sentWhole) return [whole]

  const pieces = whole.split(separator)
  const count = isKeyAlone(type, whole) ? parts.length - 1 : parts.length
  const last = count - 1
  if (pieces.length > count && !isOpenEnded) return null
  const split = [...pieces.slice(0, last), pieces.slice(last).join(separator)].map((part) =>
    part.trim(),
  )
  return split.length === count && !split.includes('') ? split : null
}

/** Whether a key, or its first part, begins so that the second part is left out. */
const isKeyAlone = (type: number, start: string): boolean =>
  channelType(type).key.standsAlone?.test(start) === true

/** The field that the key of these leaves out, because its first part stands alone; null: none. */
export function sparedField(
  type: number,
  config: Readonly<Partial<Record<ConfigMember, string>>>,
): ConfigMember | null {
  const [first, second = null] = channelType(type).key.composedOf
  const start = first === undefined ? '' : (config[first]?.trim() ?? '')
  return isKeyAlone(type, start) ? second : null
}

/**
 * The key of a type whose key is composed from its fields (33, 42), or `''` when a field that it
 * needs is missing, which in an update means "unchanged". The word "undefined" counts as missing:
 * older consoles send it for a field left empty.
 */
export function composeKey(
  type: number,
  config: Readonly<Partial<Record<ConfigMember, string>>>,
): string {
  const { composedOf, separator } = channelType(type).key
  const spared = sparedField(type, config)
  const members = composedOf.filter((member) => member !== spared)
  const values = members.map((member) => config[member]?.trim() ?? '')
  const isComplete = values.every((value) => value !== '' && value !== 'undefined')
  return isComplete ? values.join(separator) : ''
}

/**
 * A channel's balance as the list shows it, or `null` when its upstream cannot be asked.
 * `formatQuota` shows points the way the console shows quota.
 */
export function balanceText(
  type: number,
  balance: number,
  formatQuota: (quota: number) => string,
): string | null {
  const unit = channelType(type).balance
  switch (unit) {
    case 'usd':
      return moneyText(balance, '$')
    case 'cny':
      return moneyText(balance, '¥')
    case 'cny_per_10000':
      return moneyText(balance / 10_000, '¥')
    case 'quota':
      return formatQuota(balance)
    case null:
      return null
    default:
      return unit satisfies never
  }
}
