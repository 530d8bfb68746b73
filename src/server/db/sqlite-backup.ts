import Sqlite from 'better-sqlite3'
import fs from 'node:fs'

/** Pages copied before other work gets a turn. */
const PAGES_PER_STEP = 4096

/**
 * Copies a SQLite file, including its write-ahead log, to a file beside it whose name ends in
 * `stamp`. The copy gets its final name only when it is complete and flushed to disk. The caller
 * must prevent concurrent writes. Returns the path of the copy.
 */
export async function backUpSqlite(file: string, stamp: string): Promise<string> {
  const copy = `${file}.before-gatehouse-${stamp}`
  const unfinished = `${copy}.part`
  // The copy contains the same secret keys and password hashes as the original.
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
