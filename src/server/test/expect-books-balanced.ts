import { expect } from 'vitest'
import type { Database } from '../db/database.ts'
import { reconcile } from '../ledger/reconcile.ts'

/** Expects the ledger to explain every figure; must hold after every test that moves points. */
export async function expectBooksBalanced(database: Database): Promise<void> {
  expect((await reconcile(database)).differences).toEqual([])
}
