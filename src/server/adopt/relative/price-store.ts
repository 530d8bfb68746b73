import { sql } from 'kysely'
import type { Queries } from '../../db/database.ts'
import type { OptionKey } from '../../../contract/option/options.ts'
import type { FoundTables } from '../found-tables.ts'
import { relativeOf } from './channel-type.ts'

/**
 * Converts prices and groups of One Hub, which keeps them in tables of its own and ignores the
 * options.
 */

type Table = 'prices' | 'user_groups'

/** Columns of a table in every version, and columns added later. */
const COLUMNS: Record<Table, { always: readonly string[]; later: readonly string[] }> = {
  prices: { always: ['model', 'type', 'input', 'output'], later: [] },
  user_groups: { always: ['symbol', 'ratio'], later: ['name', 'public', 'enable'] },
}

/** A row as texts; missing columns are absent. */
export type PriceRow = Readonly<Record<string, string | null>>
export type PriceRows = Map<Table, PriceRow[]>

// `COLUMNS` has one key for each value of `Table`.
const TABLES = Object.keys(COLUMNS) as Table[]

export const isPriceTable = (name: string): name is Table => Object.hasOwn(COLUMNS, name)

/** Returns the columns to read from a table; empty if it belongs to another program. */
export function priceColumns(table: Table, found: readonly string[]): string[] {
  const { always, later } = COLUMNS[table]
  if (!always.every((name) => found.includes(name))) return []
  return [...always, ...later.filter((name) => found.includes(name))]
}

/** Returns which of the tables can be read. */
export const priceTables = (tables: FoundTables): Table[] =>
  relativeOf(tables) === 'One Hub'
    ? TABLES.filter((table) => priceColumns(table, [...(tables.get(table) ?? [])]).length > 0)
    : []

export async function readPrices(db: Queries, tables: FoundTables): Promise<PriceRows> {
  const read: PriceRows = new Map()
  for (const table of priceTables(tables)) {
    const columns = priceColumns(table, [...(tables.get(table) ?? [])]).map(
      (name) => sql`CAST(${sql.ref(name)} AS text) AS ${sql.ref(name)}`,
    )
    const { rows } = await sql<PriceRow>`
      SELECT ${sql.join(columns)} FROM ${sql.table(table)}`.execute(db)
    read.set(table, rows)
  }
  return read
}

/** Stores the rows in the corresponding options. Returns one line per change. */
export async function carryPrices(trx: Queries, read: PriceRows): Promise<string[]> {
  const prices = read.get('prices')
  const groups = read.get('user_groups')
  return [
    ...(prices === undefined ? [] : [await carryModelPrices(trx, prices)]),
    ...(groups === undefined ? [] : [await carryGroups(trx, groups)]),
  ]
}

/** With a ratio of 1 a token costs this many points; a call costs that of so many tokens. */
const TOKENS_PER_CALL = 1000
const QUOTA_PER_UNIT = 500_000
/** The highest possible ratio. */
const COMPLETION_MAX = 1_000_000

async function carryModelPrices(trx: Queries, rows: readonly PriceRow[]): Promise<string> {
  const unit = await quotaPerUnit(trx)
  const ratios = new Map<string, number>()
  const completions = new Map<string, number>()
  const perCall = new Map<string, number>()
  for (const { model, type, ...price } of rows) {
    if (!model) continue
    const output = ratioOf(price['output'])
    // https://github.com/MartialBE/one-hub/blob/main/relay/relay_util/quota.go
    if (type === 'times') {
      perCall.set(model, rounded((ratioOf(price['input']) * TOKENS_PER_CALL) / unit))
      continue
    }
    // The completion price is relative to the prompt price, which therefore must not be zero.
    const input = ratioOf(price['input']) || rounded(output / COMPLETION_MAX)
    ratios.set(model, input)
    completions.set(model, input === 0 ? 1 : rounded(output / input))
  }
  await saveOption(trx, 'ModelRatio', ratios)
  await saveOption(trx, 'CompletionRatio', completions)
  if (perCall.size > 0) await saveOption(trx, 'ModelPrice', perCall)
  return `${ratios.size + perCall.size} prices of One Hub were taken over`
}

async function carryGroups(trx: Queries, rows: readonly PriceRow[]): Promise<string> {
  const ratios = new Map<string, number>()
  const usable = new Map<string, string>()
  for (const { symbol, name, ratio, ...group } of rows) {
    if (!symbol) continue
    ratios.set(symbol, ratioOf(ratio ?? '1'))
    // Older versions have no switch.
    const isOn = isSet(group['enable'] === undefined ? '1' : group['enable'])
    if (isOn && isSet(group['public'])) usable.set(symbol, name || symbol)
  }
  await saveOption(trx, 'GroupRatio', ratios)
  await saveOption(trx, 'UserUsableGroups', usable)
  return `${ratios.size} groups of One Hub were taken over, ${usable.size} of them open to all users`
}

const isSet = (flag: string | null | undefined): boolean =>
  flag === '1' || flag === 'true' || flag === 't'

/** Negative values count as zero, as in One Hub. */
const ratioOf = (text: string | null | undefined): number => Math.max(0, Number(text) || 0)

/** Drops the last digits, which are rounding errors. */
const rounded = (ratio: number): number => Number(ratio.toPrecision(12))

async function quotaPerUnit(trx: Queries): Promise<number> {
  const row = await trx
    .selectFrom('options')
    .select('value')
    .where('key', '=', 'QuotaPerUnit')
    .executeTakeFirst()
  const stored = Number(row?.value)
  return stored > 0 ? stored : QUOTA_PER_UNIT
}

async function saveOption(
  trx: Queries,
  key: OptionKey,
  entries: ReadonlyMap<string, number | string>,
): Promise<void> {
  const value = JSON.stringify(Object.fromEntries(entries))
  await trx.deleteFrom('options').where('key', '=', key).execute()
  await trx.insertInto('options').values({ key, value }).execute()
}
