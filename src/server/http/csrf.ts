/** The headers of a request that tell where it comes from. */
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
 * Whether a call that changes state with a cookie may come from another site. Browsers name the
 * origin of a POST, PUT or DELETE in at least one of these headers; a request without any of them
 * comes from a program and passes.
 *
 * `Sec-Fetch-Site: same-origin` is set by the browser, not by a page. With it the port need not
 * match, because some proxies drop the port from the `Host` that they pass on.
 *
 * A GET that changes state can also be sent by a link or an image, on another site or in content of
 * an operator on a page of ours. So it must come from a script (`isSentByElement`), and a browser
 * must prove that the script is ours: over plain HTTP browsers send no `Sec-Fetch-*`, and another
 * port of the same host can suppress `Referer` while the cookie goes along.
 */
export function isCrossSite(
  headers: OriginHeaders,
  method: string,
  ownOrigins: ReadonlySet<string>,
): boolean {
  if (namesAnother(headers, ownOrigins)) return true
  if (method !== 'GET') return false
  if (isSentByElement(headers)) return true
  // Foreign values were refused above, so an `Origin` or `Referer` here is ours.
  const isProven =
    headers['sec-fetch-site'] === 'same-origin' ||
    headers.origin !== undefined ||
    headers.referer !== undefined
  return isBrowser(headers) && !isProven
}

/**
 * Whether a link, an address typed in, an image or another element sent the request, not a script.
 * Where `Sec-Fetch-Dest` is missing, `Accept` tells: scripts of One API's consoles and of ours ask
 * for JSON or anything.
 */
function isSentByElement(headers: OriginHeaders): boolean {
  const { 'sec-fetch-dest': destination = 'empty', 'sec-fetch-mode': mode, accept = '' } = headers
  return destination !== 'empty' || mode === 'navigate' || /text\/html|image\//.test(accept)
}

/** All browsers begin their `User-Agent` so, and no page can change it. */
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
