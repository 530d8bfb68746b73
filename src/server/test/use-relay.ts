import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { OpenTestDatabase } from './for-each-database.ts'
import {
  aClient,
  expectAllWell,
  startRelay,
  type RelayClient,
  type RelaySetup,
} from './relay-setup.ts'

interface RelayWish {
  open?: OpenTestDatabase
  /** Settings of the process. */
  settings?: Record<string, string>
}

/**
 * Starts a relay for the surrounding tests, with a client: a new one for each test, or, with
 * `sharesClient`, one for all. Passes both to `keep`, and each test begins with an upstream without
 * requests. Otherwise like `useRelaySetup`.
 */
export function useRelay(
  keep: (now: { setup: RelaySetup; client: RelayClient }) => void,
  { sharesClient = false, ...wish }: RelayWish & { sharesClient?: boolean } = {},
): void {
  const relay = startedAround(wish)
  const keepClient = async (): Promise<void> =>
    keep({ setup: relay(), client: await aClient(relay()) })
  if (sharesClient) beforeAll(keepClient)
  beforeEach(async () => {
    if (!sharesClient) await keepClient()
    relay().upstream.seen()
  })
}

/**
 * Starts a relay for the surrounding tests, which create their own clients; passes it to `keep`.
 * Afterwards the ledger must balance. Without `open` the database is a SQLite file.
 */
export function useRelaySetup(keep: (setup: RelaySetup) => void, wish: RelayWish = {}): void {
  const relay = startedAround(wish)
  beforeAll(() => keep(relay()))
}

function startedAround({ open, settings }: RelayWish): () => RelaySetup {
  let setup: RelaySetup
  beforeAll(async () => {
    setup = await startRelay(open, settings)
  })
  afterAll(async () => {
    await expectAllWell(setup)
    await setup.close()
  })
  return () => setup
}
