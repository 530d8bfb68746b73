/** The headers of a request that tell where it comes from. */
export interface OriginHeaders {
  'sec-fetch-site'?: string | undefined
  'sec-fetch-mode'?: string | undefined
  origin?: string | undefined
  referer?: string | undefined
  accept?: string | undefined
  host?: string | undefined
}

/**
 * Whether a call that changes state with a cookie comes from another site. A browser cannot help
 * saying so in at least one of these headers; none of them at all: not a browser, passes.
 *
 * `Sec-Fetch-Site: same-origin` is the browser's own word, which no page can write; it counts, too,
 * where a proxy hands on another `Host` than the browser sent.
 *
 * State-changing GETs of the wire can also be reached by a link or an image. A navigation passes
 * only with a Referer of our own.
 */
export function isCrossSite(
  headers: OriginHeaders,
  method: string,
  ownOrigins: ReadonlySet<string>,
): boolean {
  const site = headers['sec-fetch-site']
  if (site !== 'same-origin' && namesAnother(headers, ownOrigins)) return true
  if (method !== 'GET') return false
  const navigation =
    headers['sec-fetch-mode'] === 'navigate' || (headers.accept ?? '').includes('text/html')
  return navigation && headers.referer === undefined
}

function namesAnother(headers: OriginHeaders, ownOrigins: ReadonlySet<string>): boolean {
  const { 'sec-fetch-site': site, origin, referer, host } = headers
  // Another port or sub-domain of the same site, or another site; an origin we name ourselves may.
  const mustBeNamed = site !== undefined && site !== 'none'
  if ((mustBeNamed || origin !== undefined) && !isOwn(origin, host, ownOrigins)) return true
  return referer !== undefined && !isOwn(referer, host, ownOrigins)
}

function isOwn(
  address: string | undefined,
  host: string | undefined,
  ownOrigins: ReadonlySet<string>,
): boolean {
  if (address === undefined || !URL.canParse(address)) return false
  const url = new URL(address)
  return url.host === plainHost(url.protocol, host) || ownOrigins.has(url.origin)
}

/** A host as addresses have it: in small letters, without the port that goes without saying. */
function plainHost(protocol: string, host = ''): string | null {
  const address = `${protocol}//${host}`
  return URL.canParse(address) ? new URL(address).host : null
}
