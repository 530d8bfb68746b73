import type pg from 'pg'
import {
  checkpointText,
  operationFault,
  type LedgerOperation,
  type LedgerResult,
  type Settlement,
} from '../operations.ts'

/**
 * The ledger on PostgreSQL: a batch is one call of `gatehouse_ledger_batch_2`, so one round trip
 * and one transaction. Impossible operations are sorted out here, in the same words as on SQLite;
 * the function never sees them. Neither does it see two operations on one call side by side, which
 * hardly ever happens: the second begins a transaction of its own.
 */
export function createPostgresBatch(
  pool: pg.Pool,
): (operations: readonly LedgerOperation[]) => Promise<LedgerResult[]> {
  return async (operations) => {
    const faults = operations.map(operationFault)
    const possible = operations.filter((_, index) => faults[index] === null)
    const answers: LedgerResult[] = []
    for (const distinct of withDistinctIds(possible)) answers.push(...(await call(pool, distinct)))
    let next = 0
    return faults.map((fault) => {
      if (fault !== null) return { kind: 'invalid', message: fault }
      const answer = answers[next++]
      if (answer === undefined) throw new Error('the ledger function left an operation out')
      return answer
    })
  }
}

/** The operations in their order, cut where a request id comes again. */
function withDistinctIds(operations: readonly LedgerOperation[]): LedgerOperation[][] {
  const parts: LedgerOperation[][] = []
  let part: LedgerOperation[] = []
  let ids = new Set<string>()
  for (const operation of operations) {
    const id = requestIdOf(operation)
    if (part.length === 0 || ids.has(id)) {
      part = []
      parts.push(part)
      ids = new Set()
    }
    part.push(operation)
    ids.add(id)
  }
  return parts
}

const requestIdOf = (operation: LedgerOperation): string =>
  'settlement' in operation ? operation.settlement.requestId : operation.requestId

async function call(
  pool: pg.Pool,
  operations: readonly LedgerOperation[],
): Promise<LedgerResult[]> {
  const answer = await pool.query<{ results: LedgerResult[] }>({
    name: 'gatehouse_ledger_batch_2',
    text: 'SELECT gatehouse_ledger_batch_2($1, $2, $3, $4, $5) AS results',
    values: argumentsOf(operations),
  })
  const results = answer.rows[0]?.results
  if (results === undefined) throw new Error('the ledger function gave no answer')
  return results
}

/** The function's arguments, each an array in PostgreSQL's own notation. */
function argumentsOf(operations: readonly LedgerOperation[]): string[] {
  const requestIds: string[] = []
  const userIds = new Set<number>()
  const tokenIds = new Set<number>()
  const channelIds = new Set<number>()
  const rows: string[] = []
  for (const operation of operations) {
    requestIds.push(storable(requestIdOf(operation)))
    rows.push(`"(${row(operation)})"`)
    if (operation.kind === 'reserve') {
      userIds.add(operation.userId)
      tokenIds.add(operation.tokenId)
    }
    if (operation.kind === 'settle') channelIds.add(operation.settlement.channelId)
  }
  return [
    `{${rows.join(',')}}`,
    `{${requestIds.map((id) => `"${id.replace(QUOTED, '\\$&')}"`).join(',')}}`,
    `{${[...userIds].join(',')}}`,
    `{${[...tokenIds].join(',')}}`,
    `{${[...channelIds].join(',')}}`,
  ]
}

/** The members of `gatehouse_ledger_operation`; one that is empty is null. */
function row(operation: LedgerOperation): string {
  switch (operation.kind) {
    case 'reserve': {
      const { kind, requestId, userId, tokenId, amount, tokens = '', nowSeconds, node } = operation
      const asked = `${userId},${tokenId},${amount},${tokens},${nowSeconds},${text(node)}`
      return `${kind},${text(requestId)},${asked},,,,,,,,,,,,,`
    }
    case 'settle':
      return settlementRow(operation.kind, operation.settlement, '')
    case 'checkpoint': {
      const { kind, settlement } = operation
      return settlementRow(kind, settlement, text(checkpointText(operation)))
    }
    case 'release':
      return `${operation.kind},${text(operation.requestId)},,,,,,,,,,,,,,,,,,,`
    default:
      return operation satisfies never
  }
}

function settlementRow(kind: string, settlement: Settlement, checkpoint: string): string {
  const { requestId, userId, tokenId, cost, nowSeconds, channelId } = settlement
  const { promptTokens, completionTokens, username, tokenName, modelName } = settlement
  const { detail, content, elapsedMs, isStream, systemPromptReset, keepLog } = settlement
  const balances = `${text(requestId)},${userId},${tokenId},${cost},,${nowSeconds},,${checkpoint}`
  const usage = `${channelId},${promptTokens},${completionTokens}`
  const texts = [username, tokenName, modelName, detail, content].map(text).join(',')
  return `${kind},${balances},${usage},${texts},${elapsedMs},${isStream},${systemPromptReset},${keepLog}`
}

/**
 * A text as a member of a row in an array: both put it in quotes, so that a quote or backslash of
 * its own is escaped for the row, and both characters of that for the array.
 * https://www.postgresql.org/docs/current/rowtypes.html#ROWTYPES-IO-SYNTAX
 */
const text = (value: string): string => `\\"${storable(value).replace(QUOTED, '\\\\\\$&')}\\"`

const QUOTED = /["\\]/g

/** What a JavaScript string may hold and a text of PostgreSQL not: U+0000, halves of surrogates. */
const UNSTORABLE = /[\0\ud800-\udfff]/

/** Such characters become U+FFFD: a strange model name must not hold up the calls beside it. */
const storable = (value: string): string =>
  UNSTORABLE.test(value) ? value.toWellFormed().replaceAll('\0', '\u{FFFD}') : value
