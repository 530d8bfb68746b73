import type { IncomingHttpHeaders } from 'node:http'
import { withoutTrailing } from '../../../contract/text.ts'

/**
 * Builds the target URL and the headers of a proxied call. The path is the client's, the host is
 * the channel's: no client input may lead outside the channel's base URL, and this server's own
 * data (keys, cookies, the caller's identity) must not leave.
 */

/** The target's path and query as the client sent them; null if the call is invalid. */
export interface ProxyCall {
  channelId: string
  path: string
}

const PREFIX = /^\/v1\/oneapi\/proxy\/([^/?#]*)(\/[^?#]*)?(\?[^#]*)?$/

export function proxyCallOf(url: string): ProxyCall | null {
  const [, channelId, path = '/', query = ''] = PREFIX.exec(url) ?? []
  return channelId === undefined ? null : { channelId, path: path + query }
}

/** How often upstream servers may decode a path. */
const DECODINGS = 3

/**
 * Returns the URL below `baseUrl`, or null for a path that some upstream server could resolve
 * outside of it: with `..` in any encoding, backslashes, control characters, or two slashes at its
 * beginning.
 */
export function proxyUrl(baseUrl: string, path: string): string | null {
  const base = withoutTrailing(baseUrl, '/')
  if (!URL.canParse(base)) return null
  const [plain = ''] = path.split('?')
  if (!isPlainPath(plain) || /[^\x21-\x7e]/.test(path)) return null
  const url = base + path
  if (!URL.canParse(url)) return null
  const from = new URL(base)
  const to = new URL(url)
  const root = withoutTrailing(from.pathname, '/')
  return to.origin === from.origin && to.pathname.startsWith(`${root}/`) ? url : null
}

function isPlainPath(path: string): boolean {
  // An invalid percent escape is rejected in the original path; after decoding it is plain text.
  let text: string | null = decoded1(path) === null ? null : path
  for (let round = 0; round <= DECODINGS; round += 1) {
    if (text === null || /\\|\p{Cc}|^\/\/|(?:^|\/)\.{1,2}(?:[/;]|$)/u.test(text)) return false
    const decoded = decoded1(text.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'))
    if (decoded === text) return true
    text = decoded
  }
  return false
}

function decoded1(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Headers about the connection or the caller's identity, and headers that this server sets. */
const NOT_PASSED: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  // A compressed response has been decompressed.
  'content-encoding',
  'accept-encoding',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'authorization',
  'proxy-authorization',
  'proxy-connection',
  'cookie',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'forwarded',
  'via',
  'origin',
  'referer',
  'true-client-ip',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
])
const NOT_PASSED_PREFIX = /^(?:x-forwarded-|x-gatehouse-|x-oneapi-|x-original-|cf-|sec-|:)/

/** Returns the client's headers to pass on, and the channel's key as it is stored. */
export function proxyHeaders(headers: IncomingHttpHeaders, key: string): Record<string, string> {
  const named = new Set(
    String(headers.connection ?? '')
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  )
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const isOurs = NOT_PASSED.has(name) || NOT_PASSED_PREFIX.test(name) || named.has(name)
    if (isOurs || value === undefined) continue
    passed[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return { ...passed, 'accept-encoding': 'identity', authorization: key }
}

/** Response headers that the client receives. */
const ANSWERED = [
  'content-type',
  'content-disposition',
  'content-language',
  'content-range',
  'content-encoding',
  'accept-ranges',
  'etag',
  'last-modified',
  'retry-after',
] as const

export function answeredHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): string[] {
  const answered = ANSWERED.flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [name, value] : []
  })
  return [...answered, 'cache-control', cachedPrivately(headers['cache-control'])]
}

/** Directives for shared caches only. */
const SHARED = /^(?:public|s-maxage=.*)$/i

/**
 * Returns the upstream's `Cache-Control` for the client's own cache only: the caller's key may not
 * be in `Authorization`, which is the only place that shared caches check.
 */
function cachedPrivately(value: string | string[] | undefined): string {
  const directives = [value ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((directive) => directive.trim())
    .filter((directive) => directive !== '' && !SHARED.test(directive))
  const isPrivate = directives.some((directive) => /^(?:private|no-store)$/i.test(directive))
  return (isPrivate ? directives : ['private', ...directives]).join(', ')
}
