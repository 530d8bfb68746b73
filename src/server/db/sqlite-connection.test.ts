import Sqlite from 'better-sqlite3'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as passed } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isOutage } from './outage.ts'
import { LostThread, SqliteConnection } from './sqlite-connection.ts'

const IDLE_MS = 30_000

describe('an idle connection', () => {
  let directory: string
  let connection: SqliteConnection

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'gatehouse-connection-'))
    const settings = { path: path.join(directory, 'file.db'), synchronous: 'NORMAL' } as const
    await writeFile(settings.path, '')
    connection = new SqliteConnection({ ...settings, readonly: false }, { idleMs: IDLE_MS })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    // Temporary tables exist only in the thread that created them.
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

  test('stops its thread after a while and starts another', async () => {
    vi.advanceTimersByTime(IDLE_MS - 1)
    expect(await hasSameThread()).toBe(true)
    vi.advanceTimersByTime(IDLE_MS - 1)
    expect(await hasSameThread()).toBe(true)
    vi.advanceTimersByTime(IDLE_MS)
    expect(await hasSameThread()).toBe(false)
  })

  test('keeps its thread inside a transaction, even if idle for long', async () => {
    await connection.lock()
    await connection.query('BEGIN', [])
    vi.advanceTimersByTime(10 * IDLE_MS)
    expect(await hasSameThread()).toBe(true)
    await connection.query('COMMIT', [])
    connection.unlock()
    vi.advanceTimersByTime(2 * IDLE_MS)
    expect(await hasSameThread()).toBe(false)
  })

  test('keeps its thread while a result is pending', async () => {
    const answer = hasSameThread()
    vi.advanceTimersByTime(10 * IDLE_MS)
    expect(await answer).toBe(true)
    expect(await hasSameThread()).toBe(true)
  })

  test('can be closed while its thread is stopped', async () => {
    vi.advanceTimersByTime(IDLE_MS)
    await connection.close()
    await expect(hasSameThread()).rejects.toThrow('the database is closed')
  })
})

test('waits for a new file that another process is about to write', async () => {
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

describe('a lost thread', () => {
  let directory: string
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'gatehouse-connection-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  const tables = "SELECT name FROM sqlite_master WHERE type = 'table'"

  test('that could not start is an outage, and is tried again', async () => {
    const file = path.join(directory, 'folder', 'file.db')
    const connection = new SqliteConnection({ path: file, synchronous: 'NORMAL', readonly: false })
    await connection.lock()
    const failure: unknown = await connection.query(tables, []).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(LostThread)
    expect(isOutage(failure)).toBe(true)
    await mkdir(path.dirname(file))
    await writeFile(file, '')
    connection.unlock()
    await connection.lock()
    expect((await connection.query(tables, [])).rows).toEqual([])
    connection.unlock()
    await connection.close()
  })

  test('within a transaction fails all of it, and no later one', async () => {
    const file = path.join(directory, 'file.db')
    await writeFile(file, '')
    const connection = new SqliteConnection({ path: file, synchronous: 'NORMAL', readonly: false })
    const sent = vi.spyOn(Worker.prototype, 'postMessage')
    await connection.lock()
    await connection.query('BEGIN IMMEDIATE', [])
    await connection.query('CREATE TABLE first (id integer)', [])
    const thread: unknown = sent.mock.contexts.at(-1)
    if (!(thread instanceof Worker)) throw new Error('nothing was asked of a thread')
    await thread.terminate()
    const second = connection.query('CREATE TABLE second (id integer)', [])
    await expect(second).rejects.toBeInstanceOf(LostThread)
    await expect(connection.query('COMMIT', [])).rejects.toBeInstanceOf(LostThread)
    const next = connection.lock()
    connection.unlock()
    await next
    await connection.query('CREATE TABLE third (id integer)', [])
    expect((await connection.query(tables, [])).rows).toEqual([{ name: 'third' }])
    connection.unlock()
    sent.mockRestore()
    await connection.close()
  })

  test('is not replaced by one on a new file if the old file is gone', async () => {
    const file = path.join(directory, 'file.db')
    const connection = new SqliteConnection({ path: file, synchronous: 'NORMAL', readonly: false })
    await expect(connection.query(tables, [])).rejects.toThrow('unable to open database file')
  })
})
