import { readOrigin } from '../adopt/adopt-store.ts'
import { ConfigError, type Config } from '../config.ts'
import { openBare, type BareDatabase } from '../db/database.ts'
import { schemaAge } from '../db/migrate.ts'
import { cannotBeOpened, configuredAddress, mustBeThere, placeOf } from './open.ts'

/**
 * The database that the settings name, to be looked at: nothing in it is made, adopted or brought
 * up to date. Throws `ConfigError` when it is none that this version of Gatehouse works with.
 */
export async function openOurs(config: Config): Promise<BareDatabase> {
  const address = configuredAddress(config)
  mustBeThere(address)
  const database = await openBare(address, { readonly: true })
  try {
    const otherwise = await whatElse(database)
    if (otherwise !== null) throw new ConfigError(`${placeOf(address)}${otherwise}`)
    return database
  } catch (error) {
    await database.close().catch(() => {})
    throw error instanceof ConfigError ? error : cannotBeOpened(address, error, { readonly: true })
  }
}

/** What the database is instead of one of ours, to be said after its name; null: it is one. */
async function whatElse({ db, engine }: BareDatabase): Promise<string | null> {
  const { origin } = await readOrigin(db, engine)
  if (origin.kind === 'empty') return ' holds no tables of Gatehouse'
  if (origin.kind === 'one-api') return ' is One API’s; take it over first: gatehouse adopt'
  if (origin.kind === 'foreign') return `: ${origin.reason}`
  switch (await schemaAge(db, engine)) {
    case 'older':
      return ' is of an older Gatehouse: use that version, or start this one’s server on it first'
    case 'newer':
      return ' was written by a newer Gatehouse: use that version'
    case 'current':
      return null
  }
}
