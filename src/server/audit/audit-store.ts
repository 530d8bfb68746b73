import { sql, type Selectable } from 'kysely'
import { AUDIT_ACTIONS, type AuditAction } from '../../contract/audit.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import type { Queries } from '../db/database.ts'
import type { AuditRow } from '../db/schema.ts'
import type { AuditContent } from './audit-chain.ts'
import { appendToChain } from './audit-chain-store.ts'
import { auditedChange, type AuditedChange } from './audit.ts'

export type StoredAudit = Selectable<AuditRow>

/** Author of a change; the context of a handler has these members. */
export interface AuditAuthor {
  actor: { id: number; user: { username: string } }
  address: string
  requestId: string
}

export interface AuditedAct extends AuditedChange {
  nowSeconds: number
  action: AuditAction
  /** Id is 0 for a target without id; the name is the one before the change. */
  target: { id: number; name: string }
}

/**
 * Records a change; call it in the transaction of the change. Stores only the members that differ,
 * with secrets masked, so whole rows may be passed. Stores nothing if there is no difference. A
 * side that does not exist (before a creation, after a deletion) is null.
 */
export const recordAudit = (db: Queries, author: AuditAuthor, act: AuditedAct): Promise<void> =>
  recordAudits(db, author, [act])

/** Records several changes of one request. */
export async function recordAudits(
  db: Queries,
  author: AuditAuthor,
  acts: readonly AuditedAct[],
): Promise<void> {
  const rows = acts.flatMap((act) => auditRow(author, act) ?? [])
  if (rows.length === 0) return
  if (db.isTransaction) return appendToChain(db, 'change', rows)
  await db.transaction().execute((trx) => appendToChain(trx, 'change', rows))
}

function auditRow(
  { actor, address, requestId }: AuditAuthor,
  { nowSeconds, action, target, before, after }: AuditedAct,
): AuditContent | null {
  const change = auditedChange({ before, after })
  if (change === null) return null
  return {
    created_at: nowSeconds,
    actor_id: actor.id,
    actor_name: actor.user.username,
    address,
    request_id: requestId,
    action,
    target_id: target.id,
    target_name: target.name,
    old_values: change.before && JSON.stringify(change.before),
    new_values: change.after && JSON.stringify(change.after),
  }
}

/** Exact matches joined by "and"; empty or 0 for no filter. */
export interface AuditFilter {
  actor: string
  target: string
  action: string
  start_timestamp: number
  end_timestamp: number
}

export interface AuditPosition {
  createdAt: number
  id: number
}

/** Returns rows, newest first, after a position or by page number. */
export function auditPage(
  db: Queries,
  filter: AuditFilter,
  {
    after,
    page,
    countMax = PAGE_SIZE,
  }: { after: AuditPosition | null; page: number; countMax?: number },
): Promise<StoredAudit[]> {
  let query = db.selectFrom('audit').selectAll()
  if (filter.actor !== '') query = query.where(named('actor', filter.actor))
  if (filter.target !== '') query = query.where(named('target', filter.target))
  if (filter.action !== '') query = query.where('action', 'in', actionsOf(filter.action))
  if (filter.start_timestamp > 0) query = query.where('created_at', '>=', filter.start_timestamp)
  if (filter.end_timestamp > 0) query = query.where('created_at', '<=', filter.end_timestamp)
  if (after !== null) {
    query = query.where(sql<boolean>`(created_at, id) < (${after.createdAt}, ${after.id})`)
  }
  return query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(countMax)
    .offset(after === null ? page * countMax : 0)
    .execute()
}

/** Condition that matches the name, or the id if the word is a number. */
function named(who: 'actor' | 'target', word: string) {
  const name = sql<boolean>`${sql.ref(`${who}_name`)} = ${word}`
  if (!/^\d{1,15}$/.test(word)) return name
  return sql<boolean>`(${name} OR ${sql.ref(`${who}_id`)} = ${Number(word)})`
}

/** Returns the actions of a noun or a full action; an unknown word is returned unchanged. */
function actionsOf(word: string): string[] {
  const known = AUDIT_ACTIONS.filter((action) => action === word || action.startsWith(`${word}.`))
  return known.length === 0 ? [word] : known
}
