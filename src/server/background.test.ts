import { expect, test } from 'vitest'
import { createBackground } from './background.ts'

function aBackground() {
  const warnings: string[] = []
  const warn = (_facts: unknown, text: string): void => void warnings.push(text)
  return { background: createBackground({ warn }), warnings }
}

test('work starts after the caller’s turn, and idle waits for it', async () => {
  const { background } = aBackground()
  const done: string[] = []
  expect(background.run('mail', 'work', async () => void done.push('work'))).toBe(true)
  await Promise.resolve()
  expect(done).toEqual([])
  await background.idle()
  expect(done).toEqual(['work'])
  await background.idle()
})

test('four tasks run in parallel, the rest in order', async () => {
  const { background } = aBackground()
  const gate = Promise.withResolvers<void>()
  const begun: number[] = []
  for (let work = 0; work < 7; work += 1) {
    background.run('mail', 'work', async () => {
      begun.push(work)
      await gate.promise
    })
  }
  // Each starts in an immediate of its own, all before this one.
  await new Promise((resolve) => setImmediate(resolve))
  expect(begun).toEqual([0, 1, 2, 3])
  gate.resolve()
  await background.idle()
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6])
})

test('an error of one task is logged and stops no other', async () => {
  const { background, warnings } = aBackground()
  const done: string[] = []
  background.run('mail', 'bad', () => Promise.reject(new Error('bad')))
  background.run('mail', 'good', async () => void done.push('good'))
  await background.idle()
  expect(done).toEqual(['good'])
  expect(warnings).toEqual(['background work failed'])
})

test('tasks beyond the limit are rejected, and waiting ones run', async () => {
  const { background, warnings } = aBackground()
  let done = 0
  const work = async (): Promise<void> => void (done += 1)
  const accepted = Array.from({ length: 600 }, () => background.run('mail', 'flood', work))
  expect(accepted.filter(Boolean)).toHaveLength(500)
  expect(warnings).toHaveLength(100)
  await background.idle()
  expect(done).toBe(500)
  expect(background.run('mail', 'later', work)).toBe(true)
  await background.idle()
})

test('one lane does not wait for the other, and idle waits for both', async () => {
  const { background } = aBackground()
  const gate = Promise.withResolvers<void>()
  const done: string[] = []
  for (let mail = 0; mail < 600; mail += 1) background.run('mail', 'mail', () => gate.promise)
  expect(background.run('channels', 'work', async () => void done.push('channels'))).toBe(true)
  await expect.poll(() => done).toEqual(['channels'])
  let isIdle = false
  const idle = background.idle().then(() => (isIdle = true))
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(isIdle).toBe(false)
  gate.resolve()
  await idle
})

// A rejected task would never run, and its collector would collect forever.
test('a delayed task runs even if the queue is full', async () => {
  const { background } = aBackground()
  const gate = Promise.withResolvers<void>()
  const done: string[] = []
  background.later('mail', 'soon', 5, async () => void done.push('soon'))
  for (let mail = 0; mail < 600; mail += 1) background.run('mail', 'mail', () => gate.promise)
  await new Promise((resolve) => setTimeout(resolve, 30))
  gate.resolve()
  await background.idle()
  expect(done).toEqual(['soon'])
})

test('a delayed task waits, unless idle is called', async () => {
  const { background } = aBackground()
  const done: string[] = []
  background.later('mail', 'soon', 5, async () => void done.push('soon'))
  await expect.poll(() => done).toEqual(['soon'])
  background.later('mail', 'in an hour', 3_600_000, async () => {
    done.push('at once')
    background.later('mail', 'and what follows', 3_600_000, async () => void done.push('that too'))
  })
  await background.idle()
  expect(done).toEqual(['soon', 'at once', 'that too'])
})
