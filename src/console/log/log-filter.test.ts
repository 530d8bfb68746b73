import { expect, test } from 'vitest'
import { countSet, filtersOf, toAdminQuery, toQuery } from './log-filter.ts'

const none = filtersOf(() => '')

test('without filters, requests everything up to the given end', () => {
  expect(toQuery(none, 1_700_003_600)).toEqual({
    type: 0,
    token_name: '',
    model_name: '',
    start_timestamp: 0,
    end_timestamp: 1_700_003_600,
    request_id: '',
    request: '',
    response: '',
  })
})

test('only administrators filter by user', () => {
  const filters = { ...none, username: 'alice', channel: '7', type: '2', start: '10', end: '20' }
  expect(toQuery(filters, 99)).not.toHaveProperty('username')
  expect(toAdminQuery(filters, 99)).toEqual({
    type: 2,
    token_name: '',
    model_name: '',
    start_timestamp: 10,
    end_timestamp: 20,
    request_id: '',
    request: '',
    response: '',
    username: 'alice',
    user_id: 0,
    channel: 7,
  })
})

test('filters a user by id', () => {
  const asked = (username: string) => toAdminQuery({ ...none, username }, 99)
  expect(asked('#12')).toMatchObject({ username: '', user_id: 12 })
  expect(asked('#x')).toMatchObject({ username: '#x', user_id: 0 })
})

test('ignores invalid filters in the address', () => {
  const filters = { ...none, type: 'x', channel: '-1', start: '1e9', end: 'tomorrow' }
  expect(toAdminQuery(filters, 99)).toMatchObject({
    type: 0,
    channel: 0,
    start_timestamp: 0,
    end_timestamp: 99,
  })
})

test('counts the filters that are set', () => {
  expect(countSet({ ...none, username: 'a', end: '1' }, ['username', 'channel'])).toBe(1)
})
