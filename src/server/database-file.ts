import fs from 'node:fs'
import path from 'node:path'
import type { Config } from './config.ts'

/** Path of the SQLite file, or the path it would have if the settings did not use PostgreSQL. */
export const configuredFile = (config: Config): string =>
  withoutParameters(config.SQLITE_PATH ?? fileIn(config.DATA_DIR))

/**
 * Unit files for One API contain `one-api.db?_busy_timeout=5000`. Taken as a name, that would
 * create a new file and an empty installation beside the intended one.
 */
const withoutParameters = (file: string): string => file.split('?', 1)[0] ?? ''

const ONE_API_FILE = 'one-api.db'

/**
 * Returns the database file of a data folder. One API names its file `one-api.db`, so its folder
 * can be used as it is. A `gatehouse.db` beside it is newer, from an earlier start.
 */
function fileIn(folder: string): string {
  const file = path.join(folder, 'gatehouse.db')
  const oneApiFile = path.join(folder, ONE_API_FILE)
  return !fs.existsSync(file) && fs.existsSync(oneApiFile) ? oneApiFile : file
}

/** Returns a note about a One API file in the data folder that is not used, or null. */
export function unusedOneApiFile(config: Config): string | null {
  if (config.SQLITE_PATH !== undefined) return null
  const unused = path.join(config.DATA_DIR, ONE_API_FILE)
  const used = configuredFile(config)
  if (used === unused || !fs.existsSync(unused)) return null
  return `${unused} is not used, because ${used} exists; SQLITE_PATH=${unused} adopts it`
}
