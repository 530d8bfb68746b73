import { channelTypeSections } from '../../contract/channel-types.ts'
import type { BareDatabase } from '../db/database.ts'
import { isOptionKey, isSecretOption, options } from '../option/option.ts'
import { countRows, readMoment, readTables } from './adopt-store.ts'
import {
  channelTraits,
  findObstacles,
  findOddRows,
  rootIds,
  storedOptions,
  type Finding,
} from './finding-store.ts'
import {
  isOneApiTable,
  missingColumns,
  oneApiTableNames,
  originOf,
  versionHint,
  type FoundTables,
  type Origin,
} from './one-api-tables.ts'
import { unknownColumns } from './relative.ts'

/** What adoption would find and do, for the operator to read before it happens. */
export interface AdoptionReport {
  origin: Origin
  lines: string[]
}

/** Looks and changes nothing. */
export async function reportAdoption({
  db,
  engine,
}: Pick<BareDatabase, 'db' | 'engine'>): Promise<AdoptionReport> {
  const tables = await readTables(db, engine)
  const origin = originOf(tables, engine)
  if (origin.kind === 'empty') return { origin, lines: ['The database is empty.'] }
  if (origin.kind === 'gatehouse')
    return { origin, lines: ['The database is Gatehouse’s already.'] }
  if (origin.kind === 'foreign') {
    return { origin, lines: [`${capitalized(origin.reason)}.`] }
  }
  const { seconds } = await readMoment(db, engine)
  const odd = await findOddRows(db, { engine, tables, nowSeconds: seconds })
  const findings = [
    ...(engine === 'postgres' ? await findObstacles(db) : []),
    ...odd,
    ...(await oddRoots(db)),
    ...(await oddChannels(db, tables)),
    ...(tables.has('options') ? await oddOptions(db) : []),
  ]
  return {
    origin,
    lines: [
      `Written by ${versionHint(tables)}.`,
      '',
      'Found',
      ...(await rowsByTable(db, tables)),
      '',
      'Will change',
      ...changesOf(tables, engine).map((line) => `  ${line}`),
      '',
      'Worth a look',
      ...(findings.length === 0 ? ['  nothing'] : findings.map(describe)),
    ],
  }
}

const capitalized = (sentence: string): string =>
  sentence.charAt(0).toUpperCase() + sentence.slice(1)

const describe = ({ what, count, samples }: Finding): string => {
  const rest = count > samples.length ? ', …' : ''
  return `  ${count} ${what}${samples.length === 0 ? '' : ` (${samples.join(', ')}${rest})`}`
}

async function rowsByTable(db: BareDatabase['db'], tables: FoundTables): Promise<string[]> {
  const lines: string[] = []
  for (const table of oneApiTableNames) {
    const rows = tables.has(table) ? `${await countRows(db, table)} rows` : 'no such table'
    lines.push(`  ${table.padEnd(12)}${rows}`)
  }
  const others = [...tables.keys()].filter(
    (name) => !isOneApiTable(name) && !name.startsWith('sqlite_'),
  )
  const columns = unknownColumns(tables)
  if (columns.length > 0) lines.push(`  other columns, left alone: ${columns.join(', ')}`)
  if (others.length > 0) lines.push(`  other tables, left alone: ${others.toSorted().join(', ')}`)
  return lines
}

function changesOf(tables: FoundTables, engine: BareDatabase['engine']): string[] {
  const added = missingColumns(tables).map(({ table, column }) => `${table}.${column.name}`)
  const newTables = oneApiTableNames.filter((name) => !tables.has(name))
  return [
    engine === 'sqlite'
      ? 'a copy of the file is made beside it first'
      : 'all of it is one transaction; make a backup of your own first',
    ...(newTables.length === 0 ? [] : [`tables are added: ${newTables.join(', ')}`]),
    ...(added.length === 0 ? [] : [`columns are added: ${added.join(', ')}`]),
    ...(engine === 'postgres'
      ? ['group and model_mapping columns become text, so that long lists fit']
      : []),
    'tables and columns of our own, and indexes on logs, are added',
    'every user, token and channel gets an opening row in the ledger; no balance moves',
    'consumption is summed up by hour and day from the log rows',
  ]
}

async function oddRoots(db: BareDatabase['db']): Promise<Finding[]> {
  const ids = await rootIds(db)
  if (ids.length === 1) return []
  const what =
    ids.length === 0
      ? 'users are root; gatehouse reset-root needs one'
      : 'users are root: each may do everything'
  return [{ what, count: ids.length, samples: ids.slice(0, 5) }]
}

/** Up to here all programs of the family number providers alike. */
const SHARED_TYPE_MAX = 40

async function oddChannels(db: BareDatabase['db'], tables: FoundTables): Promise<Finding[]> {
  const { current, legacy } = channelTypeSections()
  const known = new Set([...current, ...legacy].map(({ type }) => type))
  const dead = new Set(legacy.map(({ type }) => type))
  const channels = await channelTraits(db, tables)
  const about = (what: string, odd: { id: string }[]): Finding => ({
    what,
    count: odd.length,
    samples: odd.slice(0, 5).map(({ id }) => id),
  })
  const isRelative = unknownColumns(tables).some((name) => name.startsWith('channels.'))
  return [
    about(
      'channels were made by a relative of One API, which numbers newer types otherwise: look at their types before the first call',
      isRelative ? channels.filter(({ type }) => type > SHARED_TYPE_MAX) : [],
    ),
    about(
      'channels have a type that is not known here; they are kept and serve nothing',
      channels.filter(({ type }) => !known.has(type)),
    ),
    about(
      'channels have a type whose service is gone or out of use',
      channels.filter(({ type }) => dead.has(type)),
    ),
    about(
      'channels have a model mapping that is no JSON object; it maps nothing',
      channels.filter(({ mapping }) => !isMapping(mapping)),
    ),
  ].filter(({ count }) => count > 0)
}

function isMapping(text: string): boolean {
  if (text.trim() === '') return true
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  } catch {
    return false
  }
}

/** Values are not repeated: some are secrets. */
async function oddOptions(db: BareDatabase['db']): Promise<Finding[]> {
  const stored = await storedOptions(db)
  const unknown = stored.map(({ key }) => key).filter((key) => !isOptionKey(key))
  const findings: Finding[] = []
  if (unknown.length > 0) {
    const what = 'options are not known here; their rows stay and have no effect'
    findings.push({ what, count: unknown.length, samples: unknown.toSorted().slice(0, 5) })
  }
  for (const { key, value } of stored) {
    if (!isOptionKey(key) || isSecretOption(key)) continue
    const problem = options[key].check(value)
    if (problem === null) continue
    findings.push({
      what: `option has a value that does not fit: ${problem.en}`,
      count: 1,
      samples: [key],
    })
  }
  return findings
}
