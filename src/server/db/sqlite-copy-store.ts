import { sql } from 'kysely'
import fs from 'node:fs/promises'
import { openBare } from './database.ts'

/**
 * Copies a consistent snapshot of a SQLite database to a new file that only its owner can read.
 * Other processes may write meanwhile; the original's write-ahead log grows until the copy is
 * complete. Pages of deleted rows are not copied. The copy is on disk when this resolves. Throws if
 * `to` exists.
 */
export async function copySqlite(from: string, to: string): Promise<void> {
  await (await fs.open(to, 'wx', 0o600)).close()
  const source = await openBare({ engine: 'sqlite', path: from }, { readonly: true })
  try {
    await sql`VACUUM INTO ${to}`.execute(source.db)
  } finally {
    await source.close()
  }
  const copy = await fs.open(to, 'r+')
  try {
    await copy.sync()
  } finally {
    await copy.close()
  }
}

/** Throws if pages of a SQLite file are damaged or missing. */
export async function checkPages(file: string): Promise<void> {
  const { db, close } = await openBare({ engine: 'sqlite', path: file }, { readonly: true })
  try {
    const { rows } = await sql<{ quick_check: string }>`PRAGMA quick_check(1)`.execute(db)
    const [found] = rows
    if (found?.quick_check !== 'ok') throw new Error(found?.quick_check ?? 'it cannot be checked')
  } finally {
    await close()
  }
}
