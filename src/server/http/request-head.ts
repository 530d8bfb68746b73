import type { IncomingMessage } from 'node:http'

/**
 * Whether a request names its host twice, in the flat list of names and values that it came with.
 * Two readers of such a request may take it for two different sites' (RFC 9112, section 3.2).
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
 * Whether a request has two `Authorization` headers that differ. Node hands over the first, and
 * whoever stands before us may have looked at the other.
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
 * Whether a `Connection` header names what frames or authorises a request. A proxy that obeys would
 * take it out, and read another request than we do (RFC 9110, section 7.6.1).
 */
export const disownsHeaders = (connection: string | undefined): boolean =>
  connection !== undefined && DISOWNING.test(connection)

const DISOWNING =
  /(?:^|,)\s*(?:content-length|transfer-encoding|host|authorization|cookie|x-api-key|x-goog-api-key|api-key)\s*(?:,|$)/i

/** Of an address as a proxy is sent one: its host and its target. */
const ABSOLUTE = /^https?:\/\/([^/?#@]+)([/?].*)?$/i

/**
 * Takes the target of a request as a path, also where it came as a whole address. A server must
 * take both, and the host in the address counts, whatever the header says (RFC 9112, section
 * 3.2.2).
 */
export function takePathOnly(request: IncomingMessage): void {
  const { url = '' } = request
  if (url.startsWith('/')) return
  const [, host, target = '/'] = ABSOLUTE.exec(url) ?? []
  if (host === undefined) return
  request.headers.host = host
  request.url = target.startsWith('/') ? target : `/${target}`
}

/** The target without the path that the server is under, where it has it; another stays. */
export function withoutBase(target: string, base: string): string {
  const single = target.replace(/^\/{2,}/, '/')
  return single.startsWith(`${base}/`) ? single.slice(base.length) : target
}

/**
 * The path as `unescapedPath` has it, slashes that follow one another as one, and the query as it
 * came. An address that ends in a slash joined to one that begins with it is a script's commonest
 * slip.
 */
export function plainTarget(target: string): string {
  const query = target.indexOf('?')
  const path = query < 0 ? target : target.slice(0, query)
  return unescapedPath(path).replace(/\/{2,}/g, '/') + target.slice(path.length)
}

/** Letters, digits and `-._~`, which mean the same with a percent sign (RFC 3986, section 2.3). */
const UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/gi

/** A path with the letters as themselves that somebody has spelled with a percent sign. */
export const unescapedPath = (path: string): string =>
  path.includes('%') ? path.replace(UNRESERVED, decodeURIComponent) : path
