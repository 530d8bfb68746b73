import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import pino from 'pino'
import { parseConfig } from '../config.ts'
import { openDatabase } from './open-database.ts'
import { createServer } from '../server.ts'

/**
 * Starts a server on a throw-away database and ends it, for the sake of the code that is loaded by
 * it.
 */
export async function startOnce(): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-start-'))
  try {
    // All that `serve` loads beside the server itself.
    await import('./serve.ts')
    const { config } = parseConfig({ PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'silent' })
    const database = await openDatabase({
      engine: 'sqlite',
      path: path.join(folder, 'gatehouse.db'),
    })
    const server = await createServer({ config, database, trace: pino({ level: 'silent' }) })
    await server.listen()
    await server.close()
    await database.close()
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
