import { describe, expect, test } from 'vitest'
import { limitRefusal, minuteStanding, type LimitFacts } from './limit.ts'
import { isTimeZone } from '../time-zone.ts'
import { budgetPeriods, zoneStamp } from './limit-period.ts'

const NOW = 1_800_000_000

const facts = (over: Partial<LimitFacts> = {}): LimitFacts => ({
  subject: 'token',
  requestsMax: 0,
  tokensMax: 0,
  callsMax: 0,
  dayMax: 0,
  weekMax: 0,
  monthMax: 0,
  running: 0,
  heldTokens: 0,
  heldQuota: 0,
  dayUsed: 0,
  weekUsed: 0,
  monthUsed: 0,
  minuteRequests: 0,
  minuteTokens: 0,
  seconds: [],
  ...over,
})

const ends = { day: NOW + 100, week: NOW + 200, month: NOW + 300 }
const ASK = { tokens: 10, quota: 5 }
const refusal = (...all: LimitFacts[]) =>
  limitRefusal({ isRefused: true, facts: all }, ASK, { nowSeconds: NOW, ends })

describe('the error of a refused call', () => {
  const seconds: LimitFacts['seconds'] = [
    [NOW - 50, 2, 30],
    [NOW - 20, 1, 40],
    [NOW - 5, 1, 0],
  ]

  test.each<[string, LimitFacts, number | null, boolean]>([
    [
      'when enough requests have slid out of the minute',
      facts({ requestsMax: 4, minuteRequests: 4, seconds }),
      NOW + 10,
      false,
    ],
    [
      'the same after the limit has been lowered',
      facts({ requestsMax: 2, minuteRequests: 4, seconds }),
      NOW + 40,
      false,
    ],
    [
      'when enough tokens have',
      facts({ tokensMax: 75, minuteTokens: 70, seconds }),
      NOW + 10,
      false,
    ],
    [
      'when tokens that run calls hold leave room',
      facts({ tokensMax: 75, minuteTokens: 70, heldTokens: 60, seconds }),
      NOW + 40,
      false,
    ],
    [
      'to wait for a running call where only those are in the way',
      facts({ tokensMax: 75, heldTokens: 70 }),
      NOW + 1,
      true,
    ],
    ['that it is too large for any minute', facts({ tokensMax: 9 }), null, false],
    ['to wait for a running call', facts({ callsMax: 3, running: 3 }), NOW + 1, true],
    ['when the week is over', facts({ weekMax: 9, weekUsed: 5 }), NOW + 200, false],
    [
      'to wait where a running call holds the budget',
      facts({ dayMax: 9, heldQuota: 5 }),
      NOW + 1,
      true,
    ],
    ['that it is too dear for any month', facts({ monthMax: 4 }), null, false],
  ])('%s', (_, one, freesAtSeconds, isHeld) => {
    expect(refusal(one)).toMatchObject({ freesAtSeconds, isHeld })
  })

  test('reports the limit that lasts longest, of token and user', () => {
    const token = facts({ callsMax: 1, running: 1, dayMax: 5, dayUsed: 5 })
    const user = facts({ subject: 'user', monthMax: 5, monthUsed: 5 })
    expect(refusal(token, user)).toMatchObject({ subject: 'user', limit: 'month' })
    expect(refusal(token)).toMatchObject({ subject: 'token', limit: 'day' })
  })

  test('is null if it fits: exactly full is allowed, and a free call fits any budget', () => {
    const full = { tokensMax: 10, dayMax: 5, callsMax: 1, requestsMax: 1 }
    expect(refusal(facts(full))).toBeNull()
    const spent = facts({ dayMax: 5, dayUsed: 9 })
    const free = { tokens: 10, quota: 0 }
    const check = { isRefused: false, facts: [spent] }
    expect(limitRefusal(check, free, { nowSeconds: NOW, ends })).toBeNull()
  })
})

describe('headers contain', () => {
  test('the remaining amount after the call, the lesser of token and user', () => {
    const check = {
      isRefused: false,
      facts: [
        facts({ requestsMax: 10, minuteRequests: 2, tokensMax: 100, heldTokens: 20 }),
        facts({ subject: 'user', requestsMax: 5, minuteRequests: 3 }),
      ],
    }
    expect(minuteStanding(check, 'requests', ASK, NOW)).toEqual({
      limit: 5,
      remaining: 1,
      resetSeconds: 60,
    })
    expect(minuteStanding(check, 'tokens', ASK, NOW)).toEqual({
      limit: 100,
      remaining: 70,
      resetSeconds: 60,
    })
  })

  test('the full reset time for a refused call, and nothing without limits', () => {
    const seconds: LimitFacts['seconds'] = [
      [NOW - 50, 1, 0],
      [NOW - 20, 0, 7],
    ]
    const one = facts({ requestsMax: 1, minuteRequests: 1, minuteTokens: 7, seconds })
    const check = { isRefused: true, facts: [one] }
    expect(minuteStanding(check, 'requests', ASK, NOW)).toEqual({
      limit: 1,
      remaining: 0,
      resetSeconds: 10,
    })
    expect(minuteStanding(check, 'tokens', ASK, NOW)).toBeNull()
  })
})

describe('days, weeks and months', () => {
  const stamps = (zone: string, iso: string) => {
    const { starts, ends: over } = budgetPeriods(zone, Date.parse(iso) / 1000)
    return [starts.day, starts.week, starts.month, over.day, over.week, over.month].map((second) =>
      zoneStamp(zone, second),
    )
  }

  test.each([
    // Friday evening in UTC is Saturday in Shanghai.
    [
      'Asia/Shanghai',
      '2027-01-15T16:30:00Z',
      ['2027-01-16', '2027-01-11', '2027-01-01', '2027-01-17', '2027-01-18', '2027-02-01'],
    ],
    [
      'UTC',
      '2027-01-31T23:59:59Z',
      ['2027-01-31', '2027-01-25', '2027-01-01', '2027-02-01', '2027-02-01', '2027-02-01'],
    ],
    // The day on which clocks go back has 25 hours.
    [
      'America/New_York',
      '2026-11-01T12:00:00Z',
      ['2026-11-01', '2026-10-26', '2026-11-01', '2026-11-02', '2026-11-02', '2026-12-01'],
    ],
    [
      'Not/AZone',
      '2026-12-31T00:00:00Z',
      ['2026-12-31', '2026-12-28', '2026-12-01', '2027-01-01', '2027-01-04', '2027-01-01'],
    ],
  ])('of %s at %s', (zone, iso, days) => {
    expect(stamps(zone, iso)).toEqual(days.map((day) => `${day} 00:00`))
  })

  test('only names that both databases read in the same way are time zones', () => {
    expect(['UTC', 'Asia/Shanghai', 'America/Argentina/Buenos_Aires'].map(isTimeZone)).toEqual([
      true,
      true,
      true,
    ])
    expect(['', '+08:00', 'UTC+8', 'Asia/Atlantis', 'asia/shanghai'].some(isTimeZone)).toBe(false)
  })
})
