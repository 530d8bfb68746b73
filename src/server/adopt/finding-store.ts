import { sql, type RawBuilder } from 'kysely'
import { ChannelStatus } from '../../contract/channel.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { SECONDS_PER_DAY } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import type { Engine } from '../db/migrate.ts'
import { hasWrongFigure } from './figure-store.ts'
import { hasIds, hasWrongId } from './id-store.ts'
import type { FoundTables } from './found-tables.ts'
import { oneApiTableNames, type OneApiTable } from './one-api-tables.ts'
import { isGroupChosen, isGroupGiven, isMarkedDeleted } from './relative/carry-over-store.ts'
import { hasBytes } from './text-store.ts'

/** Rows of a One API database with unexpected behavior after adoption. */
export interface Finding {
  /** Description that follows a number: `users have a negative balance`. */
  what: string
  /** Number of rows. */
  count: number
  /** The first rows, by id or name. */
  samples: string[]
  /** Whether users lose something, so that adoption stops until the operator accepts it. */
  isLoss?: true
}

interface Question {
  what: string
  table: OneApiTable
  /** Required columns; older versions may lack them. */
  needs: [OneApiTable, string][]
  /** Name of a row in the report; `id` by default. */
  subject?: RawBuilder<unknown>
  where: RawBuilder<unknown>
}

export const SAMPLES = 5

/** Returns a finding about rows with known names, of which the first ones are shown. */
export const about = (what: string, names: readonly string[], shown = SAMPLES): Finding => ({
  what,
  count: names.length,
  samples: names.slice(0, shown),
})

/** Returns a finding about users who lose something; all of them are shown. */
export const aboutLoss = (what: string, names: readonly string[]): Finding => ({
  ...about(what, names, Infinity),
  isLoss: true,
})

const idIn = (table: OneApiTable) => sql`SELECT id FROM ${sql.table(table)}`

/** Columns that must be unique. A database without its indexes may contain duplicates. */
const UNIQUE = [
  ['users', 'username'],
  ['users', 'access_token'],
  ['users', 'aff_code'],
  ['tokens', 'key'],
  ['redemptions', 'key'],
] as const

const sharedQuestions = UNIQUE.map(([table, column]): Question => ({
  what: `${table} have the same ${column} as another; adoption stops until each is unique`,
  table,
  needs: [[table, column]],
  where: sql`${sql.ref(column)} IN (SELECT ${sql.ref(column)} FROM ${sql.table(table)}
      GROUP BY ${sql.ref(column)} HAVING count(*) > 1)`,
}))

/** Findings that stop adoption, and features of related programs that work differently here. */
const structuralQuestions: Question[] = [
  ...sharedQuestions,
  ...(['users', 'tokens', 'channels', 'redemptions'] as const).map((table): Question => ({
    what: `${table} are marked as deleted; they cannot be used here either`,
    table,
    needs: [[table, 'deleted_at']],
    where: isMarkedDeleted,
  })),
  {
    what: 'tokens have their own group; it stays, and calls are refused unless the owner may use it (UserUsableGroups)',
    table: 'tokens',
    needs: [['tokens', 'group']],
    where: isGroupGiven,
  },
  {
    what: 'tokens choose their group per call; here they use the group of their user',
    table: 'tokens',
    needs: [['tokens', 'group']],
    where: isGroupChosen,
  },
  {
    what: 'users have points for invitations that they have not transferred yet; these stay in users.aff_quota and are in no balance here',
    table: 'users',
    needs: [['users', 'aff_quota']],
    where: sql`coalesce(CAST(aff_quota AS text), '0') NOT IN ('', '0')`,
  },
  {
    what: 'codes have an expiry time; those that have not expired yet become valid without limit',
    table: 'redemptions',
    needs: [['redemptions', 'expired_time']],
    where: sql`coalesce(CAST(expired_time AS text), '0') NOT IN ('', '0')`,
  },
]

const QUESTIONS: readonly Question[] = [
  {
    what: 'users have a negative balance; it is not changed',
    table: 'users',
    needs: [],
    where: sql`quota < 0`,
  },
  {
    what: 'limited tokens have a negative quota; it is not changed',
    table: 'tokens',
    needs: [['tokens', 'unlimited_quota']],
    // The column is not a boolean in every database before adoption.
    where: sql`remain_quota < 0
      AND coalesce(CAST(unlimited_quota AS text), '0') NOT IN ('1', 'true')`,
  },
  {
    what: 'tokens belong to missing users; they are refused, as before',
    table: 'tokens',
    needs: [],
    where: sql`coalesce(user_id, 0) NOT IN (${idIn('users')})`,
  },
  {
    what: 'e-mail addresses belong to several users; signing in with one signs in the oldest of them',
    table: 'users',
    needs: [['users', 'email']],
    subject: sql`email`,
    where: sql`coalesce(email, '') <> '' AND id = (
        SELECT min(same.id) FROM users AS same
        WHERE same.email = users.email AND same.status <> ${sql.lit(UserStatus.deleted)})
      AND 1 < (SELECT count(*) FROM users AS same
        WHERE same.email = users.email AND same.status <> ${sql.lit(UserStatus.deleted)})`,
  },
  {
    what: 'users have an unknown role; they have the permissions of the next lower one',
    table: 'users',
    needs: [],
    where: sql`coalesce(role, 0) NOT IN (${sql.lit(Role.user)}, ${sql.lit(Role.admin)}, ${sql.lit(Role.root)})`,
  },
  {
    what: 'users have a password that is not a bcrypt hash; they cannot sign in with a password',
    table: 'users',
    needs: [],
    where: sql`password <> '' AND password NOT LIKE '$2_$%'`,
  },
  {
    what: 'channels have a base address that ends in /v1; One API added a second one, here it is used unchanged',
    table: 'channels',
    needs: [['channels', 'base_url']],
    where: sql`base_url LIKE '%/v1' OR base_url LIKE '%/v1/'`,
  },
  {
    what: 'enabled channels list no models and serve nothing',
    table: 'channels',
    needs: [],
    where: sql`status = ${sql.lit(ChannelStatus.enabled)} AND coalesce(models, '') = ''`,
  },
  {
    what: 'abilities belong to missing channels; they are ignored',
    table: 'abilities',
    needs: [],
    subject: sql`channel_id`,
    where: sql`channel_id NOT IN (${idIn('channels')})`,
  },
]

/** `nowSeconds` limits plausible times. */
const questions = (nowSeconds: number): Question[] => [
  ...QUESTIONS,
  {
    what: 'log rows have no time, or a time in the future; lists show them at that time',
    table: 'logs',
    needs: [],
    where: sql`coalesce(created_at, 0) <= 0
      OR created_at > ${sql.lit(nowSeconds + SECONDS_PER_DAY)}`,
  },
]

/** Values that adoption changes. */
function valueQuestions(engine: Engine, tables: FoundTables): Question[] {
  return oneApiTableNames.flatMap((table): Question[] => {
    const figures = tables.has(table) ? hasWrongFigure(table, { engine, tables }) : null
    const bytes = engine === 'sqlite' ? hasBytes(table, tables) : null
    const subject = SUBJECTS[table]
    const asked = (what: string, where: RawBuilder<unknown> | null): Question[] =>
      where === null
        ? []
        : [{ what: `${table} ${what}`, table, needs: [], where, ...(subject && { subject }) }]
    return [
      ...asked(
        'have ids out of range; they get new ones',
        hasIds(table) && tables.has(table) ? hasWrongId : null,
      ),
      ...asked('have bytes in text columns; they are converted to text', bytes),
      ...asked('have fractional figures or figures out of range; they are corrected', figures),
    ]
  })
}

/** Names of rows in tables without ids. */
const SUBJECTS: Partial<Record<OneApiTable, RawBuilder<unknown>>> = {
  options: sql.ref('key'),
  abilities: sql.ref('channel_id'),
}

/** Returns what is unusual in the database. */
export async function findOddRows(
  db: Queries,
  scope: { engine: Engine; tables: FoundTables; nowSeconds: number },
): Promise<Finding[]> {
  const { engine, tables, nowSeconds } = scope
  const findings = await answers(db, [...structuralQuestions, ...questions(nowSeconds)], tables)
  for (const question of valueQuestions(engine, tables)) findings.push(await ask(db, question))
  return findings.filter(({ count }) => count > 0)
}

/** Returns duplicates that would make adoption fail. */
export const findShared = (db: Queries, tables: FoundTables): Promise<Finding[]> =>
  answers(db, sharedQuestions, tables)

/** Formats a finding: `3 users have the same username … (1, 2, …)`. */
export function sentenceOf({ what, count, samples }: Finding): string {
  const rest = count > samples.length ? ', …' : ''
  return `${count} ${what}${samples.length === 0 ? '' : ` (${samples.join(', ')}${rest})`}`
}

async function answers(
  db: Queries,
  asked: readonly Question[],
  tables: FoundTables,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const question of asked) {
    const needed: [OneApiTable, string][] = [[question.table, 'id'], ...question.needs]
    const has = ([table, column]: [OneApiTable, string]): boolean =>
      tables.get(table)?.has(column === 'id' && table === 'abilities' ? 'model' : column) === true
    if (needed.every(has)) findings.push(await ask(db, question))
  }
  return findings.filter(({ count }) => count > 0)
}

async function ask(db: Queries, { what, table, subject, where }: Question): Promise<Finding> {
  const name = subject ?? sql.ref('id')
  const { rows } = await sql<{ subject: string | null; total: number }>`
    SELECT CAST(subject AS text) AS subject, count(*) OVER () AS total
    FROM (SELECT DISTINCT ${name} AS subject FROM ${sql.table(table)} WHERE ${where}) AS odd
    ORDER BY odd.subject LIMIT ${sql.lit(SAMPLES)}`.execute(db)
  return {
    what,
    count: Number(rows[0]?.total ?? 0),
    samples: rows.map((row) => row.subject ?? ''),
  }
}

// Read as text: nothing is corrected yet, so a column may contain any value.
const asText = (column: string) => sql<string | null>`CAST(${sql.ref(column)} AS text)`

/** Returns the ids of the users with the highest role, oldest first. */
export async function rootIds(db: Queries): Promise<string[]> {
  const rows = await db
    .selectFrom('users')
    .select(asText('id').as('found'))
    .where('role', '>=', Role.root)
    .where('status', '<>', UserStatus.deleted)
    .orderBy('id')
    .execute()
  return rows.map(({ found }) => found ?? '')
}

/** Returns types and model mappings of channels, to be checked in code. */
export async function channelTraits(
  db: Queries,
  tables: FoundTables,
): Promise<{ id: string; type: number; mapping: string }[]> {
  const hasMapping = tables.get('channels')?.has('model_mapping') === true
  const mapping = hasMapping ? asText('model_mapping') : sql<string>`''`
  const rows = await db
    .selectFrom('channels')
    .select([asText('id').as('found'), asText('type').as('kind'), mapping.as('mapping')])
    .orderBy('id')
    .execute()
  return rows.map(({ found, kind, mapping: text }) => ({
    id: found ?? '',
    type: Number(kind),
    mapping: text ?? '',
  }))
}

export async function storedOptions(db: Queries): Promise<{ key: string; value: string }[]> {
  const rows = await db
    .selectFrom('options')
    .select([asText('key').as('named'), asText('value').as('held')])
    .orderBy('key')
    .execute()
  return rows.map(({ named, held }) => ({ key: named ?? '', value: held ?? '' }))
}
