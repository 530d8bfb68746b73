import { expect, test } from 'vitest'
import { AppError } from '../app-error.ts'
import { createHashingTurns } from './hashing-turns.ts'

const AT_ONCE = 2
const WAITING_MAX = 64

/** Tasks that run until `end` is called; `begun` lists the started ones. */
function heldTurns() {
  const turns = createHashingTurns()
  const { promise, resolve } = Promise.withResolvers<void>()
  const begun: string[] = []
  const ask = (caller: string, times = 1): Promise<unknown>[] =>
    Array.from({ length: times }, async () =>
      turns
        .take(caller, () => {
          begun.push(caller)
          return promise
        })
        .catch((error: unknown) => error),
    )
  return { ask, begun, end: resolve }
}

const isBusy = (answer: unknown): boolean => answer instanceof AppError && answer.code === 'busy'

test('only a limited number of hashes run in parallel, and callers take turns', async () => {
  const { ask, begun, end } = heldTurns()
  const all = [...ask('many', 5), ...ask('one'), ...ask('other', 2)]
  expect(begun).toEqual(['many', 'many'])
  end()
  await Promise.all(all)
  expect(begun.slice(AT_ONCE)).toEqual(['many', 'one', 'other', 'many', 'other', 'many'])
})

test('a failed task frees its slot', async () => {
  const turns = createHashingTurns()
  const fail = () => turns.take('', () => Promise.reject(new Error('no')))
  await Promise.allSettled(Array.from({ length: 5 }, fail))
  expect(await turns.take('', () => Promise.resolve('yes'))).toBe('yes')
})

test('only a caller with too many requests gets `busy`', async () => {
  const { ask, begun, end } = heldTurns()
  const many = ask('many', AT_ONCE + WAITING_MAX + 3)
  const few = ask('few', 2)
  end()
  const answers = await Promise.all(many)
  // The last three, and the newest queued ones, each replaced by a later caller's.
  expect(answers.map(isBusy)).toEqual(answers.map((_, index) => index >= WAITING_MAX))
  expect((await Promise.all(few)).some(isBusy)).toBe(false)
  expect(begun).toHaveLength(AT_ONCE + WAITING_MAX)
})

test('when every waiting caller has one request, the next one gets `busy`', async () => {
  const { ask, end } = heldTurns()
  const all = Array.from({ length: AT_ONCE + WAITING_MAX }, (_, index) => ask(`${index}`)).flat()
  const late = ask('late')
  end()
  expect((await Promise.all(all)).some(isBusy)).toBe(false)
  expect((await Promise.all(late)).every(isBusy)).toBe(true)
})
