import { expect } from 'vitest'
import type { Database } from '../db/database.ts'
import { reconcile } from '../ledger/reconcile.ts'

/** What must hold after every test that moves points: the ledger explains every figure. */
export async function expectBooksBalanced(database: Database): Promise<void> {
  expect((await reconcile(database)).differences).toEqual([])
}
