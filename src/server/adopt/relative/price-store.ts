import { sql } from 'kysely'
import type { Queries } from '../../db/database.ts'
import type { OptionKey } from '../../../contract/option/options.ts'
import type { FoundTables } from '../one-api-tables.ts'
import { relativeOf } from './channel-type.ts'

/** One Hub keeps prices and groups in tables of their own, and reads none of the options. */

type Table = 'prices' | 'user_groups'

/** Those that a table has in every version, and those that came later. */
const COLUMNS: Record<Table, { always: readonly string[]; later: readonly string[] }> = {
  prices: { always: ['model', 'type', 'input', 'output'], later: [] },
  user_groups: { always: ['symbol', 'ratio'], later: ['name', 'public', 'enable'] },
}

/** A row as texts, whatever its columns are; those that are not there are absent. */
export type PriceRow = Readonly<Record<string, string | null>>
export type PriceRows = Map<Table, PriceRow[]>

// The keys of the object above are exactly these.
const TABLES = Object.keys(COLUMNS) as Table[]

export const isPriceTable = (name: string): name is Table => Object.hasOwn(COLUMNS, name)

/** What is read of a table with these columns; nothing of one that is another program's. */
export function priceColumns(table: Table, found: readonly string[]): string[] {
  const { always, later } = COLUMNS[table]
  if (!always.every((name) => found.includes(name))) return []
  return [...always, ...later.filter((name) => found.includes(name))]
}

/** Which of the tables are there to read. */
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

/** Makes the rows the options that are theirs here. Answers what it has done, a line each. */
export async function carryPrices(trx: Queries, read: PriceRows): Promise<string[]> {
  const prices = read.get('prices')
  const groups = read.get('user_groups')
  return [
    ...(prices === undefined ? [] : [await carryModelPrices(trx, prices)]),
    ...(groups === undefined ? [] : [await carryGroups(trx, groups)]),
  ]
}

/** A ratio of 1 is this many points a token; by the call it is that of so many tokens. */
const TOKENS_PER_CALL = 1000
const QUOTA_PER_UNIT = 500_000
/** The highest ratio there is. */
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
    // What an answer costs is told by its question's price, which must be something then.
    const input = ratioOf(price['input']) || rounded(output / COMPLETION_MAX)
    ratios.set(model, input)
    completions.set(model, input === 0 ? 1 : rounded(output / input))
  }
  await saveOption(trx, 'ModelRatio', ratios)
  await saveOption(trx, 'CompletionRatio', completions)
  if (perCall.size > 0) await saveOption(trx, 'ModelPrice', perCall)
  return `${ratios.size + perCall.size} prices of One Hub are carried over`
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
  return `${ratios.size} groups of One Hub are carried over, ${usable.size} of them open to anybody`
}

const isSet = (flag: string | null | undefined): boolean =>
  flag === '1' || flag === 'true' || flag === 't'

/** Below zero counts as nothing, as it does there. */
const ratioOf = (text: string | null | undefined): number => Math.max(0, Number(text) || 0)

/** Without the last digits, which are noise of the division. */
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
