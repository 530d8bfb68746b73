import Sqlite from 'better-sqlite3'
import fs from 'node:fs'

/** Pages copied before others get a turn. */
const PAGES_PER_STEP = 4096

/**
 * Copies a SQLite file, what its write-ahead log holds included, to a file beside it whose name
 * ends in `stamp`. The copy gets its name only when it is whole and on the disk. The caller keeps
 * others from writing meanwhile. Answers the copy's path.
 */
export async function backUpSqlite(file: string, stamp: string): Promise<string> {
  const copy = `${file}.before-gatehouse-${stamp}`
  const unfinished = `${copy}.part`
  // Its keys and password hashes are as secret as the original's.
  fs.writeFileSync(unfinished, '', { mode: fs.statSync(file).mode })
  const source = new Sqlite(file, { readonly: true })
  try {
    await source.backup(unfinished, { progress: () => PAGES_PER_STEP })
    flush(unfinished)
    fs.renameSync(unfinished, copy)
    return copy
  } catch (error) {
    fs.rmSync(unfinished, { force: true })
    throw error
  } finally {
    source.close()
  }
}

function flush(file: string): void {
  const handle = fs.openSync(file, 'r+')
  try {
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}
