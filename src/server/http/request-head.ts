import type { IncomingMessage } from 'node:http'

/**
 * Whether a request has two `Host` headers, in the flat list of names and values. Two parsers of
 * such a request may choose different hosts (RFC 9112, section 3.2).
 */
export function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let isNamed = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length !== HOST.length || name.toLowerCase() !== HOST) continue
    if (isNamed) return true
    isNamed = true
  }
  return false
}

const HOST = 'host'

/**
 * Whether a request has two different `Authorization` headers. Node returns the first, and a proxy
 * in front may have used the other.
 */
export function isAmbiguous({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
  let found: string | null = null
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length !== AUTHORIZATION.length || name.toLowerCase() !== AUTHORIZATION) continue
    const value = rawHeaders[index + 1] ?? ''
    if (found !== null && found !== value) return true
    found = value
  }
  return false
}

const AUTHORIZATION = 'authorization'

/**
 * Whether a `Connection` header lists a header that frames or authorizes the request. A proxy that
 * complies would remove it, and forward another request than this server reads (RFC 9110, section
 * 7.6.1).
 */
export const disownsHeaders = (connection: string | undefined): boolean =>
  connection !== undefined && DISOWNING.test(connection)

const DISOWNING =
  /(?:^|,)\s*(?:content-length|transfer-encoding|host|authorization|cookie|x-api-key|x-goog-api-key|api-key)\s*(?:,|$)/i

/** Host and target of an absolute-form request target, as sent to proxies. */
const ABSOLUTE = /^https?:\/\/([^/?#@]+)([/?].*)?$/i

/**
 * Reduces an absolute-form target to its path. A server must accept both forms, and the host in the
 * target overrides the header (RFC 9112, section 3.2.2).
 */
export function takePathOnly(request: IncomingMessage): void {
  const { url = '' } = request
  if (url.startsWith('/')) return
  const [, host, target = '/'] = ABSOLUTE.exec(url) ?? []
  if (host === undefined) return
  request.headers.host = host
  request.url = target.startsWith('/') ? target : `/${target}`
}

/** Removes the base path from a target that has it. */
export function withoutBase(target: string, base: string): string {
  const single = target.replace(/^\/{2,}/, '/')
  return single.startsWith(`${base}/`) ? single.slice(base.length) : target
}

/**
 * Normalizes the path with `unescapedPath`, merges repeated slashes, and keeps the query. Scripts
 * often join an address with a trailing slash and a path with a leading one.
 */
export function plainTarget(target: string): string {
  const query = target.indexOf('?')
  const path = query < 0 ? target : target.slice(0, query)
  return unescapedPath(path).replace(/\/{2,}/g, '/') + target.slice(path.length)
}

/**
 * Percent-encoded letters, digits and `-._~`, which are equivalent to the plain characters (RFC
 * 3986, section 2.3).
 */
const UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/gi

/** Decodes percent-encoded unreserved characters of a path. */
export const unescapedPath = (path: string): string =>
  path.includes('%') ? path.replace(UNRESERVED, decodeURIComponent) : path
