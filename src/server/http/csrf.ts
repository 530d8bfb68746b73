/** Request headers that identify the origin. */
export interface OriginHeaders {
  'sec-fetch-site'?: string | undefined
  'sec-fetch-mode'?: string | undefined
  'sec-fetch-dest'?: string | undefined
  'user-agent'?: string | undefined
  origin?: string | undefined
  referer?: string | undefined
  accept?: string | undefined
  host?: string | undefined
}

/**
 * Whether a state-changing request with a cookie may come from another site. Browsers send the
 * origin of a POST, PUT or DELETE in at least one of these headers; a request without any of them
 * comes from a program and is accepted.
 *
 * `Sec-Fetch-Site: same-origin` is set by the browser, not by a page. With it the port need not
 * match, because some proxies drop the port from the `Host` that they pass on.
 *
 * A state-changing GET can also be sent by a link or an image, on another site or in operator
 * content on our own page. So it must come from a script (`isSentByElement`), and the browser must
 * prove that the script is ours: over plain HTTP browsers send no `Sec-Fetch-*`, and a page on
 * another port of the same host can suppress `Referer` while the cookie is sent.
 */
export function isCrossSite(
  headers: OriginHeaders,
  method: string,
  ownOrigins: ReadonlySet<string>,
): boolean {
  if (namesAnother(headers, ownOrigins)) return true
  if (method !== 'GET') return false
  if (isSentByElement(headers)) return true
  // Foreign values were rejected above, so an `Origin` or `Referer` is ours.
  const isProven =
    headers['sec-fetch-site'] === 'same-origin' ||
    headers.origin !== undefined ||
    headers.referer !== undefined
  return isBrowser(headers) && !isProven
}

/**
 * Whether a link, a typed address, an image or another element sent the request, and not a script.
 * Without `Sec-Fetch-Dest` it is derived from `Accept`: scripts of the consoles accept JSON or
 * anything.
 */
function isSentByElement(headers: OriginHeaders): boolean {
  const { 'sec-fetch-dest': destination = 'empty', 'sec-fetch-mode': mode, accept = '' } = headers
  return destination !== 'empty' || mode === 'navigate' || /text\/html|image\//.test(accept)
}

/** The `User-Agent` of every browser begins like this, and pages cannot change it. */
export const isBrowser = ({ 'user-agent': agent = '', ...headers }: OriginHeaders): boolean =>
  agent.startsWith('Mozilla/') || headers['sec-fetch-site'] !== undefined

function namesAnother(headers: OriginHeaders, ownOrigins: ReadonlySet<string>): boolean {
  const { 'sec-fetch-site': site, origin, referer, host } = headers
  const isOwn = (address: string | undefined): boolean => {
    if (address === undefined || !URL.canParse(address)) return false
    const url = new URL(address)
    const own = plainAddress(url.protocol, host)
    const agrees = site === 'same-origin' ? url.hostname === own?.hostname : url.host === own?.host
    return agrees || ownOrigins.has(url.origin)
  }
  // Another port or subdomain of the same site, or another site; a configured origin is allowed.
  const mustBeNamed = site !== undefined && site !== 'none' && site !== 'same-origin'
  if ((mustBeNamed || origin !== undefined) && !isOwn(origin)) return true
  return referer !== undefined && !isOwn(referer)
}

/** Normalizes a host as in URLs: lower case, without the default port. */
function plainAddress(protocol: string, host = ''): URL | null {
  const address = `${protocol}//${host}`
  return URL.canParse(address) ? new URL(address) : null
}
