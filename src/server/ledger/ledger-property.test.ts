import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  figuresOf,
  forEachBooks,
  newCallId,
  NOW_SECONDS,
  reservation,
  runBatch,
  settlement,
  type Account,
  type Books,
} from '../test/books.ts'
import { expectBooksBalanced } from '../test/expect-books-balanced.ts'
import {
  callMove,
  expectAnyHistory,
  of,
  threeTokens,
  USER_OF,
  type History,
} from '../test/random-histories.ts'
import { creditUser, setTokenQuota, setUserQuota } from './balances.ts'
import type { LedgerOperation, LedgerResult } from './operations.ts'
import { recoverReservations } from './recover.ts'

/**
 * Runs random histories against a small model. After every step the results, all balances and all
 * reservations match the model, and the books balance. Both engines match the same model, so they
 * agree.
 */

interface Held {
  account: number
  points: number
  tokenPoints: number
  node: string
  checkpoint: number | null
}

interface Model {
  users: { quota: number; used: number; calls: number }[]
  tokens: { isUnlimited: boolean; remain: number; used: number }[]
  userOf: readonly number[]
  open: Map<string, Held>
  billed: Set<string>
}

const newModel = (): Model => ({
  users: [
    { quota: 300, used: 0, calls: 0 },
    { quota: 120, used: 0, calls: 0 },
  ],
  tokens: [
    { isUnlimited: true, remain: 0, used: 0 },
    { isUnlimited: false, remain: 150, used: 0 },
    { isUnlimited: false, remain: 200, used: 0 },
  ],
  userOf: USER_OF,
  open: new Map(),
  billed: new Set(),
})

type Step =
  | { kind: 'batch'; moves: Move[]; runs: number }
  | { kind: 'crash' }
  | { kind: 'grant' | 'quota' | 'tokenQuota'; account: number; points: number }
  | { kind: 'toggle'; account: number }

interface Move {
  kind: LedgerOperation['kind']
  call: number
  account: number
  points: number
}

const CALLS = 8
const account = fc.integer({ min: 0, max: 2 })
const points = fc.integer({ min: 0, max: 200 })
const move = fc.record<Move>({
  kind: callMove,
  call: fc.integer({ min: 0, max: CALLS - 1 }),
  account,
  points,
})
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      moves: fc.array(move, { minLength: 1, maxLength: 12 }),
      // A batch whose commit was in doubt runs again.
      runs: fc.constantFrom(1, 1, 1, 2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('grant' as const, 'quota' as const, 'tokenQuota' as const),
      account,
      points,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('toggle' as const), account }) },
)

const idOf = (operation: LedgerOperation): string =>
  'settlement' in operation ? operation.settlement.requestId : operation.requestId

/** Whether a checkpoint only extends the reservation. */
const isNothingDue = ({ points: amount }: Pick<Move, 'points'>): boolean => amount % 2 === 1

/** Expected result of one operation; updates the model. */
function expected(model: Model, id: string, how: Move & { node: string }): LedgerResult {
  const held = model.open.get(id)
  if (how.kind === 'reserve') return expectedReserve(model, id, how)
  if (held === undefined) return { kind: 'closed' }
  const user = of(model.users, of(model.userOf, held.account))
  const token = of(model.tokens, held.account)
  if (how.kind === 'checkpoint') {
    const more = Math.max(0, Math.min(how.points - held.points, user.quota))
    user.quota -= more
    held.points += more
    if (!token.isUnlimited) {
      const tokenMore = Math.max(0, Math.min(how.points - held.tokenPoints, token.remain))
      token.remain -= tokenMore
      held.tokenPoints += tokenMore
    }
    held.checkpoint = isNothingDue(how) ? null : how.points
    const isLess = !token.isUnlimited && held.tokenPoints < held.points
    return { kind: 'checkpointed', held: isLess ? held.tokenPoints : held.points }
  }
  model.open.delete(id)
  user.quota += held.points
  token.remain += held.tokenPoints
  if (how.kind === 'release') return { kind: 'released' }
  if (model.billed.has(id)) return { kind: 'closed' }
  model.billed.add(id)
  const charged = how.points
  const debt = Math.min(charged, Math.max(0, charged - user.quota))
  user.quota -= charged
  user.used += charged
  user.calls += 1
  token.used += charged
  if (!token.isUnlimited) token.remain -= charged
  return { kind: 'settled', charged, debt, userQuota: user.quota }
}

function expectedReserve(model: Model, id: string, how: Move & { node: string }): LedgerResult {
  // Open on the same node, because a crash closes the calls of another node.
  if (model.open.has(id)) return { kind: 'reserved' }
  const user = of(model.users, of(model.userOf, how.account))
  const token = of(model.tokens, how.account)
  if (user.quota < how.points) return { kind: 'refused', reason: 'user_quota' }
  if (!token.isUnlimited && token.remain < how.points) {
    return { kind: 'refused', reason: 'token_quota' }
  }
  const tokenPoints = token.isUnlimited ? 0 : how.points
  user.quota -= how.points
  token.remain -= tokenPoints
  const { account: whose, points: amount, node } = how
  model.open.set(id, { account: whose, points: amount, tokenPoints, node, checkpoint: null })
  return { kind: 'reserved' }
}

/** Runs one random history on a real ledger. */
class BookedHistory implements History<Step> {
  readonly #books: Books
  readonly #accounts: Account[]
  readonly #ids = Array.from({ length: CALLS }, newCallId)
  readonly #model = newModel()
  readonly #retired = new Set<string>()
  #node = newCallId()

  constructor(books: Books, accounts: Account[]) {
    this.#books = books
    this.#accounts = accounts
  }

  async take(next: Step): Promise<void> {
    switch (next.kind) {
      case 'batch':
        await this.#batch(next.moves, next.runs)
        break
      case 'crash':
        await this.crash()
        break
      case 'toggle':
        await this.#toggle(next.account)
        break
      default:
        await this.#change(next)
    }
    await this.#compare()
  }

  /** Converts moves to operations and updates the model. Billed calls are never reserved again. */
  async #batch(moves: Move[], runs: number): Promise<void> {
    const operations: LedgerOperation[] = []
    const answers: LedgerResult[] = []
    for (const item of moves) {
      const id = of(this.#ids, item.call)
      const isOpen = this.#model.open.has(id)
      if (item.kind === 'reserve') {
        if (this.#retired.has(id)) this.#ids[item.call] = newCallId()
      } else if (item.kind !== 'checkpoint' || !isOpen) this.#retired.add(id)
      operations.push(this.#operation(item))
      answers.push(this.#expected(item, of(this.#ids, item.call)))
    }
    expect(await runBatch(this.#books, ...operations)).toEqual(answers)
    if (runs === 1) return
    const again = operations.map((operation, index) =>
      this.#expected(of(moves, index), idOf(operation)),
    )
    expect(await runBatch(this.#books, ...operations)).toEqual(again)
  }

  #expected(item: Move, id: string): LedgerResult {
    return expected(this.#model, id, { ...item, node: this.#node })
  }

  #operation({ kind, call, account: whose, points: amount }: Move): LedgerOperation {
    const requestId = of(this.#ids, call)
    const by = of(this.#accounts, whose)
    if (kind === 'release') return { kind, requestId }
    if (kind === 'reserve') return reservation(by, { requestId, amount, node: this.#node })
    const due = settlement(by, { requestId, cost: amount, keepLog: call % 3 > 0 })
    if (kind === 'settle') return { kind, settlement: due }
    return { kind, settlement: due, isNothingDue: isNothingDue({ points: amount }) }
  }

  async crash(): Promise<void> {
    this.#node = newCallId()
    const { database, ledger } = this.#books
    const how = { node: this.#node, nowSeconds: NOW_SECONDS }
    const { failed } = await recoverReservations(database, ledger, how)
    expect(failed).toEqual([])
    for (const id of [...this.#model.open.keys()].toSorted()) {
      this.#retired.add(id)
      const held = this.#model.open.get(id)
      const kind = held?.checkpoint === null ? 'release' : 'settle'
      const amount = held?.checkpoint ?? 0
      expected(this.#model, id, { kind, call: 0, account: 0, points: amount, node: '' })
    }
  }

  async #toggle(whose: number): Promise<void> {
    const token = of(this.#model.tokens, whose)
    token.isUnlimited = !token.isUnlimited
    await this.#books.database.write
      .updateTable('tokens')
      .set({ unlimited_quota: token.isUnlimited })
      .where('id', '=', of(this.#accounts, whose).tokenId)
      .execute()
  }

  async #change(change: Extract<Step, { points: number }>): Promise<void> {
    const { userId, tokenId } = of(this.#accounts, change.account)
    const user = of(this.#model.users, of(this.#model.userOf, change.account))
    const token = of(this.#model.tokens, change.account)
    const target = change.points
    const nowSeconds = NOW_SECONDS
    await this.#books.database.write.transaction().execute(async (trx) => {
      if (change.kind === 'grant') {
        await creditUser(trx, { userId, amount: target, kind: 'grant', nowSeconds })
        user.quota += target
      } else if (change.kind === 'quota') {
        await setUserQuota(trx, { userId, target, actorId: 1, nowSeconds, detail: '{}' })
        user.quota = target
      } else {
        await setTokenQuota(trx, { tokenId, userId, target, nowSeconds })
        token.remain = target
      }
    })
  }

  async #compare(): Promise<void> {
    for (const [index, by] of this.#accounts.entries()) {
      const user = of(this.#model.users, of(this.#model.userOf, index))
      const token = of(this.#model.tokens, index)
      const held = [...this.#model.open.values()].filter(
        (item) => of(this.#model.userOf, item.account) === of(this.#model.userOf, index),
      )
      expect(await figuresOf(this.#books, by)).toEqual({
        quota: user.quota,
        used: user.used,
        calls: user.calls,
        tokenRemain: token.remain,
        tokenUsed: token.used,
        held: held.reduce((sum, item) => sum + item.points, 0),
        tokenHeld: held.reduce((sum, item) => sum + item.tokenPoints, 0),
      })
    }
    await expectBooksBalanced(this.#books.database)
  }
}

async function newHistory(books: Books): Promise<BookedHistory> {
  const { users, tokens } = newModel()
  const accounts = await threeTokens(books, {
    quotas: [of(users, 0).quota, of(users, 1).quota],
    tokenQuotas: [of(tokens, 1).remain, of(tokens, 2).remain],
  })
  return new BookedHistory(books, accounts)
}

forEachBooks('any history', (shared) => {
  test('matches the model and leaves balanced books', async () => {
    await expectAnyHistory(shared, newHistory, { step, stepsMax: 10, runs: 30 })
  })
})
