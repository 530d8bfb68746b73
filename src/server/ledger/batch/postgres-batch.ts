import type pg from 'pg'
import { operationFault, type LedgerOperation, type LedgerResult } from '../operations.ts'

/**
 * The ledger on PostgreSQL: a batch is one call of `gatehouse_ledger`, so one round trip and one
 * transaction. Impossible operations are sorted out here, in the same words as on SQLite; the
 * function never sees them.
 */
export function createPostgresBatch(
  pool: pg.Pool,
): (operations: readonly LedgerOperation[]) => Promise<LedgerResult[]> {
  return async (operations) => {
    const faults = operations.map(operationFault)
    const possible = operations.filter((_, index) => faults[index] === null)
    const answers = possible.length === 0 ? [] : await call(pool, possible)
    let next = 0
    return faults.map((fault) => {
      if (fault !== null) return { kind: 'invalid', message: fault }
      const answer = answers[next++]
      if (answer === undefined) throw new Error('the ledger function left an operation out')
      return answer
    })
  }
}

async function call(
  pool: pg.Pool,
  operations: readonly LedgerOperation[],
): Promise<LedgerResult[]> {
  const answer = await pool.query<{ results: LedgerResult[] }>({
    name: 'gatehouse_ledger',
    text: 'SELECT gatehouse_ledger($1::jsonb) AS results',
    values: [storableJson(operations.map(flat))],
  })
  const results = answer.rows[0]?.results
  if (results === undefined) throw new Error('the ledger function gave no answer')
  return results
}

/** An operation as the function reads it: its settlement's members beside its own. */
function flat(operation: LedgerOperation): object {
  switch (operation.kind) {
    case 'settle':
      return { ...operation.settlement, kind: operation.kind }
    case 'checkpoint': {
      const { kind, settlement } = operation
      return { ...settlement, kind, checkpoint: JSON.stringify(settlement) }
    }
    case 'reserve':
    case 'release':
      return operation
    default:
      return operation satisfies never
  }
}

/** What may stand in JSON and not in PostgreSQL's texts: U+0000 and halves of surrogate pairs. */
const UNSTORABLE = /\\u0000|\\ud[89a-f]/

/** Such characters become U+FFFD: a strange model name must not hold up the calls beside it. */
function storableJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!UNSTORABLE.test(json)) return json
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'string' ? member.toWellFormed().replaceAll('\0', '\u{FFFD}') : member,
  )
}
