import type { Refusal } from '../../contract/errors.ts'
import { addressClass } from '../egress/address-class.ts'
import type { ConfigObject } from './channel-config.ts'

/** Changes that a channel makes to every upstream request, from its `config`. */
export interface Overrides {
  /** Address of the HTTP proxy; undefined for the default. */
  proxy: string | undefined
  /** By lower-case name; '' omits the header. */
  headers: Readonly<Record<string, string>>
  /** Members that replace those of the body. */
  params: Readonly<Record<string, unknown>>
}

/** Used by most channels. */
export const NO_OVERRIDES: Overrides = { proxy: undefined, headers: {}, params: {} }

/** Headers of the connection, or of how the response is read. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Members that route, price and read a call; a channel must not change them. */
const RESERVED_PARAMS: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'stream_options',
  'messages',
  'input',
  'prompt',
  'contents',
])
const HEADER_NAME = /^[!#$%&'*+.^`|~\w-]{1,100}$/
/** Visible ASCII, blanks, and Latin-1. */
const HEADER_VALUE = /^[\x20-\x7e\xa0-\xff]*$/
const HEADER_VALUE_MAX = 8192

/**
 * Returns the refusal of the first invalid member of the three, or null. Empty ones are not
 * checked.
 */
export function overridesRefusal(config: ConfigObject): Refusal | null {
  const { proxy, header_override: headers, param_override: params } = config
  if (isGiven(proxy) && !isProxy(proxy)) {
    return { code: isSocks(proxy) ? 'channel_proxy_socks' : 'channel_proxy_invalid' }
  }
  if (isGiven(headers)) {
    if (!isObject(headers)) return { code: 'channel_header_override_shape' }
    const wrong = Object.entries(headers).find(isWrongHeader)
    if (wrong !== undefined) {
      return { code: 'channel_header_override_invalid', params: { name: shown(wrong[0]) } }
    }
  }
  if (isGiven(params)) {
    if (!isObject(params)) return { code: 'channel_param_override_shape' }
    const wrong = Object.keys(params).find((name) => RESERVED_PARAMS.has(name))
    if (wrong !== undefined) {
      return { code: 'channel_param_override_invalid', params: { name: shown(wrong) } }
    }
  }
  return null
}

/** Returns the valid parts of the stored overrides; an adopted text may contain invalid ones. */
export function overridesOf(config: ConfigObject): Overrides {
  const { proxy, header_override: headers, param_override: params } = config
  if (!isGiven(proxy) && !isGiven(headers) && !isGiven(params)) return NO_OVERRIDES
  const usable = isObject(headers)
    ? Object.entries(headers).filter((entry) => !isWrongHeader(entry))
    : []
  return {
    proxy: isProxy(proxy) ? proxy : undefined,
    headers: Object.fromEntries(usable.map(([name, value]) => [name.toLowerCase(), String(value)])),
    params: isObject(params)
      ? Object.fromEntries(Object.entries(params).filter(([name]) => !RESERVED_PARAMS.has(name)))
      : {},
  }
}

/** Applies the channel's header overrides to a request. */
export function overriddenHeaders(
  headers: Record<string, string>,
  { headers: others }: Overrides,
  key: string,
): Record<string, string> {
  const names = Object.keys(others)
  if (names.length === 0) return headers
  const kept = Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase()))
  const set = Object.entries(others)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => [name, value.replaceAll('{api_key}', () => key)])
  return Object.fromEntries([...kept, ...set])
}

/** Shorter values may be words that occur in errors. */
const SECRET_LENGTH_MIN = 8

/** Returns secrets to remove from upstream messages. */
export function overrideSecrets({ proxy, headers }: Overrides): string[] {
  const values = Object.values(headers).filter((value) => value.length >= SECRET_LENGTH_MIN)
  if (proxy === undefined) return values
  const { host, password } = new URL(proxy)
  return [...values, host, decodeURIComponent(password)]
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Maximum number of characters of a name in an error. */
const SHOWN_MAX = 100
const shown = (name: unknown): string => String(name).slice(0, SHOWN_MAX)

const isWrongHeader = ([name, value]: [string, unknown]): boolean =>
  !HEADER_NAME.test(name) ||
  RESERVED_HEADERS.has(name.toLowerCase()) ||
  name.toLowerCase().startsWith('proxy-') ||
  typeof value !== 'string' ||
  value.length > HEADER_VALUE_MAX ||
  !HEADER_VALUE.test(value)

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const isSocks = (value: unknown): boolean =>
  typeof value === 'string' && /^\s*socks[45]?[ah]?:\/\//i.test(value)

/** Accepts an address with user name and password. */
function isProxy(value: unknown): value is string {
  if (typeof value !== 'string' || !URL.canParse(value) || /\s/.test(value)) return false
  const { protocol, hostname, pathname, search, hash, username, password } = new URL(value)
  if (!isDecodable(username + password)) return false
  if (protocol !== 'http:' && protocol !== 'https:') return false
  if (pathname !== '/' || search !== '' || hash !== '') return false
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const isLiteral = host.includes(':') || /^\d+(\.\d+){3}$/.test(host)
  return !isLiteral || addressClass(host) !== 'forbidden'
}
