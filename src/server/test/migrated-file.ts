import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../commands/open-database.ts'

let migrated: Promise<Buffer> | undefined

/** Writes an empty SQLite database of this version: migrated once per process, then copied. */
export async function writeMigratedFile(path: string): Promise<void> {
  await writeFile(path, await (migrated ??= migratedBytes()), { mode: 0o600 })
}

async function migratedBytes(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-migrated-'))
  const path = join(folder, 'gatehouse.db')
  const database = await openDatabase({ engine: 'sqlite', path })
  await database.close()
  const bytes = await readFile(path)
  await rm(folder, { recursive: true, force: true })
  return bytes
}
