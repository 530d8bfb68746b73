import fs from 'node:fs/promises'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import { findChannel } from '../channel/channel-store.ts'
import { systemClock } from '../clock.ts'
import { ConfigError, type Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import type { RecordedCallRow } from '../db/schema.ts'
import {
  deleteRecordedCall,
  deleteRecording,
  insertRecording,
  oneRecordedCall,
  recordingById,
  RECORDINGS_MESSAGE,
} from '../recording/recording-store.ts'
import { randomText } from '../secrets.ts'
import { findTokenById } from '../token/token-store.ts'
import { configuredAddress, openConfigured, placeOf, reasonOf, whyOf } from './open.ts'
import { openOurs } from './open-ours.ts'

/** As given on the command line. */
export interface RecordOptions {
  channel?: string
  token?: string
  calls: string
  minutes: string
  to: string
}

interface Wish {
  channelId: number
  tokenId: number
  calls: number
  minutes: number
  folder: string
}

const CALLS_MAX = 100
/** Maximum value of the id columns on PostgreSQL. */
const ID_MAX = 2 ** 31 - 1
const MINUTES_MAX = 60
const ID_LENGTH = 20
const POLL_MS = 500
/** Additional seconds for calls that started in time and are still being stored. */
const GRACE_SECONDS = 5

const inflate = promisify(inflateRaw)

/**
 * Requests the running servers to record the next calls of a channel or token, and writes each to a
 * file. Ends after the given number of calls or minutes, or with Ctrl-C. Throws `ConfigError`.
 */
export async function record(config: Config, options: RecordOptions): Promise<void> {
  const wish = wishOf(options)
  // Checked first, because `openConfigured` alone would create or adopt tables at a wrong address.
  await (await openOurs(config)).close()
  const database = await openConfigured(config)
  const stopper = new AbortController()
  const stop = (): void => stopper.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const id = randomText(ID_LENGTH)
  try {
    await mustExist(database, wish)
    await prepareFolder(wish.folder)
    const written = await fetchCalls(database, { id, wish, signal: stopper.signal })
    process.stdout.write(
      `${written} of ${wish.calls} calls recorded. Check the files before you send them.\n`,
    )
    process.exitCode = written === 0 ? 1 : 0
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const address = configuredAddress(config)
    const reason = whyOf(address, error, { readonly: false })
    throw new ConfigError(`${placeOf(address)} failed, try again: ${reason}`)
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
    await deleteRecording(database.write, id).catch(() => {})
    await database.close().catch(() => {})
  }
}

function wishOf({ channel, token, calls, minutes, to }: RecordOptions): Wish {
  if (channel === undefined && token === undefined) {
    throw new ConfigError('choose the calls to record: --channel <id> or --token <id>')
  }
  return {
    channelId: channel === undefined ? 0 : numberOf('--channel', channel, ID_MAX),
    tokenId: token === undefined ? 0 : numberOf('--token', token, ID_MAX),
    calls: numberOf('--calls', calls, CALLS_MAX),
    minutes: numberOf('--minutes', minutes, MINUTES_MAX),
    folder: path.resolve(to),
  }
}

function numberOf(name: string, text: string, max: number): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0
  if (number >= 1 && number <= max) return number
  const range = max === ID_MAX ? 'an id' : `a whole number from 1 to ${max}`
  throw new ConfigError(`${name}: got "${text}", expected ${range}`)
}

async function mustExist({ read }: Database, { channelId, tokenId }: Wish): Promise<void> {
  if (channelId > 0 && (await findChannel(read, channelId)) === null) {
    throw new ConfigError(`--channel: no channel has the id ${channelId}`)
  }
  if (tokenId > 0 && (await findTokenById(read, tokenId)) === null) {
    throw new ConfigError(`--token: no token has the id ${tokenId}`)
  }
}

async function prepareFolder(folder: string): Promise<void> {
  try {
    await fs.mkdir(folder, { recursive: true, mode: 0o700 })
    await fs.access(folder, fs.constants.W_OK)
  } catch (error) {
    throw new ConfigError(`--to: cannot write files to ${folder}: ${reasonOf(error)}`)
  }
}

async function fetchCalls(
  database: Database,
  { id, wish, signal }: { id: string; wish: Wish; signal: AbortSignal },
): Promise<number> {
  const { nowSeconds } = systemClock
  const { channelId, tokenId, calls, minutes, folder } = wish
  const endsAt = nowSeconds() + minutes * 60
  await insertRecording(database.write, {
    id,
    channel_id: channelId,
    token_id: tokenId,
    calls_left: calls,
    expires_at: endsAt,
  })
  await database.announce(RECORDINGS_MESSAGE)
  const subjects = [
    ...(channelId === 0 ? [] : [`channel ${channelId}`]),
    ...(tokenId === 0 ? [] : [`token ${tokenId}`]),
  ]
  process.stdout.write(
    `Recording the next ${calls === 1 ? 'call' : `${calls} calls`} of ${subjects.join(' by ')} into ${folder}, ` +
      `for up to ${minutes} min. A running server begins within 3 seconds; Ctrl-C ends it.\n`,
  )
  let written = 0
  for (;;) {
    // Read before the calls: a call stored afterwards is found below or in the next round.
    const left = (await recordingById(database.read, id))?.calls_left ?? 0
    const call = await oneRecordedCall(database.read, id)
    if (call !== undefined) {
      if (await writeFile(folder, call)) written += 1
      await deleteRecordedCall(database.write, call.request_id)
      continue
    }
    if (left === 0 || signal.aborted || nowSeconds() > endsAt + GRACE_SECONDS) return written
    await setTimeout(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

/** Returns whether the call was recorded. */
async function writeFile(folder: string, call: RecordedCallRow): Promise<boolean> {
  if (call.file.length === 0) {
    process.stderr.write(`call ${call.request_id} was not recorded: ${call.reason}\n`)
    return false
  }
  const text = (await inflate(call.file)).toString('utf8')
  const file = path.join(folder, `${call.request_id}.json`)
  try {
    await fs.writeFile(file, `${JSON.stringify(JSON.parse(text), null, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
    })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new ConfigError(`--to: ${file} cannot be written: ${code}`)
  }
  process.stdout.write(`${file}\n`)
  return true
}
