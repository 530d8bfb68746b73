/**
 * What console and server share about channel types: label and colour, form fields, and the URL of
 * a request by the OpenAI protocol. The rows are copied from the vendors' declarations.
 */
import { unknownRow } from './channel-type-row.ts'
import type { ChannelType, ConfigMember } from './channel-type-row.ts'
import { channelTypeRows } from './channel-type-rows.ts'
import { moneyText } from './quota.ts'

export type {
  BadgeColor,
  BalanceUnit,
  ChannelType,
  ChannelTypeField,
  ConfigMember,
  Words,
} from './channel-type-row.ts'

const rowsByType: ReadonlyMap<number, ChannelType> = new Map(
  channelTypeRows.map((row) => [row.type, row]),
)

/**
 * Returns the row of a type. A database may contain numbers that newer or other programs wrote;
 * these get the grey unknown row with their own number.
 */
export function channelType(type: number): ChannelType {
  return rowsByType.get(type) ?? { ...unknownRow, type }
}

/** All known types in the order of the form's list, the most used first. */
export const channelTypesInListOrder: readonly ChannelType[] = channelTypeRows

/** The two sections of the form's list. */
export function channelTypeSections(): { current: ChannelType[]; legacy: ChannelType[] } {
  return {
    current: channelTypesInListOrder.filter((row) => !row.legacy),
    legacy: channelTypesInListOrder.filter((row) => row.legacy),
  }
}

/**
 * Removes white space around an address and trailing slashes. Addresses are stored and used in this
 * form.
 */
export function trimBaseUrl(baseUrl: string): string {
  const trimmed = baseUrl.trim()
  let end = trimmed.length
  while (trimmed[end - 1] === '/') end -= 1
  return trimmed.slice(0, end)
}

/**
 * Returns the address without the path of one part of the type's API. `base` is trimmed by
 * `trimBaseUrl`.
 */
export function rootUrl(type: number, base: string): string {
  const { partAddress } = channelType(type)
  return partAddress === undefined ? base : base.replace(partAddress, '$1')
}

/** Address for channels that set none; `''` if the type has no default. */
export function defaultBaseUrl(type: number, key: string): string {
  const { baseUrl, baseUrlForKeys } = channelType(type)
  return baseUrlForKeys?.keys.test(key.trim()) === true ? baseUrlForKeys.baseUrl : baseUrl
}

/** Whether the path of this address ends in a version such as `/v1`, `/v3` or `/v1beta`. */
function namesVersion(base: string): boolean {
  const host = base.indexOf('://') + '://'.length
  const slash = base.lastIndexOf('/')
  return slash >= host && /^v\d[a-z0-9]*$/i.test(base.slice(slash + 1))
}

export const isCloudflareGateway = (base: string): boolean =>
  /^https?:\/\/gateway\.ai\.cloudflare\.com(?:[:/]|$)/i.test(base)

/**
 * Splits `/v1/chat/completions?x=1` into the part after `/v1` and the query; `rest` is null without
 * `/v1`.
 */
function splitPath(path: string): { plain: string; rest: string | null; query: string } {
  const questionMark = path.indexOf('?')
  const plain = questionMark < 0 ? path : path.slice(0, questionMark)
  const query = questionMark < 0 ? '' : path.slice(questionMark)
  const rest = plain === '/v1' || plain.startsWith('/v1/') ? plain.slice('/v1'.length) : null
  return { plain, rest, query }
}

/**
 * Returns the URL of a request by the OpenAI protocol, or null if the type has another protocol or
 * no address is known. `requestPath` is the client's path, such as `/v1/chat/completions`; its
 * query is kept. An empty `baseUrl` selects the type's default. `model` is the upstream's name of
 * the model.
 *
 * An address that ends in a version replaces `/v1`, for every type: people paste the address
 * that their SDK uses, and paths such as `/v1/v1/…` or `/api/v3/api/v3/…` do not exist.
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

  const { pathForModels: other, prefixForModels, wholeAddress } = row
  const isOther = other?.models.test(model) === true && rest.startsWith(other.from)
  const task = isOther ? other.to + rest.slice(other.from.length) : rest
  if (namesVersion(base) || wholeAddress?.test(base) === true) return base + task + query

  const elsewhere = Object.hasOwn(row.paths, plain) ? row.paths[plain] : undefined
  const prefix = prefixForModels?.models.test(model) === true ? prefixForModels : row
  return base + (elsewhere ?? prefix.pathPrefix + task) + query
}

/**
 * Splits a key of the OpenAI protocol into the bearer token and the application id, which is null
 * if the key does not contain one.
 */
export function bearerOf(type: number, key: string): { secret: string; appId: string | null } {
  const { appIdSeparator } = channelType(type).key
  const at = appIdSeparator === undefined ? -1 : key.indexOf(appIdSeparator)
  if (at < 0) return { secret: key, appId: null }
  return { secret: key.slice(0, at).trim(), appId: key.slice(at + 1).trim() || null }
}

/**
 * Splits a stored key into its parts; null if their number is wrong or one is empty. The key of
 * type 42 ends in JSON, which may contain the separator.
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

/** Whether a key, or its first part, is complete without a second part. */
const isKeyAlone = (type: number, start: string): boolean =>
  channelType(type).key.standsAlone?.test(start) === true

/**
 * The field that a composed key omits because its first part is complete; null if all are needed.
 */
export function sparedField(
  type: number,
  config: Readonly<Partial<Record<ConfigMember, string>>>,
): ConfigMember | null {
  const [first, second = null] = channelType(type).key.composedOf
  const start = first === undefined ? '' : (config[first]?.trim() ?? '')
  return isKeyAlone(type, start) ? second : null
}

/**
 * Composes the key of a type from its fields (33, 42). Returns `''` if a required field is missing,
 * which in an update means unchanged. The text "undefined" counts as missing: older consoles send
 * it for an empty field.
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
 * Formats a channel's balance for the list; null if the upstream has no balance API. `formatQuota`
 * formats points like other quota in the console.
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
