import fs from 'node:fs'
import path from 'node:path'
import type { Config } from './config.ts'

/** Where a SQLite file is, or would be if the settings named no PostgreSQL. */
export const configuredFile = (config: Config): string =>
  withoutParameters(config.SQLITE_PATH ?? fileIn(config.DATA_DIR))

/**
 * Unit files of the family write `one-api.db?_busy_timeout=5000`. Taken for a name, that would be a
 * new file, and an empty installation beside the one that is meant.
 */
const withoutParameters = (file: string): string => file.split('?', 1)[0] ?? ''

const ONE_API_FILE = 'one-api.db'

/**
 * The database file of a data folder. One API names its own `one-api.db`, so that its folder can
 * become ours as it is. A `gatehouse.db` beside it is newer: somebody has started from it already.
 */
function fileIn(folder: string): string {
  const file = path.join(folder, 'gatehouse.db')
  const oneApiFile = path.join(folder, ONE_API_FILE)
  return !fs.existsSync(file) && fs.existsSync(oneApiFile) ? oneApiFile : file
}

/**
 * A line about a file of One API in the data folder that is not the database; null if there is
 * none.
 */
export function unusedOneApiFile(config: Config): string | null {
  if (config.SQLITE_PATH !== undefined) return null
  const unused = path.join(config.DATA_DIR, ONE_API_FILE)
  const used = configuredFile(config)
  if (used === unused || !fs.existsSync(unused)) return null
  return `${unused} is not used, because ${used} exists; SQLITE_PATH=${unused} adopts it`
}
