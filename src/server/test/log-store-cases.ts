import { setTimeout as passed } from 'node:timers/promises'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LogType } from '../../contract/log.ts'
import { deflateRawSync } from 'node:zlib'
import { systemClock } from '../clock.ts'
import { parseConfig } from '../config.ts'
import { addChannelSums } from '../ledger/channel-sums.ts'
import { startLogOutbox, type LogOutbox } from '../log/outbox/outbox.ts'
import type { LogStorage, RemoteLogStorage } from '../log/storage/log-storage.ts'
import { mainLogStorage } from '../log/storage/main-log-store.ts'
import { openLogStorage } from '../log/storage/open-log-storage.ts'
import {
  insertLog,
  type LogFilterValues,
  type LogPosition,
  type StoredLog,
} from '../log/log-store.ts'
import { anAccount, booksAt, reservation, settlement, type Books } from './books.ts'
import { expectBooksBalanced } from './expect-books-balanced.ts'
import type { OpenTestDatabase } from './for-each-database.ts'

/**
 * What every store of `LOG_DSN` must do: it returns, row for row, what the main database returned
 * before its rows were moved.
 */

const T = 1_800_000_000
const HOUR = 3600
const CALLS = 260

const everything: LogFilterValues = {
  type: LogType.all,
  token_name: '',
  model_name: '',
  start_timestamp: 0,
  end_timestamp: 0,
  request_id: '',
}

/** A text that quoting, JSON and SQL may get wrong. */
const ODD = `O'Brien "\\" \\n \n\t{x:String} ?0 %s 中文 🙂 <b>`

const FILTERS: Record<string, Partial<LogFilterValues>> = {
  'no filter': {},
  'a user name': { username: 'alice' },
  'an odd user name': { username: ODD },
  'an unknown user name': { username: 'nobody' },
  'a token': { token_name: 'spare' },
  'a model': { model_name: 'gpt-4o' },
  'a channel': { channel: 2 },
  'a channel and a model': { channel: 2, model_name: 'claude' },
  'a user name and a model': { username: 'bob', model_name: 'claude' },
  calls: { type: LogType.consume },
  'top-ups': { type: LogType.topUp },
  'top-ups of a user': { type: LogType.topUp, username: 'alice' },
  'a range': { start_timestamp: T + 3 * HOUR, end_timestamp: T + 9 * HOUR + 11 },
  'rows that are no calls': { isOther: true },
  'a request': { request_id: 'call-17' },
}

export function testLogStore(openDsn: () => Promise<string>, open: OpenTestDatabase): void {
  let books: Books
  let main: LogStorage
  let remote: RemoteLogStorage
  let outbox: LogOutbox
  let userIds: number[]
  /** Answers of the main database, by question, before anything was moved. */
  let before: Map<string, unknown>

  async function answersOf(logs: LogStorage): Promise<Map<string, unknown>> {
    const answers = new Map<string, unknown>()
    for (const [name, over] of questions()) {
      const filter = { ...everything, ...over }
      const calls = { ...filter, type: LogType.consume }
      answers.set(`pages: ${name}`, await allPages(logs, filter))
      answers.set(`a jump: ${name}`, await logs.page(filter, { after: null, skip: 20 }))
      answers.set(`newest: ${name}`, await logs.newest(filter, 7))
      answers.set(`sums: ${name}`, await logs.sums(calls))
      answers.set(`file: ${name}`, await allExported(logs, filter))
    }
    answers.set('content', await logs.beginningWith('a top-up of', 5))
    answers.set('odd content', await logs.beginningWith('100%_', 5))
    answers.set('row 5', await logs.find(5, null))
    answers.set('row 5 of somebody else', await logs.find(5, 999_999))
    const requests = ['call-3', 'call-4', 'call-5', null, '']
    answers.set('with texts', [...(await logs.requestsWithBody(requests))].toSorted())
    const texts = await logs.bodyTexts(['call-4', 'call-5', 'call-8'])
    answers.set('texts', [...texts].toSorted())
    for (const words of [{ request: 'question 8' }, { response: ODD }, { request: 'no such' }]) {
      const filter = { ...everything, ...words }
      answers.set(`search: ${JSON.stringify(words)}`, (await logs.searchBodies(filter, null)).rows)
    }
    answers.set('trace', await logs.findTrace('call-6'))
    answers.set('no trace', await logs.findTrace('call-7'))
    return answers
  }

  const questions = (): [string, Partial<LogFilterValues>][] => [
    ...Object.entries(FILTERS),
    ['a user', { userId: userIds[1] ?? 0 }],
    ['a user and a model', { userId: userIds[1] ?? 0, model_name: 'gpt-4o' }],
  ]

  const app = (node: string) => ({
    config: parseConfig({}).config,
    database: books.database,
    clock: systemClock,
    trace: pino({ level: 'silent' }),
    node,
  })

  beforeAll(async () => {
    books = await booksAt(await open())
    userIds = await fill(books)
    const { database } = books
    await addChannelSums(database)
    main = mainLogStorage(database, systemClock)
    before = await answersOf(main)
    const opened = openLogStorage(
      { LOG_DSN: await openDsn() },
      { database, clock: systemClock },
    ).remote
    if (opened === null) throw new Error('there is no store')
    remote = opened
    outbox = await startLogOutbox(app('one'), remote)
    await outbox.look()
  })
  afterAll(async () => {
    await outbox.stop()
    await remote.close()
    await expectBooksBalanced(books.database)
    await books.database.close()
  })

  test('has everything that waited, and the main database nothing', async () => {
    expect(await outbox.waiting()).toEqual({ logs: 0, log_bodies: 0, route_traces: 0 })
    expect(await outbox.oldestSeconds()).toBeNull()
    expect(await main.newest(everything, 5)).toEqual([])
  })

  test('returns what the main database returned', async () => {
    const after = await answersOf(remote)
    expect(before.get('pages: no filter')).toHaveLength(CALLS + 41)
    for (const [question, answer] of before) {
      expect({ question, answer: after.get(question) }).toEqual({ question, answer })
    }
  })

  test('keeps one of each row that arrives twice', async () => {
    const rows = await remote.newest(everything, 50)
    await remote.insertLogs(rows)
    await remote.insertLogs(rows.slice(0, 10))
    const after = await answersOf(remote)
    for (const [question, answer] of before) {
      expect({ question, answer: after.get(question) }).toEqual({ question, answer })
    }
  })

  test('gives rows that are new ids of their own after the main database was restored', async () => {
    const { database } = books
    const highest = (await remote.newest(everything, 1000)).reduce(
      (max, { id }) => Math.max(max, id),
      0,
    )
    expect(await remote.prepare()).toBe(highest)
    await resetLogIds(books)
    const second = await startLogOutbox(app('two'), remote)
    await insertLog(database.write, {
      userId: 1,
      username: 'alice',
      type: LogType.manage,
      content: 'after the restore',
      nowSeconds: T,
    })
    const [row] = await main.newest(everything, 1)
    expect(row?.id).toBeGreaterThan(highest)
    await outbox.look()
    expect(await remote.beginningWith('after the restore', 5)).toEqual([row])
    await second.stop()
  })

  test('accepts texts that SQLite keeps and other databases reject', async () => {
    const [row] = await remote.newest(everything, 1)
    if (row === undefined) throw new Error('there is no row')
    await remote.insertLogs([{ ...row, id: 9_000_000, content: 'nul \0 within', created_at: T }])
    const [kept] = await remote.beginningWith('nul ', 5)
    expect(kept?.content).toMatch(/^nul . within$/u)
  })

  test('sums the calls of a cut-off hour, and deletes rows, texts and traces by age', async () => {
    const cut = T + 2 * HOUR + 900
    const sums = await remote.callSums(T + 2 * HOUR, cut)
    const range = { ...everything, start_timestamp: T + 2 * HOUR, end_timestamp: cut - 1 }
    const { quota } = await remote.sums({ ...range, type: LogType.consume })
    expect(sums.reduce((sum, row) => sum + row.quota, 0)).toBe(quota)
    expect(quota).toBeGreaterThan(0)
    const older = { ...everything, end_timestamp: cut - 1 }
    const there = await allPages(remote, older)
    let deleted = 0
    for (let count = -1; count !== 0;) {
      count = await remote.deleteRowsBefore(cut, 40)
      deleted += count
    }
    expect(deleted).toBe(there.length)
    expect(await remote.page(older, { after: null })).toEqual([])
    while ((await remote.deleteBodiesBefore(T + 30 * HOUR, 7)) > 0);
    while ((await remote.deleteTracesBefore(T + 30 * HOUR, 7)) > 0);
    expect((await remote.requestsWithBody(['call-4', 'call-5'])).size).toBe(0)
    expect(await remote.findTrace('call-6')).toBeNull()
  })
}

/** Settles calls and adds other rows, texts and traces. Returns the ids of the users. */
async function fill({ database, ledger }: Books): Promise<number[]> {
  const accounts = await Promise.all(
    ['alice', 'bob', 'carol'].map(() => anAccount({ database }, { quota: 1_000_000 })),
  )
  const names = ['alice', 'bob', ODD]
  await Promise.all(
    Array.from({ length: CALLS }, async (_, index) => {
      const account = accounts[index % 3]
      if (account === undefined) return
      const requestId = `call-${index}`
      await ledger.reserve(reservation(account, { requestId, amount: 10 }))
      await ledger.settle(
        settlement(account, {
          requestId,
          cost: 3 + (index % 11),
          nowSeconds: T + (index % 12) * HOUR + ((index * 37) % 1800),
          username: names[index % 3] ?? '',
          tokenName: ['main', 'spare', ''][(index % 7) % 3] ?? '',
          modelName: ['gpt-4o', 'claude'][(index % 5) % 2] ?? '',
          channelId: 1 + (index % 4),
          content: index % 9 === 0 ? ODD : `call number ${index}`,
          detail: '{"model_ratio":"0.075","group_ratio":"1"}',
          isStream: index % 2 === 0,
        }),
      )
    }),
  )
  await database.write
    .insertInto('log_bodies')
    .values(
      Array.from({ length: 40 }, (_, index) => ({
        request_id: `call-${index * 2}`,
        created_at: T + ((index * 2) % 12) * HOUR + ((index * 2 * 37) % 1800),
        user_id: accounts[(index * 2) % 3]?.userId ?? 0,
        mode: 'full',
        request: deflateRawSync(`question ${index}`),
        response: index % 10 === 0 ? new Uint8Array() : deflateRawSync(`answer ${ODD} ${index}`),
      })),
    )
    .execute()
  await database.write
    .insertInto('route_traces')
    .values(
      [6, 9].map((index) => ({
        request_id: `call-${index}`,
        created_at: T + index,
        trace: JSON.stringify({ said: ODD, index }),
      })),
    )
    .execute()
  for (let index = 0; index < 40; index += 1) {
    await insertLog(database.write, {
      userId: accounts[index % 3]?.userId ?? 0,
      username: names[index % 3] ?? '',
      type: LogType.topUp,
      content: `a top-up of ${index}`,
      nowSeconds: T + index * 600,
      quota: index,
    })
  }
  await insertLog(database.write, {
    userId: accounts[0]?.userId ?? 0,
    username: 'alice',
    type: LogType.system,
    content: '100%_ of it',
    nowSeconds: T + HOUR,
  })
  return accounts.map(({ userId }) => userId)
}

async function resetLogIds({ database }: Books): Promise<void> {
  const { sql } = await import('kysely')
  await (
    database.engine === 'sqlite'
      ? sql`UPDATE id_counters SET next = 1 WHERE name = 'logs'`
      : sql`SELECT setval(pg_get_serial_sequence('logs', 'id'), 1)`
  ).execute(database.write)
}

async function allPages(logs: LogStorage, filter: LogFilterValues): Promise<StoredLog[]> {
  const rows: StoredLog[] = []
  let after: LogPosition | null = null
  for (;;) {
    const page: StoredLog[] = await logs.page(filter, { after })
    const last = page.at(-1)
    if (last === undefined) return rows
    rows.push(...page)
    after = { createdAt: last.created_at, id: last.id }
  }
}

async function allExported(logs: LogStorage, filter: LogFilterValues): Promise<unknown[]> {
  const rows: unknown[] = []
  let after: LogPosition | null = null
  for (;;) {
    const piece = await logs.exportRows({ filter, after, countMax: 70 })
    rows.push(...piece.rows)
    if (piece.last === null) return rows
    after = piece.last
    await passed(0)
  }
}
