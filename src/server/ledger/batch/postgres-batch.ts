import type pg from 'pg'
import { queryOn } from '../../db/postgres-pool.ts'
import {
  checkpointText,
  operationFault,
  type LedgerOperation,
  type LedgerResult,
  type Settlement,
} from '../operations.ts'

/**
 * The ledger on PostgreSQL. A batch is one call of `gatehouse_ledger_batch_3`: one round trip and
 * one transaction. Invalid operations are filtered out here, with the same messages as on SQLite,
 * and never reach the function. Two operations on the same call are rare; the second one starts a
 * transaction of its own, so the function never sees both.
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

/** Splits the operations, in order, wherever a request id repeats. */
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
  const answer = await queryOn<{ results: LedgerResult[] }>(pool, {
    name: 'gatehouse_ledger_batch_3',
    text: 'SELECT gatehouse_ledger_batch_3($1, $2, $3, $4, $5) AS results',
    values: argumentsOf(operations),
  })
  const results = answer.rows[0]?.results
  if (results === undefined) throw new Error('the ledger function returned no result')
  return results
}

/** Arguments of the function, each an array in PostgreSQL's text notation. */
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

/** Members of `gatehouse_ledger_operation`; an empty member is null. */
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
  const { detail, content, elapsedMs, isStream, systemPromptReset, keepLog, address } = settlement
  // The type has no member for the address; a settlement has no process.
  const node = address === undefined ? '' : text(address)
  const balances = `${text(requestId)},${userId},${tokenId},${cost},,${nowSeconds},${node},${checkpoint}`
  const usage = `${channelId},${promptTokens},${completionTokens}`
  const texts = [username, tokenName, modelName, detail, content].map(text).join(',')
  return `${kind},${balances},${usage},${texts},${elapsedMs},${isStream},${systemPromptReset},${keepLog}`
}

/**
 * A text as a member of a composite value in an array. Both levels quote it: a quote or backslash
 * is escaped for the composite, and both resulting characters are escaped for the array.
 * https://www.postgresql.org/docs/current/rowtypes.html#ROWTYPES-IO-SYNTAX
 */
const text = (value: string): string => `\\"${storable(value).replace(QUOTED, '\\\\\\$&')}\\"`

const QUOTED = /["\\]/g

/**
 * Characters that a JavaScript string can contain and a PostgreSQL text cannot: U+0000 and lone
 * surrogates.
 */
const UNSTORABLE = /[\0\ud800-\udfff]/

/** Replaces such characters with U+FFFD, so that an unusual model name does not fail the batch. */
const storable = (value: string): string =>
  UNSTORABLE.test(value) ? value.toWellFormed().replaceAll('\0', '\u{FFFD}') : value
