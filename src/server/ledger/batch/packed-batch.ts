import type { LedgerOperation, LedgerResult, ReserveOperation, Settlement } from '../operations.ts'

/**
 * Encodes a batch for the storage thread and its results for the way back: one flat list of values,
 * each operation as its kind followed by its members in the order written here. Copying objects
 * between threads takes three times as long, mostly for their member names (docs/benchmarks.md).
 */
export type PackedBatch = readonly unknown[]

export function packOperations(operations: readonly LedgerOperation[]): PackedBatch {
  const packed: unknown[] = []
  for (const operation of operations) {
    switch (operation.kind) {
      case 'reserve':
        packed.push(
          operation.kind,
          operation.requestId,
          operation.userId,
          operation.tokenId,
          operation.amount,
          operation.nowSeconds,
          operation.node,
          operation.tokens,
        )
        break
      case 'settle':
        packed.push(operation.kind)
        packSettlement(packed, operation.settlement)
        break
      case 'checkpoint':
        packed.push(operation.kind, operation.isNothingDue)
        packSettlement(packed, operation.settlement)
        break
      case 'release':
        packed.push(operation.kind, operation.requestId)
        break
      default:
        operation satisfies never
    }
  }
  return packed
}

function packSettlement(packed: unknown[], settlement: Settlement): void {
  packed.push(
    settlement.requestId,
    settlement.nowSeconds,
    settlement.userId,
    settlement.tokenId,
    settlement.channelId,
    settlement.cost,
    settlement.promptTokens,
    settlement.completionTokens,
    settlement.username,
    settlement.tokenName,
    settlement.modelName,
    settlement.detail,
    settlement.content,
    settlement.elapsedMs,
    settlement.isStream,
    settlement.systemPromptReset,
    settlement.keepLog,
    settlement.address,
  )
}

export function unpackOperations(packed: PackedBatch): LedgerOperation[] {
  const values = new Values(packed)
  const operations: LedgerOperation[] = []
  while (values.more) {
    const kind = values.next<LedgerOperation['kind']>()
    switch (kind) {
      case 'reserve': {
        const operation: ReserveOperation = {
          kind,
          requestId: values.next(),
          userId: values.next(),
          tokenId: values.next(),
          amount: values.next(),
          nowSeconds: values.next(),
          node: values.next(),
        }
        const tokens = values.next<number | undefined>()
        if (tokens !== undefined) operation.tokens = tokens
        operations.push(operation)
        break
      }
      case 'settle':
        operations.push({ kind, settlement: nextSettlement(values) })
        break
      case 'checkpoint': {
        const isNothingDue = values.next<boolean | undefined>()
        const operation = { kind, settlement: nextSettlement(values) }
        operations.push(isNothingDue === undefined ? operation : { ...operation, isNothingDue })
        break
      }
      case 'release':
        operations.push({ kind, requestId: values.next() })
        break
      default:
        throw new Error(`no operation is called ${String(kind satisfies never)}`)
    }
  }
  return operations
}

function nextSettlement(values: Values): Settlement {
  const settlement: Settlement = {
    requestId: values.next(),
    nowSeconds: values.next(),
    userId: values.next(),
    tokenId: values.next(),
    channelId: values.next(),
    cost: values.next(),
    promptTokens: values.next(),
    completionTokens: values.next(),
    username: values.next(),
    tokenName: values.next(),
    modelName: values.next(),
    detail: values.next(),
    content: values.next(),
    elapsedMs: values.next(),
    isStream: values.next(),
    systemPromptReset: values.next(),
    keepLog: values.next(),
  }
  const address = values.next<string | undefined>()
  return address === undefined ? settlement : { ...settlement, address }
}

export function packResults(results: readonly LedgerResult[]): PackedBatch {
  const packed: unknown[] = []
  for (const result of results) {
    switch (result.kind) {
      case 'settled':
        packed.push(result.kind, result.charged, result.debt, result.userQuota)
        break
      case 'reserved':
      case 'limited':
        packed.push(result.kind, result.facts)
        break
      case 'refused':
        packed.push(result.kind, result.reason)
        break
      case 'invalid':
        packed.push(result.kind, result.message)
        break
      case 'checkpointed':
        packed.push(result.kind, result.held)
        break
      case 'released':
      case 'closed':
        packed.push(result.kind)
        break
      default:
        result satisfies never
    }
  }
  return packed
}

export function unpackResults(packed: PackedBatch): LedgerResult[] {
  const values = new Values(packed)
  const results: LedgerResult[] = []
  while (values.more) {
    const kind = values.next<LedgerResult['kind']>()
    switch (kind) {
      case 'settled': {
        const result = { kind, charged: values.next<number>(), debt: values.next<number>() }
        results.push({ ...result, userQuota: values.next() })
        break
      }
      case 'reserved': {
        const facts = values.next<LedgerFacts | undefined>()
        results.push(facts === undefined ? { kind } : { kind, facts })
        break
      }
      case 'limited':
        results.push({ kind, facts: values.next() })
        break
      case 'refused':
        results.push({ kind, reason: values.next() })
        break
      case 'invalid':
        results.push({ kind, message: values.next() })
        break
      case 'checkpointed':
        results.push({ kind, held: values.next() })
        break
      case 'released':
      case 'closed':
        results.push({ kind })
        break
      default:
        throw new Error(`no result is called ${String(kind satisfies never)}`)
    }
  }
  return results
}

type LedgerFacts = Extract<LedgerResult, { kind: 'limited' }>['facts']

/** Reads the values of a list in sequence; the caller must know the type of the next one. */
class Values {
  readonly #list: PackedBatch
  #at = 0

  constructor(list: PackedBatch) {
    this.#list = list
  }

  get more(): boolean {
    return this.#at < this.#list.length
  }

  next<T>(): T {
    // The other half of this file wrote the list in the same order.
    return this.#list[this.#at++] as T
  }
}
