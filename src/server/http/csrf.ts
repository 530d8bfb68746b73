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
 * State-changing GETs of the wire can also be reached by a link or an image. A navigation passes
 * only with a Referer of our own.
 */
export function isCrossSite(
  headers: OriginHeaders,
  method: string,
  ownOrigins: ReadonlySet<string>,
): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    // Another port or sub-domain of the same site, or another site; an origin we name ourselves
    // may.
    if (!isOwn(headers.origin, headers.host, ownOrigins)) return true
  }
  if (headers.origin !== undefined && !isOwn(headers.origin, headers.host, ownOrigins)) return true
  if (headers.referer !== undefined && !isOwn(headers.referer, headers.host, ownOrigins))
    return true
  if (method !== 'GET') return false
  const navigation =
    headers['sec-fetch-mode'] === 'navigate' || (headers.accept ?? '').includes('text/html')
  return navigation && headers.referer === undefined
}

function isOwn(
  address: string | undefined,
  host: string | undefined,
  ownOrigins: ReadonlySet<string>,
): boolean {
  if (address === undefined || !URL.canParse(address)) return false
  const url = new URL(address)
  return url.host === host || ownOrigins.has(url.origin)
}
