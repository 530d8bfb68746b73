import fs from 'node:fs'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { loadDumps } from '../adopt/import-dump.ts'
import { ConfigError, type Config } from '../config.ts'
import { openBare } from '../db/database.ts'
import { configuredAddress, reasonOf } from './open.ts'

/** Loads dumps into the database that the settings name, which must be empty. */
export async function importDumps(config: Config, files: readonly string[]): Promise<void> {
  const dumps = files.map(openDump)
  const database = await openBare(configuredAddress(config))
  try {
    await loadDumps(database, dumps, (line) => process.stdout.write(`${line}\n`))
  } catch (error) {
    throw new ConfigError(`${files.join(', ')}: ${reasonOf(error)}`)
  } finally {
    await database.close().catch(() => {})
  }
}

const GZIP = 0x1f8b

/** The file's bytes, inflated if it is compressed. */
function openDump(file: string): AsyncIterable<Buffer> {
  const head = Buffer.alloc(2)
  try {
    const handle = fs.openSync(file, 'r')
    fs.readSync(handle, head)
    fs.closeSync(handle)
  } catch (error) {
    throw new ConfigError(`${file}: ${reasonOf(error)}`)
  }
  const bytes = fs.createReadStream(file, { highWaterMark: 1024 * 1024 })
  if (head.readUInt16BE() !== GZIP) return bytes
  // Both ends of a pipe must fail together; `compose` does that.
  return Readable.from(bytes.compose(createGunzip()))
}
