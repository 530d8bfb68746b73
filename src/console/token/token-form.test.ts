import { describe, expect, test } from 'vitest'
import type { Token } from '../../contract/token-api.ts'
import { NEVER_EXPIRES, TokenStatus } from '../../contract/token.ts'
import { noLimits, toLimits } from '../app/limit/limit-form.ts'
import { parseStamp, stampText } from '../app/time.ts'
import { curlText, environmentText, maskedKey, oneLine } from './token-copies.ts'
import {
  formErrors,
  newTokenForm,
  shouldReenable,
  toForm,
  toInput,
  toUpdate,
} from './token-form.ts'
import { groupChoices, groupToAsk, type ChoosableGroups } from './token-group.ts'
import { orders } from './token-order.ts'
import { presentStatus } from './token-state.ts'

const now = 1_800_000_000
const aToken = (over: Partial<Token> = {}): Token => ({
  id: 1,
  user_id: 1,
  key: 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL',
  status: TokenStatus.enabled,
  name: '工作',
  created_time: now,
  accessed_time: now,
  expired_time: NEVER_EXPIRES,
  remain_quota: 500_000,
  unlimited_quota: false,
  used_quota: 0,
  models: '',
  subnet: '',
  capture: 'off',
  group: '',
  key_shown_once: false,
  previous_key_until: 0,
  last_ip: '',
  ...over,
})

describe('token form', () => {
  test.each([
    ['never expires, everything allowed', aToken()],
    ['expires', aToken({ expired_time: now + 60 })],
    ['unlimited', aToken({ unlimited_quota: true, remain_quota: 0 })],
    ['its calls are kept', aToken({ capture: 'redacted' })],
    ['its calls belong to a group', aToken({ group: 'vip' })],
    ['overdrawn, as One API leaves one', aToken({ remain_quota: -120 })],
    [
      'unlimited, as relatives of One API write it',
      aToken({ unlimited_quota: true, remain_quota: -1 }),
    ],
    ['restricted', aToken({ models: 'gpt-4o,o3', subnet: '10.0.0.0/8,2001:db8::/32' })],
  ])('%s: saving it unchanged changes nothing', (_case, token) => {
    const { name, expired_time, remain_quota, unlimited_quota } = token
    const { models, subnet, capture, group } = token
    const kept = { name, expired_time, remain_quota, unlimited_quota, models, subnet, capture }
    expect(toInput(toForm(token), token)).toEqual({ ...kept, group, limits: toLimits(noLimits) })
  })

  test('an edit sends the previously displayed quota', () => {
    const before = aToken({ id: 7, remain_quota: 500 })
    const spent = { ...before, remain_quota: 300 }
    const update = toUpdate({ ...toForm(before), quota: '900' }, before, spent)
    expect(update).toMatchObject({ id: 7, remain_quota: 900, remain_quota_was: 500 })
    const unlimited = { ...toForm(before), quota: '', isUnlimited: true }
    const kept = { remain_quota: 300, remain_quota_was: 300 }
    expect(toUpdate(unlimited, before, spent)).toMatchObject(kept)
  })

  test('an edit keeps changes that others have made meanwhile', () => {
    const before = aToken({ name: 'old', models: 'gpt-4o', remain_quota: 500 })
    const stored = { ...before, name: 'theirs', models: 'o3', remain_quota: 300 }
    expect(toUpdate({ ...toForm(before), subnet: '10.0.0.0/8' }, before, stored)).toMatchObject({
      name: 'theirs',
      models: 'o3',
      remain_quota: 300,
      remain_quota_was: 300,
      subnet: '10.0.0.0/8',
    })
  })

  test('accepts null members of an old server', () => {
    // Old servers violate the contract here, which this test covers.
    const old = { ...aToken(), models: null, subnet: null } as unknown as Token
    expect(toForm(old)).toMatchObject({ models: [], subnet: '' })
  })

  test('a new token never expires, has the default quota and no restriction', () => {
    expect(toInput({ ...newTokenForm, name: ' a ' }, null)).toEqual({
      name: 'a',
      expired_time: -1,
      remain_quota: 500_000,
      unlimited_quota: false,
      models: '',
      subnet: '',
      capture: 'off',
      limits: toLimits(noLimits),
      group: '',
    })
  })

  test('limits are sent as numbers', () => {
    const limits = { ...noLimits, calls_at_once: 'two' }
    expect([...formErrors({ ...newTokenForm, name: 'a', limits }, null, now).keys()]).toEqual([
      'limits',
    ])
  })

  test('ignores the quota of an unlimited token', () => {
    const form = { ...newTokenForm, name: 'a', isUnlimited: true, quota: '' }
    expect([...formErrors(form, null, now)]).toEqual([])
    expect(toInput(form, null).remain_quota).toBe(0)
  })
})

describe('form validation', () => {
  const wrong = (change: Partial<typeof newTokenForm>, before: Token | null = null) => [
    ...formErrors({ ...newTokenForm, name: 'a', ...change }, before, now).keys(),
  ]

  test('a name is required on creation only', () => {
    expect(wrong({ name: ' ' })).toEqual(['name'])
    expect(wrong({ name: '' }, aToken())).toEqual([])
  })

  test.each([
    '',
    '-1',
    '2030-01-31 12:00:00',
    '2030-01-31 12:00',
    '2030-01-31',
    '2030/01/31',
    '2030-01-31T12:00:00',
  ])('expiry %s is accepted', (expiry) => {
    expect(wrong({ expiry })).toEqual([])
  })

  test.each([
    'soon',
    '2030-02-31',
    '2030-13-01',
    '12:00',
    '0',
    // In the API 0 and -1 mean that a token never expires.
    stampText(0),
    stampText(-1),
  ])('expiry %s is rejected', (expiry) => {
    expect(wrong({ expiry })).toEqual(['expiry'])
  })

  test('rejects an expiry in the past unless it is unchanged', () => {
    const past = aToken({ expired_time: now - 60 })
    expect(wrong({ expiry: stampText(now - 60) })).toEqual(['expiry'])
    expect(wrong({ expiry: stampText(now + 60) })).toEqual([])
    expect(wrong({ ...toForm(past), name: 'other' }, past)).toEqual([])
    expect(wrong({ ...toForm(past), expiry: stampText(now - 30) }, past)).toEqual(['expiry'])
    expect(wrong({ ...toForm(aToken()), expiry: stampText(now - 60) }, aToken())).toEqual([
      'expiry',
    ])
  })

  test('an overdrawn token can be renamed and its quota corrected, but not lowered', () => {
    const overdrawn = aToken({ remain_quota: -120 })
    expect(wrong({ ...toForm(overdrawn), name: 'other' }, overdrawn)).toEqual([])
    expect(wrong({ ...toForm(overdrawn), quota: '10' }, overdrawn)).toEqual([])
    expect(wrong({ ...toForm(overdrawn), quota: '-121' }, overdrawn)).toEqual(['quota'])
  })

  test.each(['', '-5', '1.5', 'x', '1e400'])('quota %s is rejected', (quota) => {
    expect(wrong({ quota })).toEqual(['quota'])
  })

  test.each(['10.0.0.0/8', '10.0.0.0/8, 192.168.1.0/24', '2001:db8::/32', '10.0.0.0/8，::1/128'])(
    'subnet %s is accepted',
    (subnet) => {
      expect(wrong({ subnet })).toEqual([])
    },
  )

  test('names the invalid block of several', () => {
    const form = { ...newTokenForm, name: 'a', subnet: '10.0.0.0/8,1.2.3.4/99' }
    const errors = formErrors(form, null, now)
    expect(errors.get('subnet')?.values).toEqual({ subnet: '1.2.3.4/99' })
  })
})

test.each([
  ['nothing against it', {}, TokenStatus.enabled],
  ['its last second', { expired_time: now }, TokenStatus.enabled],
  ['its time is over', { expired_time: now - 1 }, TokenStatus.expired],
  ['its quota is used up', { remain_quota: 0 }, TokenStatus.exhausted],
  ['without a limit', { remain_quota: 0, unlimited_quota: true }, TokenStatus.enabled],
  ['both are over', { expired_time: 0, remain_quota: 0 }, TokenStatus.expired],
  ['switched off', { status: TokenStatus.disabled, expired_time: 0 }, TokenStatus.disabled],
  ['stopped', { status: TokenStatus.exhausted }, TokenStatus.exhausted],
])('shows the effective status: %s', (_case, over, status) => {
  expect(presentStatus(aToken(over), now)).toBe(status)
})

describe('groups that the form offers', () => {
  const own = { ratio: 1, desc: '', own: true }
  const open = { ratio: 0.8, desc: '优先渠道', own: false }
  const offered = (groups: ChoosableGroups | null, stored = '') =>
    groupChoices(groups, stored).map(({ name, groups: shown, ratio, isGone }) =>
      isGone ? `${name} is gone` : `${name}: ${shown} ${ratio}`,
    )
  test.each<[string, ChoosableGroups | null, string, string[]]>([
    ['none are known yet', null, 'vip', []],
    ['there is the own one only', { default: own }, '', [': default 1']],
    ['another is open', { default: own, vip: open }, '', [': default 1', 'vip: vip 0.8']],
    ['the own one was given', { default: own }, 'default', [': default 1', 'default: default 1']],
    ['one was taken away', { default: own }, 'vip', [': default 1', 'vip is gone']],
    ['there are several of the own', { a: own, b: own }, '', [': a, b null', 'a: a 1', 'b: b 1']],
  ])('%s', (_case, groups, stored, expected) => {
    expect(offered(groups, stored)).toEqual(expected)
  })

  test('requests models only for a group that can be used', () => {
    const choices = groupChoices({ default: own, vip: open }, 'gone')
    expect(['', 'vip', 'gone'].map((name) => groupToAsk(choices, name))).toEqual(['', 'vip', null])
  })
})

describe('re-enabling a stopped token after an edit', () => {
  const stopped = aToken({ status: TokenStatus.exhausted, remain_quota: 0 })
  const expired = aToken({ status: TokenStatus.expired, expired_time: now - 1 })
  test.each([
    ['quota for an exhausted one', stopped, aToken({ remain_quota: 5 }), true],
    ['no limit for an exhausted one', stopped, aToken({ unlimited_quota: true }), true],
    ['still without quota', stopped, aToken({ remain_quota: 0 }), false],
    ['time for an expired one', expired, aToken({ expired_time: now + 1 }), true],
    ['still expired', expired, aToken({ expired_time: now }), false],
    ['time, but no quota', expired, aToken({ remain_quota: 0 }), false],
    [
      'one that somebody disabled stays so',
      aToken({ status: TokenStatus.disabled }),
      aToken(),
      false,
    ],
  ])('%s', (_case, before, after, isReenabled) => {
    expect(shouldReenable(before, after, now)).toBe(isReenabled)
  })
})

test('sorts search results like the list', () => {
  const rows = [
    aToken({ id: 1, remain_quota: 5, used_quota: 9 }),
    aToken({ id: 2, unlimited_quota: true, used_quota: 1 }),
    aToken({ id: 3, remain_quota: 7, used_quota: 1 }),
  ]
  const ids = (order: keyof typeof orders) => rows.toSorted(orders[order]).map(({ id }) => id)
  expect(ids('')).toEqual([3, 2, 1])
  expect(ids('remain_quota')).toEqual([2, 3, 1])
  expect(ids('used_quota')).toEqual([1, 3, 2])
})

describe('copies', () => {
  test('a displayed key shows only its ends', () => {
    expect(maskedKey(aToken())).toBe('sk-abcd…IJKL')
  })

  test('formats environment variables for OpenAI libraries', () => {
    expect(environmentText(aToken({ key: 'k' }), 'https://g.example')).toBe(
      'OPENAI_API_KEY=sk-k\nOPENAI_BASE_URL=https://g.example/v1\n',
    )
  })

  test('a command uses an allowed model and escapes quotes', () => {
    const text = curlText(aToken({ key: 'k', models: "o'3,x" }), 'https://g.example')
    expect(text).toContain(`"model":"o'\\''3"`)
    expect(text).toContain("'Authorization: Bearer sk-k'")
    expect(curlText(aToken(), '')).toContain('"model":"gpt-4o-mini"')
  })
})

test('a command from a single-line field still runs', () => {
  expect(oneLine(curlText(aToken(), 'https://gate.example'))).toMatch(
    /^curl https:\/\/gate\.example\/v1\/chat\/completions -H '[^\n]+' -d '[^\n]+'$/,
  )
  expect(oneLine(environmentText(aToken(), 'https://gate.example'))).toMatch(
    /^OPENAI_API_KEY=\S+ OPENAI_BASE_URL=https:\/\/gate\.example\/v1$/,
  )
})

test('parses timestamps in the displayed format', () => {
  expect(parseStamp(stampText(now))).toBe(now)
  expect(stampText(now)).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
})

test.each([
  ['2030-1-1', '2030-01-01 00:00:00'],
  ['2030/1/31 9:05', '2030-01-31 09:05:00'],
  ['2030/01/31 12:00', '2030-01-31 12:00:00'],
  ['2030-01-31T12:00:30.250', '2030-01-31 12:00:30'],
])('timestamp entered as %s', (typed, stamp) => {
  expect(stampText(parseStamp(typed) ?? 0)).toBe(stamp)
})

test.each([
  ['2030-01-31T12:00:00Z', 1_896_091_200],
  ['2030-01-31 12:00+08:00', 1_896_062_400],
])('timestamp with a time zone: %s', (typed, seconds) => {
  expect(parseStamp(typed)).toBe(seconds)
})

test.each(['2030-02-31', '2030-1/31', '2030-01-31 25:00', '30-1-1', '2030-1', 'soon'])(
  'rejects the timestamp %s',
  (typed) => expect(parseStamp(typed)).toBeNull(),
)
