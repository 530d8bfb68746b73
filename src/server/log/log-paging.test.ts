import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LogType } from '../../contract/log.ts'
import { openDatabase } from '../commands/open-database.ts'
import type { Database } from '../db/database.ts'
import { addChannelSums } from '../ledger/channel-sums.ts'
import { createLedger } from '../ledger/ledger.ts'
import { anAccount, reservation, settlement } from '../test/books.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { createLogPages, type LogPages } from './log-paging.ts'
import { placeByHours } from './log-place-store.ts'
import { mainLogStorage } from './storage/main-log-store.ts'
import { insertLog, type LogFilterValues, type StoredLog } from './log-store.ts'

const HOUR = 3600
const T = 1_800_000_000
const PAGE = 10

const everything: LogFilterValues = {
  type: 0,
  token_name: '',
  model_name: '',
  start_timestamp: 0,
  end_timestamp: 0,
  request_id: '',
}

/** Writes log rows as the product does, with increasing time. */
interface Writer {
  database: Database
  calls(count: number, over?: { keepLog?: boolean; modelName?: string }): Promise<void>
  others(count: number): Promise<void>
  nowSeconds: number
}

async function createWriter(database: Database): Promise<Writer> {
  const ledger = createLedger(database)
  const account = await anAccount({ database }, { quota: 1_000_000 })
  let requests = 0
  const writer: Writer = {
    database,
    nowSeconds: T,
    async calls(count, over = {}) {
      const calls = Array.from({ length: count }, () => {
        requests += 1
        // Two rows per second, so that the order also depends on the id.
        if (requests % 2 === 0) writer.nowSeconds += 1
        return { ...over, requestId: `call-${requests}`, nowSeconds: writer.nowSeconds }
      })
      await Promise.all(
        calls.map(async (call) => {
          await ledger.reserve(reservation(account, { ...call, amount: 1 }))
          await ledger.settle(settlement(account, { ...call, cost: 1 }))
        }),
      )
    },
    async others(count) {
      for (let index = 0; index < count; index += 1) {
        writer.nowSeconds += 1
        await insertLog(database.write, {
          userId: 0,
          username: '',
          type: LogType.system,
          content: 'another row',
          nowSeconds: writer.nowSeconds,
        })
      }
    },
  }
  return writer
}

/** Returns all ids in the order of the list. */
async function allIds({ database }: Writer): Promise<number[]> {
  const rows = await database.read
    .selectFrom('logs')
    .select('id')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
  return rows.map(({ id }) => id)
}

const idsOf = (rows: readonly StoredLog[]): number[] => rows.map(({ id }) => id)

const pagesOf = ({ database, ...writer }: Writer): LogPages => {
  const clock = {
    nowSeconds: () => writer.nowSeconds,
    nowMs: () => writer.nowSeconds * 1000,
    monotonicMs: () => 0,
  }
  return createLogPages({ database, logs: mainLogStorage(database, clock) })
}

const reader =
  (pages: LogPages, filter = everything) =>
  async (page: number, before = ''): Promise<number[]> =>
    idsOf((await pages.read({ caller: 'someone', filter, page, before })).rows)

forEachDatabase('placeByHours', (open) => {
  let writer: Writer

  beforeAll(async () => {
    writer = await createWriter(await openDatabase(await open()))
    for (let hour = 0; hour < 6; hour += 1) {
      writer.nowSeconds = T + hour * HOUR
      await writer.calls(30)
      await writer.others(4)
    }
    // A gap without calls.
    writer.nowSeconds = T + 100 * HOUR
    await writer.calls(25)
  })
  afterAll(() => writer.database.close())

  const place = (skip: number) => placeByHours(writer.database.heavy, skip, writer.nowSeconds)

  test('returns an hour with exactly this many rows before it, for any jump', async () => {
    const ids = await allIds(writer)
    expect(ids).toHaveLength(6 * 34 + 25)
    for (let skip = 25; skip <= ids.length + 20; skip += 7) {
      const found = await place(skip)
      expect(found, `skip ${skip}`).not.toBeNull()
      const newer = await writer.database.read
        .selectFrom('logs')
        .select('id')
        .where('created_at', '>=', found?.hour ?? 0)
        .execute()
      expect(newer).toHaveLength(found?.rows ?? -1)
      expect(skip - newer.length).toBeGreaterThanOrEqual(0)
      if (skip <= ids.length) expect(skip - newer.length).toBeLessThan(34)
    }
  })

  test('returns none within the newest hour', async () => {
    expect(await place(24)).toBeNull()
  })
})

forEachDatabase('placeByHours ignores counts that cannot be right', (open) => {
  async function twoHours(): Promise<Writer> {
    const writer = await createWriter(await openDatabase(await open()))
    await writer.calls(20)
    writer.nowSeconds = T + HOUR
    await writer.calls(20)
    expect(await placeByHours(writer.database.heavy, 25, writer.nowSeconds)).toEqual({
      hour: T + HOUR,
      rows: 20,
    })
    return writer
  }

  test.each<[string, (writer: Writer) => Promise<unknown>]>([
    ['calls made while the log was off', (writer) => writer.calls(1, { keepLog: false })],
    [
      'a row deleted by hand',
      async ({ database }) =>
        database.write
          .deleteFrom('logs')
          .where('id', '=', (eb) => eb.selectFrom('logs').select(eb.fn.max('id').as('id')))
          .execute(),
    ],
    [
      'rows without sums, as an adopted database has them',
      async ({ database }) => {
        await addChannelSums(database)
        await database.write.updateTable('channel_usage_hourly').set({ requests: 10 }).execute()
      },
    ],
  ])('%s', async (_what, disturb) => {
    const writer = await twoHours()
    await disturb(writer)
    expect(await placeByHours(writer.database.heavy, 25, writer.nowSeconds)).toBeNull()
    await writer.database.close()
  })
})

forEachDatabase('log pages', (open) => {
  let writer: Writer

  beforeAll(async () => {
    writer = await createWriter(await openDatabase(await open()))
    for (let hour = 0; hour < 5; hour += 1) {
      writer.nowSeconds = T + hour * HOUR
      await writer.calls(450)
      await writer.others(2)
      await writer.calls(50, { modelName: 'claude' })
    }
  })
  afterAll(() => writer.database.close())

  test('read in sequence give the whole list, without gaps or repetitions', async () => {
    const ids = await allIds(writer)
    const read = reader(pagesOf(writer))
    for (let page = 0; page < 12; page += 1) {
      expect(await read(page)).toEqual(ids.slice(page * PAGE, page * PAGE + PAGE))
    }
  })

  test.each([
    ['near', 7],
    ['far', 230],
    ['at the last page', 250],
    ['beyond the end', 252],
    ['far beyond the end', 99_999_999_999_999],
  ])('a jump returns the same page as counting: %s', async (_where, page) => {
    const ids = await allIds(writer)
    expect(await reader(pagesOf(writer))(page)).toEqual(ids.slice(page * PAGE, page * PAGE + PAGE))
  })

  test('a jump with a filter returns the same page as counting', async () => {
    const filter = { ...everything, model_name: 'claude' }
    const rows = await writer.database.read
      .selectFrom('logs')
      .select('id')
      .where('model_name', '=', 'claude')
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .execute()
    const ids = rows.map(({ id }) => id)
    const read = reader(pagesOf(writer), filter)
    expect(await read(20)).toEqual(ids.slice(200, 210))
    expect(await read(24)).toEqual(ids.slice(240, 250))
    expect(await read(25)).toEqual([])
  })

  test('a page can be given by the row before it', async () => {
    const ids = await allIds(writer)
    const read = reader(pagesOf(writer))
    const [row] = await writer.database.read
      .selectFrom('logs')
      .selectAll()
      .where('id', '=', ids[41] ?? 0)
      .execute()
    // It takes precedence over the page number.
    expect(await read(3, `${row?.created_at}-${row?.id}`)).toEqual(ids.slice(42, 52))
    await expect(read(0, 'yesterday')).rejects.toMatchObject({ code: 'invalid_parameter' })
  })

  describe('while rows are added', () => {
    test('no row is repeated or omitted', async () => {
      const before = await allIds(writer)
      const read = reader(pagesOf(writer))
      const seen = await read(0)
      for (let page = 1; page < 6; page += 1) {
        await writer.calls(3)
        seen.push(...(await read(page)))
      }
      expect(seen).toEqual(before.slice(0, 60))
    })

    test('the page after the last stays empty', async () => {
      const pages = pagesOf(writer)
      const recent = { ...everything, start_timestamp: writer.nowSeconds + 1 }
      const read = reader(pages, recent)
      await writer.others(12)
      expect(await read(0)).toHaveLength(10)
      expect(await read(1)).toHaveLength(2)
      await writer.others(3)
      expect(await read(2)).toEqual([])
      expect(await read(3)).toEqual([])
    })

    test('the first page starts again', async () => {
      const read = reader(pagesOf(writer))
      await read(0)
      await read(1)
      await writer.calls(10)
      await read(0)
      expect(await read(2)).toEqual((await allIds(writer)).slice(20, 30))
    })
  })

  test('each caller and each filter has its own cursor', async () => {
    const pages = pagesOf(writer)
    const ids = await allIds(writer)
    const wanted = { filter: everything, before: '' }
    await pages.read({ ...wanted, caller: 'one', page: 0 })
    await writer.calls(10)
    const late = await pages.read({ ...wanted, caller: 'two', page: 1 })
    expect(idsOf(late.rows)).toEqual(ids.slice(0, 10))
    expect(idsOf((await pages.read({ ...wanted, caller: 'one', page: 1 })).rows)).toEqual(
      ids.slice(10, 20),
    )
  })

  test('lists beyond the cursor limit still return the right pages', async () => {
    const pages = pagesOf(writer)
    const ids = await allIds(writer)
    const wanted = { filter: everything, before: '' }
    await pages.read({ ...wanted, caller: 'first', page: 0 })
    for (let index = 0; index < 1001; index += 1) {
      await pages.read({ ...wanted, caller: `caller ${index}`, page: 0 })
    }
    expect(idsOf((await pages.read({ ...wanted, caller: 'first', page: 1 })).rows)).toEqual(
      ids.slice(10, 20),
    )
  })

  test('a request is found only in the second of its settlement', async () => {
    const find = async (over: Partial<LogFilterValues>) =>
      (
        await pagesOf(writer).read({
          caller: 'someone',
          filter: { ...everything, request_id: 'call-700', ...over },
          page: 0,
          before: '',
        })
      ).rows
    const [row, ...more] = await find({})
    expect(more).toEqual([])
    expect(row?.request_id).toBe('call-700')
    const at = row?.created_at ?? 0
    expect(await find({ start_timestamp: at, end_timestamp: at })).toHaveLength(1)
    expect(await find({ start_timestamp: at + 1 })).toEqual([])
    expect(await find({ end_timestamp: at - 1 })).toEqual([])
    expect(await find({ request_id: 'unknown' })).toEqual([])
  })
})
