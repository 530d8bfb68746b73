import Sqlite from 'better-sqlite3'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as passed } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { SqliteConnection } from './sqlite-connection.ts'

const IDLE_MS = 30_000

describe('a connection that rests', () => {
  let directory: string
  let connection: SqliteConnection

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'gatehouse-connection-'))
    const settings = { path: path.join(directory, 'file.db'), synchronous: 'NORMAL' } as const
    connection = new SqliteConnection({ ...settings, readonly: false }, { idleMs: IDLE_MS })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    // Only the thread that made it has it.
    await connection.query('CREATE TEMP TABLE mark (id integer)', [])
  })
  afterEach(async () => {
    vi.useRealTimers()
    await connection.close()
    await rm(directory, { recursive: true })
  })

  const hasSameThread = async (): Promise<boolean> => {
    const sql = "SELECT 1 FROM sqlite_temp_master WHERE name = 'mark'"
    return (await connection.query(sql, [])).rows.length === 1
  }

  test('ends its thread when nobody has asked for a while, and starts another', async () => {
    vi.advanceTimersByTime(IDLE_MS - 1)
    expect(await hasSameThread()).toBe(true)
    vi.advanceTimersByTime(IDLE_MS - 1)
    expect(await hasSameThread()).toBe(true)
    vi.advanceTimersByTime(IDLE_MS)
    expect(await hasSameThread()).toBe(false)
  })

  test('keeps it inside a transaction, however long that is silent', async () => {
    await connection.lock()
    await connection.query('BEGIN', [])
    vi.advanceTimersByTime(10 * IDLE_MS)
    expect(await hasSameThread()).toBe(true)
    await connection.query('COMMIT', [])
    connection.unlock()
    vi.advanceTimersByTime(2 * IDLE_MS)
    expect(await hasSameThread()).toBe(false)
  })

  test('keeps it while an answer is awaited', async () => {
    const answer = hasSameThread()
    vi.advanceTimersByTime(10 * IDLE_MS)
    expect(await answer).toBe(true)
    expect(await hasSameThread()).toBe(true)
  })

  test('can be closed while it rests', async () => {
    vi.advanceTimersByTime(IDLE_MS)
    await connection.close()
    await expect(hasSameThread()).rejects.toThrow('the database is closed')
  })
})

test('a new file that another server is about to write to is waited for', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'gatehouse-connection-'))
  const file = path.join(directory, 'file.db')
  const other = new Sqlite(file)
  other.exec('CREATE TABLE mark (id integer); BEGIN IMMEDIATE')
  const connection = new SqliteConnection({ path: file, synchronous: 'NORMAL', readonly: false })
  const answer = connection.query('PRAGMA journal_mode', [])
  await passed(300)
  other.exec('COMMIT')
  other.close()
  expect((await answer).rows).toEqual([{ journal_mode: 'wal' }])
  await connection.close()
  await rm(directory, { recursive: true })
})
