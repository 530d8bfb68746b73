import ipaddr from 'ipaddr.js'

/**
 * Converts addresses, one per line or comma-separated, to the list of blocks of our tokens. An
 * invalid address stays: it matches no client, and the owner sees it.
 */
export function subnetsOf(addresses: string): string {
  const items = addresses.split(/[\s,]+/).filter((item) => item !== '')
  return items
    .map((item) => {
      if (ipaddr.IPv4.isValidFourPartDecimal(item)) return `${item}/32`
      return ipaddr.IPv6.isValid(item) ? `${item}/128` : item
    })
    .join(',')
}
