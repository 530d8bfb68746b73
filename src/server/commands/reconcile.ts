import type { Config } from '../config.ts'
import { reconcile } from '../ledger/reconcile.ts'
import { configuredAddress, mustBeThere, openConfigured } from './open.ts'

/** Prints every difference between the books and what is shown; true when there is none. */
export async function reconcileCommand(config: Config): Promise<boolean> {
  mustBeThere(configuredAddress(config))
  const database = await openConfigured(config)
  try {
    const report = await reconcile(database)
    for (const difference of report.differences) process.stdout.write(`${difference}\n`)
    process.stdout.write(
      report.count === 0 ? 'the books balance: 0 differences\n' : `${report.count} differences\n`,
    )
    return report.count === 0
  } finally {
    await database.close()
  }
}
