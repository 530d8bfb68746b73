import { expect, test } from 'vitest'
import { createBackground } from './background.ts'

function aBackground() {
  const warnings: string[] = []
  const warn = (_facts: unknown, text: string): void => void warnings.push(text)
  return { background: createBackground({ warn }), warnings }
}

test('work begins after the caller’s own turn, and idle waits for it', async () => {
  const { background } = aBackground()
  const done: string[] = []
  expect(background.run('work', async () => void done.push('work'))).toBe(true)
  await Promise.resolve()
  expect(done).toEqual([])
  await background.idle()
  expect(done).toEqual(['work'])
  await background.idle()
})

test('four at once, the rest in their order', async () => {
  const { background } = aBackground()
  const gate = Promise.withResolvers<void>()
  const begun: number[] = []
  for (let work = 0; work < 7; work += 1) {
    background.run('work', async () => {
      begun.push(work)
      await gate.promise
    })
  }
  // Each begins by an immediate of its own, all of them before this one.
  await new Promise((resolve) => setImmediate(resolve))
  expect(begun).toEqual([0, 1, 2, 3])
  gate.resolve()
  await background.idle()
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6])
})

test('what one work throws is told, and stops no other', async () => {
  const { background, warnings } = aBackground()
  const done: string[] = []
  background.run('bad', () => Promise.reject(new Error('bad')))
  background.run('good', async () => void done.push('good'))
  await background.idle()
  expect(done).toEqual(['good'])
  expect(warnings).toEqual(['work in the background failed'])
})

test('a flood is refused, and what waits is done', async () => {
  const { background, warnings } = aBackground()
  let done = 0
  const work = async (): Promise<void> => void (done += 1)
  const accepted = Array.from({ length: 600 }, () => background.run('flood', work))
  expect(accepted.filter(Boolean)).toHaveLength(500)
  expect(warnings).toHaveLength(100)
  await background.idle()
  expect(done).toBe(500)
  expect(background.run('later', work)).toBe(true)
  await background.idle()
})

test('what may wait does, unless somebody waits for it', async () => {
  const { background } = aBackground()
  const done: string[] = []
  background.later('soon', 5, async () => void done.push('soon'))
  await expect.poll(() => done, { timeout: 15_000 }).toEqual(['soon'])
  background.later('in an hour', 3_600_000, async () => {
    done.push('at once')
    background.later('and what follows', 3_600_000, async () => void done.push('that too'))
  })
  await background.idle()
  expect(done).toEqual(['soon', 'at once', 'that too'])
})
