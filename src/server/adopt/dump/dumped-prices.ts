import { priceColumns, type PriceRow, type PriceRows } from '../relative/price-store.ts'
import { columnValue } from './dump-value.ts'
import type { DumpRows } from './read-dump.ts'

/** Stores the few dumped rows of a table with prices. */
export function addPrices(
  prices: PriceRows,
  table: Parameters<typeof priceColumns>[0],
  { columns, rows }: Pick<DumpRows, 'columns' | 'rows'>,
): void {
  const wanted = priceColumns(table, columns)
  if (wanted.length === 0) return
  const scope = { keepsNul: false, repairs: { undecodable: 0, nuls: 0, misfits: 0 } }
  const read = rows.map((row): PriceRow =>
    Object.fromEntries(
      wanted.map((name) => {
        const value = columnValue(row[columns.indexOf(name)] ?? null, 'text', scope)
        return [name, value === null ? null : String(value)]
      }),
    ),
  )
  prices.set(table, [...(prices.get(table) ?? []), ...read])
}
