import { adoptIfOneApi, keepColumnsWide, type AdoptionChoice } from '../adopt/adopt-database.ts'
import { passIdsOfOthers } from '../adopt/adopt-store.ts'
import {
  openPrepared,
  type Database,
  type DatabaseAddress,
  type Progress,
  type UnpreparedDatabase,
} from '../db/database.ts'
import { alone, migrate } from '../db/migrate.ts'
import { checkSecrets } from '../secrets/convert-secrets.ts'
import { NO_KEYS, type Keyring } from '../secrets/keyring.ts'
import { KeyringPlugin } from '../secrets/keyring-plugin.ts'
import { fillNameKeys } from '../user/name-key-store.ts'

/**
 * Opens a database and migrates it; adopts a database of One API and reports each step to
 * `progress`. Throws `AdoptionError` if it contains tables of another program or if users would
 * lose something that `choice` does not accept, and `UnreadableSecret` if it has secrets that the
 * keyring cannot decrypt.
 */
export const openDatabase = (
  address: DatabaseAddress,
  progress: Progress = () => {},
  keyring: Keyring = NO_KEYS,
  choice: AdoptionChoice = { acceptsLosses: false },
): Promise<Database> =>
  openPrepared(
    address,
    async (database) => {
      await bringUpToDate(database, progress, choice)
      await checkSecrets(database.db)
    },
    [new KeyringPlugin(keyring)],
  )

async function bringUpToDate(
  database: UnpreparedDatabase,
  progress: Progress,
  choice: AdoptionChoice,
): Promise<void> {
  const { engine, db, runScript } = database
  await adoptIfOneApi(database, progress, choice)
  await migrate(db, engine, runScript)
  await alone(db, engine, fillNameKeys)
  if (engine === 'postgres') await keepColumnsWide(database, progress)
  else await passIdsOfOthers(db)
}
