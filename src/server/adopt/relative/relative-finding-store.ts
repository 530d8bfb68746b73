import { sql, type RawBuilder } from 'kysely'
import { LogType } from '../../../contract/log.ts'
import type { Queries } from '../../db/database.ts'
import { about, SAMPLES, type Finding } from '../finding-store.ts'
import type { FoundTables } from '../found-tables.ts'
import {
  hasOtherChannels,
  mayMeanAnother,
  movesOf,
  moveText,
  relativeOf,
  UNTOLD_TYPES,
} from './channel-type.ts'
import { factorFindings } from './factor-store.ts'
import { accountFindings } from './linked-account-store.ts'
import { keySwitches, LISTED_KEYS, SWITCHED_OFF_KEYS } from './key-switch-store.ts'

/**
 * Reports what works differently here in a database of a related program; nothing about One API
 * itself.
 */

/** `channels`: with the other program's types. */
export async function relativeFindings(
  db: Queries,
  tables: FoundTables,
  channels: readonly { id: string; type: number }[],
): Promise<Finding[]> {
  const findings = [
    ...typeFindings(tables, channels),
    ...(await keyFindings(db, tables)),
    ...(await factorFindings(db, tables)),
    ...(await accountFindings(db, tables)),
    ...(await logFindings(db, tables)),
  ]
  return findings.filter(({ count }) => count > 0)
}

function typeFindings(
  tables: FoundTables,
  channels: readonly { id: string; type: number }[],
): Finding[] {
  const relative = relativeOf(tables)
  const idsOf = (some: readonly { id: string }[]): string[] => some.map(({ id }) => id)
  if (relative !== null) {
    return movesOf(relative, channels).map((move) =>
      // Lists every channel that is disabled.
      about(
        moveText(relative, move),
        idsOf(move.channels),
        move.to === null ? Infinity : undefined,
      ),
    )
  }
  const odd = channels.filter(({ type }) => mayMeanAnother(type))
  return hasOtherChannels(tables) ? [about(`channels ${UNTOLD_TYPES}`, idsOf(odd))] : []
}

async function keyFindings(db: Queries, tables: FoundTables): Promise<Finding[]> {
  const switches = await keySwitches(db, tables)
  const idsOf = (some: typeof switches): string[] => some.map(({ channel }) => String(channel.id))
  return [
    about(`channels have ${SWITCHED_OFF_KEYS}`, idsOf(switches.filter(({ isList }) => !isList))),
    about(`channels hold ${LISTED_KEYS}`, idsOf(switches.filter(({ isList }) => isList))),
  ]
}

/** https://github.com/QuantumNous/new-api/blob/main/model/log.go: 5 is an error, 6 a refund. */
async function logFindings(db: Queries, tables: FoundTables): Promise<Finding[]> {
  if (relativeOf(tables) !== 'New API' || !tables.has('logs')) return []
  return [
    await found(
      db,
      'log rows are errors (5) or refunds (6); here 5 means a test, and 6 has no meaning',
      {
        table: 'logs',
        subject: 'id',
        where: sql`type >= ${sql.lit(LogType.test)}`,
      },
    ),
  ]
}

async function found(
  db: Queries,
  what: string,
  { table, subject, where }: { table: string; subject: string; where: RawBuilder<unknown> },
): Promise<Finding> {
  const { rows } = await sql<{ subject: string; total: number }>`
    SELECT CAST(${sql.ref(subject)} AS text) AS subject, count(*) OVER () AS total
    FROM ${sql.table(table)} WHERE ${where}
    ORDER BY ${sql.ref(subject)} LIMIT ${sql.lit(SAMPLES)}`.execute(db)
  return {
    what,
    count: Number(rows[0]?.total ?? 0),
    samples: rows.map((row) => row.subject),
  }
}
