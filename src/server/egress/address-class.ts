import net from 'node:net'
import ipaddr from 'ipaddr.js'

/** Class of an address, to decide whether the server may connect to it. */
export type AddressClass = 'public' | 'private' | 'forbidden'

/**
 * Metadata services in ranges that are not forbidden as a whole; they return credentials without
 * authentication. Oracle's 192.0.0.192 is in a reserved range, Azure's wire server in a public one
 * (Microsoft Learn, "What is IP address 168.63.129.16?").
 */
const METADATA = new Set([
  // Alibaba, Oracle, AWS, Google, Azure.
  '100.100.100.200',
  'fd00:c1::a9fe:a9fe',
  'fd00:ec2::254',
  'fd20:ce::254',
  '168.63.129.16',
])

/**
 * Never a server: unspecified, broadcast and link-local addresses (with most metadata services).
 */
const FORBIDDEN_RANGES = new Set([
  'unspecified',
  'broadcast',
  'multicast',
  'linkLocal',
  'reserved',
  'discard',
])
const PUBLIC_RANGES = new Set(['unicast'])

/** Classifies an IP address; an address that embeds an IPv4 address is classified by it. */
export function addressClass(text: string): AddressClass {
  // The library also accepts spellings with octal or missing parts, which parsers read differently.
  if (net.isIP(text) === 0 || !ipaddr.isValid(text)) return 'forbidden'
  const address = embedded(ipaddr.process(text))
  if (METADATA.has(address.toString())) return 'forbidden'
  const range = address.range()
  if (FORBIDDEN_RANGES.has(range)) return 'forbidden'
  return PUBLIC_RANGES.has(range) ? 'public' : 'private'
}

/** The well-known NAT64 prefix; other prefixes depend on the network. */
const NAT64_PREFIX = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]

/** Returns the IPv4 address inside NAT64 and 6to4 addresses. */
function embedded(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address instanceof ipaddr.IPv4) return address
  const range = address.range()
  const bytes = address.toByteArray()
  if (NAT64_PREFIX.every((byte, index) => bytes[index] === byte)) {
    return new ipaddr.IPv4(bytes.slice(12))
  }
  // `::ffff:0:a.b.c.d`, an IPv4-translated address (RFC 2765).
  if (range === 'rfc6145') return new ipaddr.IPv4(bytes.slice(12))
  if (range === '6to4') return new ipaddr.IPv4(bytes.slice(2, 6))
  // `::7f00:1`, an IPv4-compatible address; the two addresses that are nearly all zeros have ranges
  // of their own.
  const isCompatible = bytes.slice(0, 12).every((byte) => byte === 0)
  if (isCompatible && range === 'unicast') return new ipaddr.IPv4(bytes.slice(12))
  return address
}
