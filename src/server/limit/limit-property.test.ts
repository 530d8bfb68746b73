import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LIMIT_NAMES } from '../../contract/limit.ts'
import type { Limits } from '../../contract/limit-api.ts'
import type { LedgerResult } from '../ledger/operations.ts'
import { recoverReservations } from '../ledger/recover.ts'
import {
  forEachBooks,
  newCallId,
  NOW_SECONDS,
  reservation,
  runBatch,
  settlement,
  type Account,
  type Books,
} from '../test/books.ts'
import {
  callMove,
  expectAnyHistory,
  of,
  threeTokens,
  USER_OF,
  type History,
} from '../test/random-histories.ts'
import { budgetPeriods } from './limit-period.ts'
import { findStanding, saveLimits } from './limit-store.ts'

/**
 * Runs random histories against a model that stores every event and recounts each time. A call is
 * admitted exactly if the model has room for it, and the shown usage equals the model's. Both
 * engines match the same model, so they agree.
 */

const DAY_SECONDS = 86_400

interface Running {
  subjects: string[]
  account: number
  tokens: number
  quota: number
  checkpoint: { cost: number; tokens: number } | null
}

interface Event {
  subject: string
  second: number
  requests: number
  tokens: number
  quota: number
}

const CALLS = 10

type Step =
  | { kind: 'batch'; moves: Move[]; runs: number }
  | { kind: 'pass'; seconds: number }
  | { kind: 'crash' }
  | { kind: 'limit'; subject: string; limits: Limits }

interface Move {
  kind: 'reserve' | 'settle' | 'checkpoint' | 'release'
  call: number
  account: number
  tokens: number
  points: number
}

const none = fc.constant(0)
const limits: fc.Arbitrary<Limits> = fc.record({
  requests_per_minute: fc.oneof(none, fc.integer({ min: 1, max: 6 })),
  tokens_per_minute: fc.oneof(none, fc.integer({ min: 1, max: 200 })),
  calls_at_once: fc.oneof(none, fc.integer({ min: 1, max: 4 })),
  quota_per_day: fc.oneof(none, fc.integer({ min: 1, max: 300 })),
  quota_per_week: fc.oneof(none, fc.integer({ min: 1, max: 500 })),
  quota_per_month: fc.oneof(none, fc.integer({ min: 1, max: 900 })),
})
const move: fc.Arbitrary<Move> = fc.record({
  kind: callMove,
  call: fc.integer({ min: 0, max: CALLS - 1 }),
  account: fc.integer({ min: 0, max: 2 }),
  tokens: fc.integer({ min: 0, max: 80 }),
  points: fc.integer({ min: 0, max: 80 }),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      moves: fc.array(move, { minLength: 1, maxLength: 10 }),
      runs: fc.constantFrom(1, 1, 2),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      seconds: fc.constantFrom(1, 20, 59, 60, 3600, DAY_SECONDS, 9 * DAY_SECONDS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('limit' as const),
      subject: fc.constantFrom('token:0', 'token:1', 'token:2', 'user:0', 'user:1'),
      limits,
    }),
  },
)

class CountedHistory implements History<Step> {
  readonly #books: Books
  readonly #accounts: Account[]
  readonly #ids = Array.from({ length: CALLS }, newCallId)
  readonly #closed = new Set<string>()
  readonly #billed = new Set<string>()
  readonly #limits = new Map<string, Limits>()
  readonly #running = new Map<string, Running>()
  readonly #events: Event[] = []
  #node = newCallId()
  #now = NOW_SECONDS

  constructor(books: Books, accounts: Account[]) {
    this.#books = books
    this.#accounts = accounts
  }

  async take(next: Step): Promise<void> {
    if (next.kind === 'pass') this.#now += next.seconds
    else if (next.kind === 'crash') await this.crash()
    else if (next.kind === 'limit') await this.#limit(next.subject, next.limits)
    else await this.#batch(next.moves, next.runs)
    await this.#compare()
  }

  #subject(name: string): { subject: 'user' | 'token'; id: number } {
    const index = Number(name.slice(-1))
    return name.startsWith('user')
      ? { subject: 'user', id: of(this.#accounts, USER_OF.indexOf(index)).userId }
      : { subject: 'token', id: of(this.#accounts, index).tokenId }
  }

  async #limit(name: string, wanted: Limits): Promise<void> {
    await this.#books.database.write
      .transaction()
      .execute((trx) => saveLimits(trx, this.#subject(name), wanted))
    // Subjects that never had limits are not counted.
    if (this.#limits.has(name) || LIMIT_NAMES.some((limit) => wanted[limit] > 0)) {
      this.#limits.set(name, wanted)
    }
  }

  async #batch(moves: Move[], runs: number): Promise<void> {
    const operations = moves.map((item) => {
      const id = of(this.#ids, item.call)
      if (item.kind === 'reserve' && this.#closed.has(id)) this.#ids[item.call] = newCallId()
      const requestId = of(this.#ids, item.call)
      if (item.kind !== 'reserve') this.#closed.add(requestId)
      return { item, requestId }
    })
    for (let run = 0; run < runs; run += 1) {
      const expected = operations.map(({ item, requestId }) => this.#expected(item, requestId))
      const results = await runBatch(
        this.#books,
        ...operations.map(({ item, requestId }) => this.#operation(item, requestId)),
      )
      expect(results.map(({ kind }) => kind)).toEqual(expected)
    }
  }

  #operation({ kind, account, tokens, points }: Move, requestId: string) {
    const by = of(this.#accounts, account)
    const nowSeconds = this.#now
    if (kind === 'release') return { kind, requestId } as const
    if (kind === 'reserve') {
      return reservation(by, { requestId, amount: points, tokens, nowSeconds, node: this.#node })
    }
    const used = { promptTokens: tokens, completionTokens: 0, nowSeconds }
    return { kind, settlement: settlement(by, { requestId, cost: points, ...used }) } as const
  }

  #expected(how: Move, id: string): LedgerResult['kind'] {
    const call = this.#running.get(id)
    if (how.kind === 'reserve') {
      if (call !== undefined) return 'reserved'
      const names = [`token:${how.account}`, `user:${of(USER_OF, how.account)}`]
      const subjects = names.filter((name) => this.#limits.has(name))
      if (subjects.some((name) => !this.#fits(name, how))) return 'limited'
      const { account, tokens, points: quota } = how
      this.#running.set(id, { subjects, account, tokens, quota, checkpoint: null })
      this.#note(subjects, { requests: 1 })
      return 'reserved'
    }
    if (call === undefined) return 'closed'
    if (how.kind === 'checkpoint') {
      call.checkpoint = { cost: how.points, tokens: how.tokens }
      call.tokens = Math.max(call.tokens, how.tokens)
      call.quota = Math.max(call.quota, how.points)
      return 'checkpointed'
    }
    this.#running.delete(id)
    if (how.kind === 'release') return 'released'
    // A batch that ran twice: booked the first time, returned the second.
    if (this.#billed.has(id)) return 'closed'
    this.#billed.add(id)
    this.#note(call.subjects, { tokens: how.tokens, quota: how.points })
    return 'settled'
  }

  #note(subjects: string[], what: Partial<Event>): void {
    for (const subject of subjects) {
      this.#events.push({ subject, second: this.#now, requests: 0, tokens: 0, quota: 0, ...what })
    }
  }

  #fits(name: string, { tokens, points }: Move): boolean {
    const used = this.#used(name)
    const asked: Limits = {
      requests_per_minute: 1,
      tokens_per_minute: tokens,
      calls_at_once: 1,
      quota_per_day: points,
      quota_per_week: points,
      quota_per_month: points,
    }
    const most = this.#limits.get(name)
    return LIMIT_NAMES.every((limit) => {
      const max = most?.[limit] ?? 0
      if (max === 0 || (limit.startsWith('quota') && points === 0)) return true
      return used[limit] + asked[limit] <= max
    })
  }

  #used(name: string): Limits {
    const running = [...this.#running.values()].filter(({ subjects }) => subjects.includes(name))
    const events = this.#events.filter(({ subject }) => subject === name)
    const sum = (figure: keyof Omit<Event, 'subject'>, isIn: (second: number) => boolean): number =>
      events.reduce((total, event) => total + (isIn(event.second) ? event[figure] : 0), 0)
    const isFresh = (second: number): boolean => second > this.#now - 60
    const date = (second: number): Date => new Date(second * 1000)
    const dayOf = (second: number): number => Math.floor(second / DAY_SECONDS)
    // The first day of 1970 was a Thursday.
    const weekOf = (second: number): number => Math.floor((dayOf(second) + 3) / 7)
    const monthOf = (second: number): string => date(second).toISOString().slice(0, 7)
    const same =
      <T>(period: (second: number) => T) =>
      (second: number): boolean =>
        period(second) === period(this.#now)
    const held = running.reduce((total, { quota }) => total + quota, 0)
    return {
      requests_per_minute: sum('requests', isFresh),
      tokens_per_minute:
        sum('tokens', isFresh) + running.reduce((total, { tokens }) => total + tokens, 0),
      calls_at_once: running.length,
      quota_per_day: sum('quota', same(dayOf)) + held,
      quota_per_week: sum('quota', same(weekOf)) + held,
      quota_per_month: sum('quota', same(monthOf)) + held,
    }
  }

  async crash(): Promise<void> {
    this.#node = newCallId()
    const { database, ledger } = this.#books
    const recovery = { node: this.#node, nowSeconds: this.#now }
    expect((await recoverReservations(database, ledger, recovery)).failed).toEqual([])
    for (const [id, { checkpoint, subjects }] of this.#running) {
      this.#closed.add(id)
      if (checkpoint === null || this.#billed.has(id)) continue
      this.#note(subjects, { tokens: checkpoint.tokens, quota: checkpoint.cost })
    }
    this.#running.clear()
  }

  async #compare(): Promise<void> {
    const zone = 'UTC'
    const moment = { nowSeconds: this.#now, zone, periods: budgetPeriods(zone, this.#now) }
    for (const [name, most] of this.#limits) {
      const standing = await findStanding(this.#books.database.write, this.#subject(name), moment)
      expect({ name, limits: standing.limits, used: standing.used }).toEqual({
        name,
        limits: most,
        used: this.#used(name),
      })
    }
  }
}

const AMPLE = 1_000_000

async function newHistory(books: Books): Promise<CountedHistory> {
  const ample = { quotas: [AMPLE, AMPLE], tokenQuotas: [AMPLE, AMPLE] } as const
  return new CountedHistory(books, await threeTokens(books, ample))
}

forEachBooks('any history of limited calls', (shared) => {
  test('admits what fits, and releases everything at the end', async () => {
    await expectAnyHistory(shared, newHistory, { step, stepsMax: 12, runs: 25 })
    const { running } = await shared.books.database.read
      .selectFrom('limits')
      .select(({ fn }) => fn.sum<number>('running').as('running'))
      .executeTakeFirstOrThrow()
    expect(Number(running)).toBe(0)
  })
})
