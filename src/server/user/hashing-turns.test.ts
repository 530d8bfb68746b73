import { expect, test } from 'vitest'
import { AppError } from '../app-error.ts'
import { createHashingTurns } from './hashing-turns.ts'

const AT_ONCE = 2
const WAITING_MAX = 64

/** Turns whose work takes until `end` is called; what began stands in `begun`. */
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

test('only so many hash at once, and callers take turns', async () => {
  const { ask, begun, end } = heldTurns()
  const all = [...ask('many', 5), ...ask('one'), ...ask('other', 2)]
  expect(begun).toEqual(['many', 'many'])
  end()
  await Promise.all(all)
  expect(begun.slice(AT_ONCE)).toEqual(['many', 'one', 'other', 'many', 'other', 'many'])
})

test('what fails gives its place on', async () => {
  const turns = createHashingTurns()
  const fail = () => turns.take('', () => Promise.reject(new Error('no')))
  await Promise.allSettled(Array.from({ length: 5 }, fail))
  expect(await turns.take('', () => Promise.resolve('yes'))).toBe('yes')
})

test('who asks for too many is told that the server is busy, and nobody else', async () => {
  const { ask, begun, end } = heldTurns()
  const many = ask('many', AT_ONCE + WAITING_MAX + 3)
  const few = ask('few', 2)
  end()
  const answers = await Promise.all(many)
  // The last three, and the last of those that waited for each that came later.
  expect(answers.map(isBusy)).toEqual(answers.map((_, index) => index >= WAITING_MAX))
  expect((await Promise.all(few)).some(isBusy)).toBe(false)
  expect(begun).toHaveLength(AT_ONCE + WAITING_MAX)
})

test('where everybody waits for one, the next is told that the server is busy', async () => {
  const { ask, end } = heldTurns()
  const all = Array.from({ length: AT_ONCE + WAITING_MAX }, (_, index) => ask(`${index}`)).flat()
  const late = ask('late')
  end()
  expect((await Promise.all(all)).some(isBusy)).toBe(false)
  expect((await Promise.all(late)).every(isBusy)).toBe(true)
})
