import fc from 'fast-check'
import type { LedgerOperation } from '../ledger/operations.ts'
import { addToken, anAccount, type Account, type Books, type BooksSuite } from './books.ts'
import { expectBooksBalanced } from './expect-books-balanced.ts'

/** Shared parts of property tests with random histories on a real ledger. */

/** A history that proceeds in steps and compares itself with its model after each. */
export interface History<Step> {
  take(next: Step): Promise<void>
  /** Simulates a crash: the process loses its state, and its successor closes open calls. */
  crash(): Promise<void>
}

/** Operations on a call; most are reserve and settle. */
export const callMove: fc.Arbitrary<LedgerOperation['kind']> = fc.constantFrom(
  'reserve',
  'reserve',
  'reserve',
  'settle',
  'settle',
  'checkpoint',
  'release',
)

/** User of each of `threeTokens`. */
export const USER_OF: readonly number[] = [0, 0, 1]

/** Creates two tokens of one user, the first of them unlimited, and one of another user. */
export async function threeTokens(
  books: Books,
  { quotas, tokenQuotas }: Record<'quotas' | 'tokenQuotas', readonly [number, number]>,
): Promise<Account[]> {
  const first = await anAccount(books, { quota: quotas[0] })
  const { userId } = first
  const tokenId = await books.database.write
    .transaction()
    .execute((trx) => addToken(trx, { userId, tokenQuota: tokenQuotas[0] }))
  const last = await anAccount(books, { quota: quotas[1], tokenQuota: tokenQuotas[1] })
  return [first, { ...first, tokenId }, last]
}

/** Returns an element that a model guarantees to exist. */
export function of<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new Error(`nothing at ${index}`)
  return item
}

/**
 * Expects any history of at most `stepsMax` steps to match its model and to leave a balanced
 * ledger.
 */
export async function expectAnyHistory<Step>(
  shared: BooksSuite,
  begin: (books: Books) => Promise<History<Step>>,
  { step, stepsMax, runs }: { step: fc.Arbitrary<Step>; stepsMax: number; runs: number },
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: stepsMax }), async (steps) => {
      const history = await begin(shared.books)
      try {
        for (const next of steps) await history.take(next)
      } finally {
        // The next history must not find open calls of this one.
        await history.crash()
      }
      await expectBooksBalanced(shared.books.database)
    }),
    { numRuns: runs, endOnFailure: true },
  )
}
