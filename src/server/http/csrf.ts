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
 * `Sec-Fetch-Site: same-origin` is the browser's own word, which no page can write: with it the
 * port need not agree, which proxies leave out of the `Host` that they hand on.
 *
 * State-changing GETs of the wire can also be reached by a link or an image. A navigation passes
 * only with a Referer of our own.
 */
export function isCrossSite(
  headers: OriginHeaders,
  method: string,
  ownOrigins: ReadonlySet<string>,
): boolean {
  if (namesAnother(headers, ownOrigins)) return true
  if (method !== 'GET') return false
  const navigation =
    headers['sec-fetch-mode'] === 'navigate' || (headers.accept ?? '').includes('text/html')
  return navigation && headers.referer === undefined
}

function namesAnother(headers: OriginHeaders, ownOrigins: ReadonlySet<string>): boolean {
  const { 'sec-fetch-site': site, origin, referer, host } = headers
  const isOwn = (address: string | undefined): boolean => {
    if (address === undefined || !URL.canParse(address)) return false
    const url = new URL(address)
    const own = plainAddress(url.protocol, host)
    const agrees = site === 'same-origin' ? url.hostname === own?.hostname : url.host === own?.host
    return agrees || ownOrigins.has(url.origin)
  }
  // Another port or sub-domain of the same site, or another site; an origin we name ourselves may.
  const mustBeNamed = site !== undefined && site !== 'none' && site !== 'same-origin'
  if ((mustBeNamed || origin !== undefined) && !isOwn(origin)) return true
  return referer !== undefined && !isOwn(referer)
}

/** A host as addresses have it: in small letters, without the port that goes without saying. */
function plainAddress(protocol: string, host = ''): URL | null {
  const address = `${protocol}//${host}`
  return URL.canParse(address) ? new URL(address) : null
}
