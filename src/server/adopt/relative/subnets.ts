import ipaddr from 'ipaddr.js'

/**
 * Addresses, one a line or between commas, as the comma list of blocks that our tokens have. What
 * is no address stays as it is: it lets nobody in, and the owner sees it.
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
