import type { Refusal } from '../../contract/errors.ts'
import { addressClass } from '../egress/address-class.ts'
import type { ConfigObject } from './channel-config.ts'

/** What a channel changes in every request that goes out by it, as its `config` has it. */
export interface Overrides {
  /** Address of the HTTP proxy to take; undefined: the usual way. */
  proxy: string | undefined
  /** By name in small letters; '': the header is left out. */
  headers: Readonly<Record<string, string>>
  /** Members that replace those of the body. */
  params: Readonly<Record<string, unknown>>
}

/** What most channels have. */
export const NO_OVERRIDES: Overrides = { proxy: undefined, headers: {}, params: {} }

/** Headers that belong to the connection, or to how the answer is read. */
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
/** Members by which a call is routed, priced and read; they are not a channel's to change. */
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
/** Visible characters, blanks between them, and what Latin-1 adds. */
const HEADER_VALUE = /^[\x20-\x7e\xa0-\xff]*$/
const HEADER_VALUE_MAX = 8192

/** The first of the three members that cannot be, or null. Empty ones are not looked at. */
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

/** What is stored, as far as it is usable: an adopted text may be none that we would have stored. */
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

/** A request's headers as the channel wants them otherwise. */
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

/** Shorter values are words that an error may well use. */
const SECRET_LENGTH_MIN = 8

/** What an upstream's words must not tell of them. */
export function overrideSecrets({ proxy, headers }: Overrides): string[] {
  const values = Object.values(headers).filter((value) => value.length >= SECRET_LENGTH_MIN)
  if (proxy === undefined) return values
  const { host, password } = new URL(proxy)
  return [...values, host, decodeURIComponent(password)]
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Characters of a name that a refusal repeats. */
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

/** Name and password may stand in it. */
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
