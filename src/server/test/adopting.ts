import { expect } from 'vitest'
import type { AdoptionChoice } from '../adopt/adopt-database.ts'
import { reportAdoption } from '../adopt/adopt-report.ts'
import { openDatabase } from '../commands/open-database.ts'
import { openBare } from '../db/database.ts'
import { reconcile } from '../ledger/reconcile.ts'
import type { PlainDatabase } from './one-api-databases.ts'

/** Returns the output of `adopt --dry-run` for a database. */
export async function reportOf({ location }: PlainDatabase): Promise<string> {
  const bare = await openBare(location, { readonly: true })
  const { lines } = await reportAdoption(bare)
  await bare.close()
  return lines.join('\n')
}

/** Adopts a database and checks that its ledger balances. Returns the progress lines. */
export async function adopt(
  { location }: PlainDatabase,
  choice: AdoptionChoice = { acceptsLosses: false },
): Promise<string> {
  const lines: string[] = []
  const opened = await openDatabase(location, (line) => void lines.push(line), undefined, choice)
  expect(await reconcile(opened)).toMatchObject({ differences: [] })
  await opened.close()
  return lines.join('\n')
}
