import { channelTypeSections } from '../../contract/channel-types.ts'
import type { BareDatabase } from '../db/database.ts'
import { isOptionKey, isSecretOption } from '../../contract/option/options.ts'
import { optionSpec } from '../option/option.ts'
import { countRows, readMoment, readOrigin } from './adopt-store.ts'
import {
  about,
  channelTraits,
  findOddRows,
  rootIds,
  sentenceOf,
  storedOptions,
  type Finding,
} from './finding-store.ts'
import type { FoundTables } from './found-tables.ts'
import {
  isOneApiTable,
  missingColumns,
  oneApiTableNames,
  unknownColumns,
  versionHint,
  type Origin,
} from './one-api-tables.ts'
import { oddColumns, typeChanges } from './postgres/column-type-store.ts'
import { findObstacles } from './postgres/obstacle-store.ts'
import { relativeOf, typeHere } from './relative/channel-type.ts'
import { priceTables } from './relative/price-store.ts'
import { relativeFindings } from './relative/relative-finding-store.ts'

/** Report of what adoption would find and change, before it runs. */
export interface AdoptionReport {
  origin: Origin
  lines: string[]
}

/** Creates the report; changes nothing. */
export async function reportAdoption({
  db,
  engine,
}: Pick<BareDatabase, 'db' | 'engine'>): Promise<AdoptionReport> {
  const { tables, origin } = await readOrigin(db, engine)
  if (origin.kind === 'empty') return { origin, lines: ['The database is empty.'] }
  if (origin.kind === 'gatehouse')
    return { origin, lines: ['The database already belongs to Gatehouse.'] }
  if (origin.kind === 'foreign') {
    return { origin, lines: [`${capitalized(origin.reason)}.`] }
  }
  const { seconds } = await readMoment(db, engine)
  const channels = await channelTraits(db, tables)
  const odd = await findOddRows(db, { engine, tables, nowSeconds: seconds })
  const findings = [
    ...(engine === 'postgres' ? await findObstacles(db) : []),
    ...odd,
    ...(await oddRoots(db)),
    ...(await relativeFindings(db, tables, channels)),
    ...oddChannels(hereOf(tables, channels)),
    ...(tables.has('options') ? await oddOptions(db) : []),
  ]
  const types = engine === 'postgres' ? typeChanges(await oddColumns(db)) : []
  const losses = findings.filter(({ isLoss }) => isLoss === true)
  const others = findings.filter(({ isLoss }) => isLoss !== true)
  return {
    origin,
    lines: [
      `Written by ${versionHint(tables)}.`,
      '',
      'Found',
      ...(await rowsByTable(db, tables)),
      '',
      'Will change',
      ...changesOf(tables, { engine, types }).map((line) => `  ${line}`),
      '',
      ...(losses.length === 0
        ? []
        : [
            'Will be lost',
            ...losses.map((finding) => `  ${sentenceOf(finding)}`),
            '  The database is adopted only if you accept this: gatehouse adopt --accept-losses',
            '',
          ]),
      'Worth a look',
      ...(others.length === 0
        ? ['  nothing']
        : others.map((finding) => `  ${sentenceOf(finding)}`)),
    ],
  }
}

const capitalized = (sentence: string): string =>
  sentence.charAt(0).toUpperCase() + sentence.slice(1)

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
  if (columns.length > 0) lines.push(`  other columns, not changed: ${columns.join(', ')}`)
  if (others.length > 0) lines.push(`  other tables, not changed: ${others.toSorted().join(', ')}`)
  return lines
}

function changesOf(
  tables: FoundTables,
  { engine, types }: { engine: BareDatabase['engine']; types: readonly string[] },
): string[] {
  const added = missingColumns(tables).map(({ table, column }) => `${table}.${column.name}`)
  const newTables = oneApiTableNames.filter((name) => !tables.has(name))
  const prices = priceTables(tables)
  return [
    engine === 'sqlite'
      ? 'the file is copied first, into the same folder'
      : 'everything happens in one transaction; make your own backup first',
    ...(newTables.length === 0 ? [] : [`tables are added: ${newTables.join(', ')}`]),
    ...(added.length === 0 ? [] : [`columns are added: ${added.join(', ')}`]),
    ...(types.length === 0
      ? []
      : [`column types change, so that all valid values fit: ${types.join(', ')}`]),
    ...(prices.length === 0 ? [] : [`${prices.join(' and ')} become the corresponding options`]),
    'Gatehouse’s tables and columns, and indexes on logs, are added',
    'every user, token and channel gets an opening row in the ledger; no balance changes',
    'consumption is summed up by hour and day from the log rows',
  ]
}

async function oddRoots(db: BareDatabase['db']): Promise<Finding[]> {
  const ids = await rootIds(db)
  if (ids.length === 1) return []
  const what =
    ids.length === 0
      ? 'users are root; gatehouse reset-root needs one'
      : 'users are root: each has all permissions'
  return [{ what, count: ids.length, samples: ids.slice(0, 5) }]
}

type Channels = Awaited<ReturnType<typeof channelTraits>>

/** Returns the channels with their types in this program. */
function hereOf(tables: FoundTables, channels: Channels): Channels {
  const relative = relativeOf(tables)
  if (relative === null) return channels
  return channels.map((channel) => ({ ...channel, type: typeHere(relative, channel.type) }))
}

function oddChannels(channels: Channels): Finding[] {
  const { current, legacy } = channelTypeSections()
  const known = new Set([...current, ...legacy].map(({ type }) => type))
  const dead = new Set(legacy.map(({ type }) => type))
  const idsOf = (odd: Channels): string[] => odd.map(({ id }) => id)
  return [
    about(
      'channels have an unknown type; those with their own address are called like OpenAI’s, the others serve nothing',
      idsOf(channels.filter(({ type }) => !known.has(type))),
    ),
    about(
      'channels have a type whose service has ended or is obsolete',
      idsOf(channels.filter(({ type }) => dead.has(type))),
    ),
    about(
      'channels have a model mapping that is not a JSON object; it is ignored',
      idsOf(channels.filter(({ mapping }) => !isMapping(mapping))),
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

/** Values are not repeated, because some are secrets. */
async function oddOptions(db: BareDatabase['db']): Promise<Finding[]> {
  const stored = await storedOptions(db)
  const unknown = stored.map(({ key }) => key).filter((key) => !isOptionKey(key))
  const findings: Finding[] = []
  if (unknown.length > 0) {
    const what = 'options are unknown; their rows stay and have no effect'
    findings.push({ what, count: unknown.length, samples: unknown.toSorted().slice(0, 5) })
  }
  for (const { key, value } of stored) {
    if (!isOptionKey(key) || isSecretOption(key)) continue
    const problem = optionSpec(key).check(value)
    if (problem === null) continue
    findings.push({
      what: `option has an invalid value: ${problem.en}`,
      count: 1,
      samples: [key],
    })
  }
  return findings
}
