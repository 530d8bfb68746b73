import { expect, test } from 'vitest'
import { answersWithoutData } from './answers-without-data.ts'
import { allEndpoints } from './api.ts'

test('lists exactly the endpoints whose response may omit data', () => {
  const keys = allEndpoints
    .filter(({ options: { answer = 'envelope' } }) => answer === 'envelope')
    .filter(({ options: { data } }) => data === undefined || data.safeParse(undefined).success)
    .map(({ method, path, options: { whenQuery } }) =>
      whenQuery === undefined ? `${method} ${path}` : `${method} ${path}?${whenQuery}`,
    )
  expect([...answersWithoutData].toSorted()).toEqual(keys.toSorted())
})
