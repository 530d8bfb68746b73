import { expect, test } from 'vitest'
import type { LimitStanding } from '../../../contract/limit-api.ts'
import {
  areLimits,
  areLimitsChanged,
  isLimit,
  noLimits,
  toLimitForm,
  toLimits,
} from './limit-form.ts'

const limits = {
  requests_per_minute: 60,
  tokens_per_minute: 0,
  calls_at_once: 4,
  quota_per_day: 500_000,
  quota_per_week: 0,
  quota_per_month: 0,
}
const standing: LimitStanding = {
  limits,
  used: limits,
  day_ends_at: 3,
  week_ends_at: 2,
  month_ends_at: 1,
  time_zone: 'UTC',
}

test('saving unchanged limits keeps them; an empty field is no limit', () => {
  const form = toLimitForm(standing)
  expect(form).toMatchObject({ requests_per_minute: '60', tokens_per_minute: '' })
  expect(toLimits(form)).toEqual(limits)
})

test('a server without the limits feature gets an empty form', () => {
  expect(toLimitForm(undefined)).toEqual(noLimits)
})

test.each([
  ['', true],
  ['0', true],
  [' 12 ', true],
  ['1000000000', true],
  ['1000000001', false],
  ['-1', false],
  ['1.5', false],
  ['x', false],
])('%j as a limit: %s', (text, isFine) => {
  expect(isLimit('calls_at_once', text)).toBe(isFine)
  expect(areLimits({ ...noLimits, calls_at_once: text })).toBe(isFine)
})

test('budgets are in points and have a higher maximum', () => {
  expect(isLimit('quota_per_day', '1000000001')).toBe(true)
})

test('0 and an empty field are equal, so there is nothing to save', () => {
  const zero = { ...noLimits, calls_at_once: '0' }
  expect(areLimitsChanged(noLimits, zero)).toBe(false)
  expect(areLimitsChanged(noLimits, { ...zero, quota_per_day: '1' })).toBe(true)
})
