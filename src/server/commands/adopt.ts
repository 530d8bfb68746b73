import type { AdoptionChoice } from '../adopt/adopt-database.ts'
import { reportAdoption } from '../adopt/adopt-report.ts'
import type { Config } from '../config.ts'
import { openBare, type DatabaseAddress } from '../db/database.ts'
import { cannotBeRead, configuredAddress, mustBeThere, openConfigured } from './open.ts'

/**
 * Prints a report of a One API database and of the changes that adoption makes; then adopts it,
 * unless only the report is wanted. Starting the server also adopts it, without the report.
 */
export async function adopt(
  config: Config,
  { isDryRun, ...choice }: AdoptionChoice & { isDryRun: boolean },
): Promise<void> {
  const address = configuredAddress(config)
  mustBeThere(address)
  const { origin, lines } = await report(address)
  process.stdout.write(`${lines.join('\n')}\n`)
  if (origin.kind === 'foreign') process.exitCode = 1
  if (origin.kind !== 'one-api') return
  if (isDryRun) {
    process.stdout.write('\nNothing was changed.\n')
    return
  }
  const database = await openConfigured(config, choice)
  await database.close()
}

async function report(address: DatabaseAddress): ReturnType<typeof reportAdoption> {
  const database = await openBare(address, { readonly: true })
  try {
    return await reportAdoption(database)
  } catch (error) {
    throw cannotBeRead(address, error)
  } finally {
    await database.close().catch(() => {})
  }
}
