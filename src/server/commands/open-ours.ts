import { readOrigin } from '../adopt/adopt-store.ts'
import { ConfigError, type Config } from '../config.ts'
import { openBare, type BareDatabase } from '../db/database.ts'
import { schemaAge } from '../db/migrate.ts'
import { cannotBeOpened, configuredAddress, mustBeThere, placeOf, whyOf } from './open.ts'

/**
 * Opens the configured database for reading, without creating, adopting or migrating anything.
 * Throws `ConfigError` if this version of Gatehouse cannot use it.
 */
export async function openOurs(config: Config): Promise<BareDatabase> {
  const address = configuredAddress(config)
  mustBeThere(address)
  const database = await openBare(address, { readonly: true })
  try {
    const { trouble } = await whatIsThere(database)
    if (trouble !== '') throw new ConfigError(`${placeOf(address)}${trouble}`)
    return database
  } catch (error) {
    await database.close().catch(() => {})
    throw error instanceof ConfigError ? error : cannotBeOpened(address, error, { readonly: true })
  }
}

/**
 * Returns whether a SQLite file of Gatehouse has the current or an older version. Throws
 * `ConfigError` if it is newer, from One API, from another program, or cannot be opened.
 */
export async function ageOfOurs(file: string): Promise<'older' | 'current'> {
  const address = { engine: 'sqlite', path: file } as const
  const database = await openBare(address, { readonly: true })
  try {
    const { age, trouble } = await whatIsThere(database)
    if (age === 'current' || age === 'older') return age
    throw new ConfigError(`${file}${trouble}`)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const reason = whyOf(address, error, { readonly: true })
    throw new ConfigError(`${file} cannot be opened: ${reason}`)
  } finally {
    await database.close().catch(() => {})
  }
}

interface Found {
  /** Null if it is not a Gatehouse database. */
  age: 'older' | 'current' | 'newer' | null
  /** Why this version cannot use it, as a text to follow its name; empty if it can. */
  trouble: string
}

async function whatIsThere({ db, engine }: BareDatabase): Promise<Found> {
  const { origin } = await readOrigin(db, engine)
  if (origin.kind === 'empty') return { age: null, trouble: ' contains no tables of Gatehouse' }
  if (origin.kind === 'one-api') {
    return { age: null, trouble: ' belongs to One API; adopt it first: gatehouse adopt' }
  }
  if (origin.kind === 'foreign') return { age: null, trouble: `: ${origin.reason}` }
  const age = await schemaAge(db, engine)
  return { age, trouble: TROUBLE[age] }
}

const TROUBLE = {
  older:
    ' was written by an older Gatehouse: use that version, or start this version’s server on it first',
  newer: ' was written by a newer Gatehouse: use that version',
  current: '',
}
