import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTestDatabase } from '../test/postgres.ts'
import { createRateLimits, type RateLimit, type RateLimits } from './rate-limit.ts'

/** Connections may still be closing when the database is dropped, and would emit errors. */
function poolOf(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => {})
  return pool
}

const OFF = { api: 0, web: 0, critical: 0, pool: null }

describe('a limit', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  /** Three calls in three minutes. */
  const ofThree = async (): Promise<RateLimit> => (await createRateLimits({ ...OFF, api: 3 })).api

  test('admits a number of calls per key and window, and no more', async () => {
    const limit = await ofThree()
    const taken = [await limit.take('a'), await limit.take('a'), await limit.take('a')]
    expect(taken).toEqual([true, true, true])
    expect(await limit.take('a')).toBe(false)
    expect(await limit.take('b')).toBe(true)
  })

  test('admits calls again after the window', async () => {
    const limit = await ofThree()
    for (let call = 0; call < 5; call += 1) await limit.take('a')
    expect(await limit.waitSeconds('a')).toBe(180)
    vi.advanceTimersByTime(179_000)
    expect(await limit.take('a')).toBe(false)
    vi.advanceTimersByTime(2000)
    expect(await limit.waitSeconds('a')).toBe(0)
    expect(await limit.take('a')).toBe(true)
  })

  test('returns the wait time without counting', async () => {
    const limit = await ofThree()
    for (let question = 0; question < 9; question += 1) {
      expect(await limit.waitSeconds('a')).toBe(0)
    }
    await limit.take('a')
    await limit.take('a')
    expect(await limit.waitSeconds('a')).toBe(0)
    expect(await limit.take('a')).toBe(true)
    expect(await limit.waitSeconds('a')).toBeGreaterThan(0)
  })

  test('gives one call back', async () => {
    const limit = await ofThree()
    for (let call = 0; call < 3; call += 1) await limit.take('a')
    await limit.giveBack('a')
    expect([await limit.take('a'), await limit.take('a')]).toEqual([true, false])
  })

  test('resets a key', async () => {
    const limit = await ofThree()
    for (let call = 0; call < 5; call += 1) await limit.take('a')
    await limit.forget('a')
    expect(await limit.take('a')).toBe(true)
  })

  test('of 0 is unlimited', async () => {
    const { api: limit } = await createRateLimits(OFF)
    for (let call = 0; call < 1000; call += 1) expect(await limit.take('a')).toBe(true)
    expect(await limit.waitSeconds('a')).toBe(0)
  })

  test('is exact for a burst', async () => {
    const limit = await ofThree()
    const taken = await Promise.all(Array.from({ length: 100 }, () => limit.take('a')))
    expect(taken.filter(Boolean)).toHaveLength(3)
  })
})

describe('the limits of a server', () => {
  test('per account, mailbox and code stay when the limit per address is off', async () => {
    const limits = await createRateLimits(OFF)
    const allowed = async (limit: RateLimit) => {
      let count = 0
      while (count < 300 && (await limit.take('x'))) count += 1
      return count
    }
    const { critical, signIn, mail, redeem, wechatCode } = limits
    const counts = await Promise.all([critical, signIn, mail, redeem, wechatCode].map(allowed))
    expect(counts).toEqual([300, 10, 5, 20, 200])
  })

  test('allow ten failed sign-ins per account, and are independent of each other', async () => {
    const limits = await createRateLimits({ api: 1, web: 2, critical: 20, pool: null })
    for (let call = 0; call < 10; call += 1) expect(await limits.signIn.take('root')).toBe(true)
    expect(await limits.signIn.take('root')).toBe(false)
    expect(await limits.api.take('x')).toBe(true)
    expect(await limits.api.take('x')).toBe(false)
    expect(await limits.web.take('x')).toBe(true)
  })

  test('for passwords are shared by all processes on one PostgreSQL', async () => {
    const database = await createTestDatabase()
    const pools = [1, 2].map(() => poolOf(database.url))
    const processes: RateLimits[] = []
    for (const pool of pools) {
      processes.push(await createRateLimits({ api: 2, web: 2, critical: 2, pool }))
    }
    const [one, two] = processes
    const taken = [
      await one?.critical.take('1.2.3.4'),
      await two?.critical.take('1.2.3.4'),
      await one?.critical.take('1.2.3.4'),
      await two?.critical.take('1.2.3.4'),
    ]
    expect(taken).toEqual([true, true, false, false])
    expect(await two?.critical.waitSeconds('1.2.3.4')).toBeGreaterThan(0)
    await one?.critical.forget('1.2.3.4')
    expect(await two?.critical.take('1.2.3.4')).toBe(true)
    await Promise.all(pools.map((pool) => pool.end()))
    await database.drop()
  })

  test('do not last longer because of a clock that was ahead', async () => {
    const database = await createTestDatabase()
    const pool = poolOf(database.url)
    const { signIn } = await createRateLimits({ api: 2, web: 2, critical: 2, pool })
    const allowed = async () => {
      let count = 0
      while (await signIn.take('root')) count += 1
      return count
    }
    expect(await allowed()).toBe(10)
    await pool.query('UPDATE rate_limits SET expire = expire + 86400000')
    expect(await signIn.waitSeconds('root')).toBe(0)
    expect(await allowed()).toBe(10)
    expect(await signIn.waitSeconds('root')).toBeLessThanOrEqual(15 * 60)
    await pool.end()
    await database.drop()
  })

  test('work in processes that start at the same moment', async () => {
    const database = await createTestDatabase()
    const pools = Array.from({ length: 16 }, () => poolOf(database.url))
    // Connects first, so that all create the table at the same time.
    await Promise.all(pools.map((pool) => pool.query('SELECT 1')))
    const limits = await Promise.all(
      pools.map((pool) => createRateLimits({ api: 2, web: 2, critical: 3, pool })),
    )
    const taken = await Promise.all(limits.map(({ critical }) => critical.take('1.2.3.4')))
    expect(taken.filter((allowed) => allowed)).toHaveLength(3)
    await Promise.all(pools.map((pool) => pool.end()))
    await database.drop()
  })

  test('continue in memory during a database outage', async () => {
    const database = await createTestDatabase()
    const pool = poolOf(database.url)
    const limits = await createRateLimits({ api: 2, web: 2, critical: 2, pool })
    await database.drop()
    const taken: boolean[] = []
    for (let call = 0; call < 4; call += 1) taken.push(await limits.critical.take('1.2.3.4'))
    expect(taken).toEqual([true, true, false, false])
    await pool.end()
  })
})
