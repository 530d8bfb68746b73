import fs from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { AdoptionChoice } from '../adopt/adopt-database.ts'
import { loadDumps } from '../adopt/import-dump.ts'
import { ConfigError, type Config } from '../config.ts'
import { openBare, type BareDatabase, type DatabaseAddress } from '../db/database.ts'
import { fileReason } from '../file-error.ts'
import { cannotBeOpened, configuredAddress, reasonOf } from './open.ts'

/** Loads dumps into the configured database, which must be empty. */
export async function importDumps(
  config: Config,
  files: readonly string[],
  choice: AdoptionChoice,
): Promise<void> {
  const dumps = files.map(openDump)
  const database = await openEmpty(configuredAddress(config))
  try {
    await loadDumps(database, dumps, (line) => process.stdout.write(`${line}\n`), choice)
  } catch (error) {
    throw new ConfigError(`${files.join(', ')}: ${reasonOf(error)}`)
  } finally {
    await database.close().catch(() => {})
  }
}

async function openEmpty(address: DatabaseAddress): Promise<BareDatabase> {
  try {
    return await openBare(address)
  } catch (error) {
    throw cannotBeOpened(address, error)
  }
}

const GZIP = '1f8b'

/** Magic numbers of other compression formats. */
const OTHER_PACKERS = [
  ['zstd', '28b52ffd'],
  ['xz', 'fd377a585a00'],
  ['zip', '504b0304'],
  ['bzip2', '425a68'],
] as const

/** Magic numbers of files that are not MySQL dumps, with advice. */
const OTHER_FILES = [
  [
    '53514c69746520666f726d61742033',
    'is a SQLite file, which needs no import: set SQLITE_PATH to it',
  ],
  ['5047444d50', 'is a PostgreSQL archive, which needs no import: set SQL_DSN to the database'],
] as const

/** Returns the file's content, decompressed if necessary. */
function openDump(file: string): AsyncIterable<Buffer> {
  const head = headOf(file)
  const packer = OTHER_PACKERS.find(([, start]) => head.startsWith(start))?.[0]
  if (packer !== undefined) {
    throw new ConfigError(`${file}: is compressed with ${packer}; decompress it first, or use gzip`)
  }
  const advice = OTHER_FILES.find(([start]) => head.startsWith(start))?.[1]
  if (advice !== undefined) throw new ConfigError(`${file}: ${advice}`)
  return bytesOf(file, head.startsWith(GZIP))
}

/** Returns the first bytes in hexadecimal. */
function headOf(file: string): string {
  const head = Buffer.alloc(16)
  try {
    const handle = fs.openSync(file, 'r')
    fs.readSync(handle, head)
    fs.closeSync(handle)
  } catch (error) {
    throw new ConfigError(fileReason(error, file) ?? `${file}: ${reasonOf(error)}`)
  }
  return head.toString('hex')
}

/** Opened by the reader, because a stream that fails without a listener ends the process. */
async function* bytesOf(file: string, isPacked: boolean): AsyncGenerator<Buffer> {
  const bytes = fs.createReadStream(file, { highWaterMark: 1024 * 1024 })
  // `pipeline` makes both streams fail together. The reader receives the error.
  yield* isPacked ? pipeline(bytes, createGunzip(), () => {}) : bytes
}
