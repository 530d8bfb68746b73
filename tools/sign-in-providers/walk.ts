import { request } from 'undici'

/** More redirects than any provider makes. */
const HOPS_MAX = 10

/**
 * Follows a provider's redirects like a browser, with cookies, until one leads to an address that
 * begins with `until`. Returns the query members of that address.
 */
export async function walk(start: string, until: string): Promise<Record<string, string>> {
  const cookies = new Map<string, string>()
  let address = start
  for (let hop = 0; hop < HOPS_MAX; hop += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { statusCode, headers, body } = await request(address, { headers: { cookie } })
    const page = await body.text()
    for (const line of [headers['set-cookie'] ?? []].flat()) {
      const [pair = ''] = line.split(';')
      const at = pair.indexOf('=')
      cookies.set(pair.slice(0, at), pair.slice(at + 1))
    }
    const { location } = headers
    if (typeof location !== 'string') throw new Error(`stuck at ${address}: ${statusCode} ${page}`)
    address = new URL(location, address).href
    if (address.startsWith(until)) return Object.fromEntries(new URL(address).searchParams)
  }
  throw new Error(`still not at ${until} after ${HOPS_MAX} pages`)
}
