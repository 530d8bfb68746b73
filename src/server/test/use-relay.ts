import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { OpenTestDatabase } from './for-each-database.ts'
import {
  aClient,
  expectAllWell,
  startRelay,
  type RelayClient,
  type RelaySetup,
} from './relay-setup.ts'

/**
 * A relay for the tests around this call, and a client of it: a fresh one for each test, or, with
 * `sharesClient`, one for all. `keep` is told both. Afterwards every point must be accounted for.
 * Without `open` the database is a SQLite file.
 */
export function useRelay(
  keep: (now: { setup: RelaySetup; client: RelayClient }) => void,
  { open, sharesClient = false }: { open?: OpenTestDatabase; sharesClient?: boolean } = {},
): void {
  let setup: RelaySetup
  const keepClient = async (): Promise<void> => keep({ setup, client: await aClient(setup) })
  beforeAll(async () => {
    setup = await startRelay(open)
    if (sharesClient) await keepClient()
  })
  beforeEach(async () => {
    if (!sharesClient) await keepClient()
    setup.upstream.seen()
  })
  afterAll(async () => {
    await expectAllWell(setup)
    await setup.close()
  })
}
