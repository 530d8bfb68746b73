import { afterEach, expect, test } from 'vitest'
import { CountThread, WAITING_BYTES_MAX } from './count-thread.ts'
import type { CountQuestion } from './count-worker.ts'

const ask = (text: string): CountQuestion => ({ kind: 'text', model: 'gpt-4o', text })

/** A counting thread that fails or exits as the request says. */
const fragile = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', ({ id, question }) => {
      if (question.text === 'exit') process.exit(1)
      if (question.text === 'throw') throw new Error('thrown in the thread')
      if (question.text !== 'silence') parentPort.postMessage({ id, tokens: question.text.length })
    })
  `)}`,
)

const threads: CountThread[] = []
afterEach(async () => {
  await Promise.all(threads.splice(0).map((thread) => thread.close()))
})
function start(script?: URL): CountThread {
  const thread = new CountThread(script)
  threads.push(thread)
  return thread
}

test('answers', async () => {
  expect(await start().ask(ask('The answer is forty-two.'), 24)).toBe(6)
})

test('a failed request is reported to its caller, and the next one succeeds', async () => {
  const thread = start()
  // The cast sends an invalid request: one without a text.
  const broken = { kind: 'text', model: 'gpt-4o' } as unknown as CountQuestion
  await expect(thread.ask(broken, 1)).rejects.toThrow('TypeError')
  expect(await thread.ask(ask('a'), 1)).toBe(1)
})

test.each([
  ['exit', 'the counting thread ended'],
  ['throw', 'thrown in the thread'],
])('is started anew after it died: %s', async (way, reason) => {
  const thread = start(fragile)
  const waiting = thread.ask(ask('silence'), WAITING_BYTES_MAX - 1)
  const dying = thread.ask(ask(way), 1)
  await expect(waiting).rejects.toThrow(reason)
  await expect(dying).rejects.toThrow(reason)
  // The pending requests and bytes of the dead thread are gone.
  expect(await thread.ask(ask('abc'), WAITING_BYTES_MAX)).toBe(3)
})

test('rejects requests beyond the limit, and accepts them when there is room', async () => {
  const thread = start(fragile)
  const first = thread.ask(ask('abc'), WAITING_BYTES_MAX)
  await expect(thread.ask(ask('d'), 1)).rejects.toThrow('too much')
  await first
  expect(await thread.ask(ask('d'), 1)).toBe(1)
})

test('has no pending requests after it was closed', async () => {
  const thread = start(fragile)
  const waiting = thread.ask(ask('silence'), 1)
  const closing = thread.close()
  await expect(waiting).rejects.toThrow('closed')
  await closing
  await expect(thread.ask(ask('a'), 1)).rejects.toThrow('closed')
})
