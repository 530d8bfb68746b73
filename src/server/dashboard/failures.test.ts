import { sql } from 'kysely'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../clock.ts'
import { openDatabase } from '../commands/open-database.ts'
import type { Database } from '../db/database.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { createFailureCounts } from './failures.ts'

const STORE_MS = 5000

forEachDatabase('counts of failed calls', (open) => {
  let databases: Database[]
  let warnings: string[]
  beforeAll(async () => {
    const location = await open()
    databases = [await openDatabase(location), await openDatabase(location)]
  })
  afterAll(() => Promise.all(databases.map((database) => database.close())))
  beforeEach(async () => {
    warnings = []
    await databases[0]?.write.deleteFrom('failures_hourly').execute()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  function countsOn(database: Database | undefined) {
    if (database === undefined) throw new Error('no database')
    const trace = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
    return createFailureCounts({ database, clock: systemClock, trace })
  }
  async function stored(): Promise<number | undefined> {
    const row = await databases[0]?.read
      .selectFrom('failures_hourly')
      .select(({ fn }) => fn.sum<number>('failures').as('sum'))
      .executeTakeFirst()
    return Number(row?.sum)
  }
  const failed = (userId: number) => ({ userId, tokenName: 't', channelId: 1, modelName: 'm' })

  const told = (id: string) => ({ request_id: id, status: 500, code: 'a\0b', message: 'y\0z' })

  test('are complete when two processes store the same ones in different orders', async () => {
    const users = Array.from({ length: 600 }, (_, index) => index)
    for (let round = 0; round < 5; round += 1) {
      const [one, two] = [countsOn(databases[0]), countsOn(databases[1])]
      for (const user of users) one.add(failed(user), told(`one-${round}-${user}`))
      for (const user of users.toReversed()) {
        two.add(failed(user), told(`two-${round}-${user}`))
      }
      await Promise.all([one.close(), two.close()])
    }
    expect(warnings).toEqual([])
    expect(await stored()).toBe(2 * 5 * users.length)
  })

  test('that could not be stored are stored later, together with newer ones', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const [database] = databases
    const counts = countsOn(database)
    const rename = async (from: string, to: string) => {
      if (database !== undefined) {
        await sql`ALTER TABLE ${sql.table(from)} RENAME TO ${sql.table(to)}`.execute(database.write)
      }
    }
    counts.add(failed(1), told('first-1'))
    counts.add(failed(2), told('first-2'))
    await rename('failures_hourly', 'elsewhere')
    vi.advanceTimersByTime(STORE_MS)
    await expect.poll(() => warnings).toHaveLength(1)
    counts.add(failed(2), told('later'))
    await rename('elsewhere', 'failures_hourly')
    await counts.close()
    expect(await stored()).toBe(3)
  })

  test('of a program that fails continuously do not hide the failures of others', async () => {
    const counts = countsOn(databases[0])
    for (let index = 0; index < 600; index += 1) counts.add(failed(7001), told(`again-${index}`))
    counts.add(failed(7002), told('once'))
    await counts.close()
    expect(await stored()).toBe(601)
    const rows = databases[0]?.read.selectFrom('failed_calls').select('user_id')
    const listed = await rows?.where('user_id', 'in', [7001, 7002]).execute()
    expect(listed?.filter((row) => row.user_id === 7002)).toHaveLength(1)
    expect(listed).toHaveLength(21)
  })

  test('are stored even if a call cannot be listed', async () => {
    const counts = countsOn(databases[0])
    const { status: _, ...withoutStatus } = told('odd')
    // An upstream's response is not typed.
    counts.add(failed(1), { ...withoutStatus, status: null } as never)
    await counts.close()
    expect(warnings).toHaveLength(1)
    expect(await stored()).toBe(1)
    const later = countsOn(databases[0])
    later.add(failed(1), told('after'))
    await later.close()
    const rows = databases[0]?.read.selectFrom('failed_calls').select(['request_id', 'code'])
    const listed = await rows?.where('request_id', 'in', ['odd', 'after']).execute()
    expect(listed).toEqual([{ request_id: 'after', code: 'ab' }])
  })
})
