import type { Queries } from '../db/database.ts'
import type { AuditChain, AuditContent } from './audit-chain.ts'
import { auditHash, ChainCheck } from './audit-chain.ts'

const CHAINS: readonly AuditChain[] = ['change', 'refusal']

/** Number of rows per statement. */
const ROWS_PER_STATEMENT = 500

/**
 * Appends entries to a chain. Its row in `audit_chains` is locked until the transaction ends, so
 * that entries of all processes follow each other, in the order of their ids.
 */
export async function appendToChain(
  trx: Queries,
  chain: AuditChain,
  contents: readonly AuditContent[],
): Promise<void> {
  let previous = (await lockChain(trx, chain)).head
  const rows = contents.map((content) => {
    const row = { ...content, chain, prev_hash: previous, hash: auditHash(previous, content) }
    previous = row.hash
    return row
  })
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    const chunk = rows.slice(start, start + ROWS_PER_STATEMENT)
    await trx.insertInto('audit').values(chunk).execute()
  }
  await trx.updateTable('audit_chains').set({ head: previous }).where('name', '=', chain).execute()
}

const lockChain = (trx: Queries, chain: AuditChain): Promise<{ anchor: string; head: string }> =>
  // Creates the row at the first entry. Updating a column to its own value takes the row lock on
  // PostgreSQL.
  trx
    .insertInto('audit_chains')
    .values({ name: chain, anchor: '', head: '' })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((eb) => ({ head: eb.ref('audit_chains.head') })),
    )
    .returning(['anchor', 'head'])
    .executeTakeFirstOrThrow()

/**
 * Deletes at most `countMax` entries of a chain from before a time, from the oldest end, and
 * anchors the rest. Returns the number of deleted entries.
 */
export async function trimChain(
  trx: Queries,
  chain: AuditChain,
  { beforeSeconds, countMax }: { beforeSeconds: number; countMax: number },
): Promise<number> {
  const { anchor } = await lockChain(trx, chain)
  const oldest = await trx
    .selectFrom('audit')
    .select(['id', 'created_at', 'hash'])
    .where('chain', '=', chain)
    .orderBy('id')
    .limit(countMax)
    .execute()
  // Clocks of processes differ, so that times need not rise with the ids: the first entry to keep
  // ends the deletion.
  const kept = oldest.findIndex((row) => row.created_at >= beforeSeconds)
  const old = kept === -1 ? oldest : oldest.slice(0, kept)
  const last = old.at(-1)
  if (last === undefined) return 0
  await trx.deleteFrom('audit').where('chain', '=', chain).where('id', '<=', last.id).execute()
  const hash = old.findLast((row) => row.hash !== null)?.hash ?? anchor
  await trx.updateTable('audit_chains').set({ anchor: hash }).where('name', '=', chain).execute()
  return old.length
}

/** Entries read at a time. */
const ROWS_PER_READ = 1000

export interface AuditReport {
  /** Number of entries with a hash. */
  count: number
  problems: string[]
}

/** Recomputes the chains. Call it in a snapshot. */
export async function checkChains(db: Queries): Promise<AuditReport> {
  const report: AuditReport = { count: 0, problems: [] }
  for (const chain of CHAINS) {
    const stored = await db
      .selectFrom('audit_chains')
      .select(['anchor', 'head'])
      .where('name', '=', chain)
      .executeTakeFirst()
    const check = new ChainCheck(stored?.anchor ?? '')
    for (let after = 0; ;) {
      const rows = await db
        .selectFrom('audit')
        .selectAll()
        .where('chain', '=', chain)
        .where('id', '>', after)
        .orderBy('id')
        .limit(ROWS_PER_READ)
        .execute()
      for (const row of rows) check.add(row)
      const last = rows.at(-1)
      if (last === undefined) break
      after = last.id
    }
    check.end(stored?.head ?? '')
    report.count += check.count
    report.problems.push(...check.problems)
  }
  return report
}

/** Returns entries of a chain behind an id, oldest first. */
export const auditAfter = (
  db: Queries,
  chain: AuditChain,
  { after, countMax }: { after: number; countMax: number },
) =>
  db
    .selectFrom('audit')
    .selectAll()
    .where('chain', '=', chain)
    .where('id', '>', after)
    .orderBy('id')
    .limit(countMax)
    .execute()
