import type { Queries } from '../db/database.ts'
import { costOfFactors } from './price/price-lines.ts'
import type { Differences } from './reconcile-balances.ts'

/** Rows in memory at a time. */
const PAGE_SIZE = 5000

/**
 * I5: the points that a call charged, plus a debt that was not charged, equal its cost by the
 * booked factors. Computed here row by row, because the databases do not multiply decimals of
 * arbitrary length exactly.
 */
export async function compareCosts(
  db: Queries,
  report: Differences,
  listedMax: number,
): Promise<void> {
  let after = 0
  let found = 0
  for (;;) {
    const rows = await db
      .selectFrom('ledger')
      .select(['id', 'user_amount', 'debt', 'carried', 'detail'])
      .where('kind', '=', 'consume')
      .where('id', '>', after)
      // Figures out of range are reported by another check, and JavaScript cannot represent them.
      .where('user_amount', '>=', -Number.MAX_SAFE_INTEGER)
      .where('debt', '<=', Number.MAX_SAFE_INTEGER)
      .orderBy('id')
      .limit(PAGE_SIZE)
      .execute()
    for (const { id, user_amount, debt, carried, detail } of rows) {
      const cost = costOfFactors(detail)
      if (cost === null || cost === (carried ? 0 : debt) - user_amount) continue
      found += 1
      if (found > listedMax) continue
      const words = carried
        ? `I5 user_amount is ${user_amount}, the ledger says ${-cost}`
        : `I5 debt is ${debt}, the ledger says ${cost + user_amount}`
      report.differences.push(`ledger row ${id}: ${words}`)
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE_SIZE) break
    after = last.id
  }
  report.count += found
}
