import ipaddr from 'ipaddr.js'
import { oneApiTableNames, oneApiTables, type FoundTables } from './one-api-tables.ts'

/** What can be told of the programs that descend from One API by their columns. */

/** Columns that One API does not have, nor we, as `table.column`. */
export function unknownColumns(tables: FoundTables): string[] {
  return oneApiTableNames.flatMap((table) => {
    const known = new Set(oneApiTables[table].map(({ name }) => name))
    return [...(tables.get(table) ?? [])]
      .filter((name) => !known.has(name))
      .map((name) => `${table}.${name}`)
  })
}

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
