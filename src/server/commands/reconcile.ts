import type { Config } from '../config.ts'
import { checkChains } from '../audit/audit-chain-store.ts'
import { inSnapshot, reconcile } from '../ledger/reconcile.ts'
import { cannotBeRead, configuredAddress } from './open.ts'
import { openOurs } from './open-ours.ts'

/**
 * Prints every difference between the ledger and the stored figures, and every break of the audit's
 * chain of hashes. Returns true if it finds neither. Throws `ConfigError` if the database fails
 * meanwhile.
 */
export async function reconcileCommand(config: Config): Promise<boolean> {
  const database = await openOurs(config)
  try {
    const report = await reconcile({ engine: database.engine, heavy: database.db })
    for (const difference of report.differences) process.stdout.write(`${difference}\n`)
    process.stdout.write(
      report.count === 0 ? 'the ledger balances: 0 differences\n' : `${report.count} differences\n`,
    )
    const { users, points } = report.owed
    if (users > 0) {
      const accounts = users === 1 ? '1 account' : `${users} accounts`
      process.stdout.write(
        `${accounts} below zero owe ${points} points; the next credit pays them\n`,
      )
    }
    const audit = await inSnapshot({ engine: database.engine, heavy: database.db }, checkChains)
    for (const problem of audit.problems) process.stdout.write(`${problem}\n`)
    process.stdout.write(
      audit.problems.length === 0
        ? `the audit is complete: ${audit.count} entries in an unbroken chain\n`
        : `${audit.problems.length} breaks in the audit\n`,
    )
    return report.count === 0 && audit.problems.length === 0
  } catch (error) {
    throw cannotBeRead(configuredAddress(config), error)
  } finally {
    await database.close().catch(() => {})
  }
}
