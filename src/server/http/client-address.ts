import ipaddr from 'ipaddr.js'

type Block = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Address blocks whose `X-Forwarded-For` is trusted. */
export type TrustedProxies = readonly Block[]

/** Parses addresses and CIDR blocks; throws on the first invalid one. */
export function parseTrustedProxies(list: readonly string[]): TrustedProxies {
  return list.map((item): Block => {
    if (ipaddr.isValidCIDR(item)) return unmapped(ipaddr.parseCIDR(item))
    const address = ipaddr.process(item)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  })
}

/** Number of IPv6 prefix bits before a mapped IPv4 address. */
const MAPPED_BITS = 96

/** Converts `::ffff:10.0.0.0/104` to `10.0.0.0/8`. */
function unmapped([address, bits]: Block): Block {
  const isMapped =
    address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= MAPPED_BITS
  return isMapped ? [address.toIPv4Address(), bits - MAPPED_BITS] : [address, bits]
}

/**
 * Returns the client's address: the socket's peer, or behind trusted proxies the last address in
 * `X-Forwarded-For` that is not one of them. Headers from other peers are ignored.
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trusted: TrustedProxies,
): string {
  let address = plainAddress(peer)
  if (trusted.length === 0 || forwardedFor === undefined) return address
  const hops = forwardedFor.split(',').map((hop) => plainAddress(withoutPort(hop.trim())))
  while (isTrusted(address, trusted)) {
    const previous = hops.pop()
    if (previous === undefined || !ipaddr.isValid(previous)) break
    address = previous
  }
  return address
}

/**
 * Some proxies write `203.0.113.9:4711` and `[2001:db8::7]:4711`. Source: Microsoft, "Application
 * Gateway: modifications to the request".
 */
const withoutPort = (hop: string): string =>
  hop.replace(/^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')

/** Returns an address in its usual form: `::ffff:127.0.0.1` becomes `127.0.0.1`. */
export const plainAddress = (address = ''): string =>
  address.startsWith('::ffff:') && ipaddr.isValid(address)
    ? ipaddr.process(address).toString()
    : address

/** Whether a socket's peer is a trusted proxy. */
export const isTrustedProxy = (peer: string | undefined, trusted: TrustedProxies): boolean =>
  isTrusted(plainAddress(peer), trusted)

/** Whether the client used TLS for the first proxy, by `X-Forwarded-Proto`. */
export const isHttps = (forwardedProto: string | undefined): boolean =>
  forwardedProto?.split(',', 1)[0]?.trim().toLowerCase() === 'https'

function isTrusted(address: string, trusted: TrustedProxies): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return trusted.some(
    ([block, bits]) => block.kind() === parsed.kind() && parsed.match(block, bits),
  )
}

/** Returns a key for the network of one customer, for rate limits: IPv6 addresses by their /64. */
export function addressKey(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.parse(address)
  if (parsed.kind() !== 'ipv6') return address
  return parsed.toNormalizedString().split(':').slice(0, 4).join(':')
}
