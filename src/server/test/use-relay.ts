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
 * A relay for the tests around this call, and a client of it: a fresh one for each test, or, with
 * `sharesClient`, one for all. `keep` is told both, and each test begins with an upstream that has
 * seen nothing. Otherwise as `useRelaySetup`.
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
 * A relay for the tests around this call, which make clients of their own; `keep` is told it.
 * Afterwards every point must be accounted for. Without `open` the database is a SQLite file.
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
