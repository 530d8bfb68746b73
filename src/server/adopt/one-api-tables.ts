import type { Engine } from '../db/migrate.ts'
import { takenNames } from './taken-names.ts'

/**
 * One API's tables in its last version. Older versions lack columns; existing columns are not
 * changed.
 */

export type ColumnKind = 'whole' | 'real' | 'flag' | 'text' | 'char32' | 'char48'

export interface OneApiColumn {
  name: string
  kind: ColumnKind
  /** SQL literal; absent for NULL. */
  otherwise?: string
  /** Present in every version: a table without it belongs to another program. */
  isCore?: true
}

export type OneApiTable =
  | 'channels'
  | 'tokens'
  | 'users'
  | 'options'
  | 'redemptions'
  | 'abilities'
  | 'logs'

const column = (name: string, kind: ColumnKind, otherwise?: string): OneApiColumn => ({
  name,
  kind,
  ...(otherwise === undefined ? {} : { otherwise }),
})
const core = (name: string, kind: ColumnKind, otherwise?: string): OneApiColumn => ({
  ...column(name, kind, otherwise),
  isCore: true,
})
const EMPTY = "''"

/** In the order of the server's own migration, as are their columns. */
export const oneApiTables: Record<OneApiTable, readonly OneApiColumn[]> = {
  channels: [
    core('id', 'whole'),
    core('type', 'whole', '0'),
    core('key', 'text'),
    core('status', 'whole', '1'),
    core('name', 'text'),
    column('weight', 'whole', '0'),
    column('created_time', 'whole'),
    column('test_time', 'whole'),
    column('response_time', 'whole'),
    column('base_url', 'text', EMPTY),
    column('other', 'text'),
    column('balance', 'real'),
    column('balance_updated_time', 'whole'),
    core('models', 'text'),
    column('group', 'text', "'default'"),
    column('used_quota', 'whole', '0'),
    column('model_mapping', 'text', EMPTY),
    column('priority', 'whole', '0'),
    column('config', 'text'),
    column('system_prompt', 'text'),
    // Exists here and in related programs, with the same meaning; One API lacks it.
    column('test_model', 'text'),
  ],
  tokens: [
    core('id', 'whole'),
    core('user_id', 'whole'),
    core('key', 'char48'),
    core('status', 'whole', '1'),
    core('name', 'text'),
    column('created_time', 'whole'),
    column('accessed_time', 'whole'),
    column('expired_time', 'whole', '-1'),
    core('remain_quota', 'whole', '0'),
    column('unlimited_quota', 'flag', 'false'),
    column('used_quota', 'whole', '0'),
    column('models', 'text'),
    column('subnet', 'text', EMPTY),
  ],
  users: [
    core('id', 'whole'),
    core('username', 'text'),
    core('password', 'text', EMPTY),
    column('display_name', 'text'),
    core('role', 'whole', '1'),
    core('status', 'whole', '1'),
    column('email', 'text'),
    column('github_id', 'text'),
    column('wechat_id', 'text'),
    column('lark_id', 'text'),
    column('oidc_id', 'text'),
    column('access_token', 'char32'),
    core('quota', 'whole', '0'),
    column('used_quota', 'whole', '0'),
    column('request_count', 'whole', '0'),
    column('group', 'text', "'default'"),
    column('aff_code', 'char32'),
    column('inviter_id', 'whole'),
  ],
  options: [core('key', 'text'), core('value', 'text')],
  redemptions: [
    core('id', 'whole'),
    column('user_id', 'whole'),
    core('key', 'char32'),
    core('status', 'whole', '1'),
    column('name', 'text'),
    core('quota', 'whole', '100'),
    column('created_time', 'whole'),
    column('redeemed_time', 'whole'),
  ],
  abilities: [
    core('group', 'text'),
    core('model', 'text'),
    core('channel_id', 'whole'),
    core('enabled', 'flag'),
    column('priority', 'whole', '0'),
  ],
  logs: [
    core('id', 'whole'),
    core('user_id', 'whole'),
    core('created_at', 'whole'),
    core('type', 'whole'),
    core('content', 'text'),
    column('username', 'text', EMPTY),
    column('token_name', 'text', EMPTY),
    column('model_name', 'text', EMPTY),
    column('quota', 'whole', '0'),
    column('prompt_tokens', 'whole', '0'),
    column('completion_tokens', 'whole', '0'),
    column('channel_id', 'whole'),
    column('request_id', 'text', EMPTY),
    column('elapsed_time', 'whole', '0'),
    column('is_stream', 'flag', 'false'),
    column('system_prompt_reset', 'flag', 'false'),
  ],
}

// The keys of the object above are exactly these.
export const oneApiTableNames = Object.keys(oneApiTables) as OneApiTable[]

export const isOneApiTable = (name: string): name is OneApiTable =>
  Object.hasOwn(oneApiTables, name)

/** Tables required for adoption. */
const ESSENTIAL: readonly OneApiTable[] = ['users', 'tokens', 'channels']

/** Tables of a database with their columns. */
export type FoundTables = ReadonlyMap<string, ReadonlySet<string>>

export type Origin =
  | { kind: 'empty' }
  | { kind: 'gatehouse' }
  | { kind: 'one-api' }
  /** Tables with One API's or our names belong to another program. `reason` is a sentence. */
  | { kind: 'foreign'; reason: string }

/** Returns the origin of a database. Tables with other names are ignored. */
export function originOf(tables: FoundTables, engine: Engine): Origin {
  if (tables.has('schema_migrations') && tables.has('ledger')) return { kind: 'gatehouse' }
  const taken = takenNames(tables, engine)
  if (taken.length > 0) {
    const reason = `another program uses names that Gatehouse needs: ${taken.join(', ')}; rename them, or move them to another database, and start again`
    return { kind: 'foreign', reason }
  }
  const present = oneApiTableNames.filter((name) => tables.has(name))
  if (present.length === 0) return { kind: 'empty' }
  for (const name of present) {
    const missing = oneApiTables[name].find(
      (wanted) => wanted.isCore === true && tables.get(name)?.has(wanted.name) !== true,
    )
    if (missing !== undefined) {
      // The first versions of One API had no models in channels.
      const older =
        missing.name === 'models'
          ? ', or to One API before 0.4; start a later version on it first'
          : ''
      return belongsToAnother(`its table ${name} has no column ${missing.name}${older}`)
    }
  }
  const absent = ESSENTIAL.find((name) => !tables.has(name))
  return absent === undefined
    ? { kind: 'one-api' }
    : belongsToAnother(`it has a table ${present[0]} but no table ${absent}`)
}

const belongsToAnother = (why: string): Origin => ({
  kind: 'foreign',
  reason: `the database belongs to another program: ${why}`,
})

/**
 * Returns columns that an older version lacks, by table. Completely missing tables are not
 * included.
 */
export function missingColumns(
  tables: FoundTables,
): { table: OneApiTable; column: OneApiColumn }[] {
  return oneApiTableNames.flatMap((table) => {
    const found = tables.get(table)
    if (found === undefined) return []
    return oneApiTables[table]
      .filter(({ name }) => !found.has(name))
      .map((missing) => ({ table, column: missing }))
  })
}

/** Derives from the columns which version wrote them. */
export function versionHint(tables: FoundTables): string {
  const has = (table: OneApiTable, name: string): boolean => tables.get(table)?.has(name) === true
  if (has('logs', 'system_prompt_reset')) return 'One API 0.6.11 or newer'
  if (has('channels', 'system_prompt')) return 'One API 0.6.10'
  if (has('users', 'oidc_id')) return 'One API 0.6.9'
  if (has('tokens', 'subnet')) return 'One API 0.6.6 to 0.6.8'
  return 'One API before 0.6.6'
}

/** Returns columns that neither One API nor this program has, as `table.column`. */
export function unknownColumns(tables: FoundTables): string[] {
  return oneApiTableNames.flatMap((table) => {
    const known = new Set(oneApiTables[table].map(({ name }) => name))
    return [...(tables.get(table) ?? [])]
      .filter((name) => !known.has(name))
      .map((name) => `${table}.${name}`)
  })
}
