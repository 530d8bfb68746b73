import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from './fake-upstream.ts'
import type { Script } from './script.ts'

const script: Script = {
  steps: [
    { tool: 'read', args: { file: 'first.txt' } },
    { tool: 'find', args: { text: '{key}' } },
  ],
  answer: 'The word of {key} is {word}.',
}
const [key, word] = ['key-0123abcd', 'word-89ef4567']
const found = [`first: ${key}`, `key-00000000 word-00000000\n${key} ${word}`]

let upstream: FakeUpstream
beforeAll(async () => {
  upstream = await startFakeUpstream({ script: () => script })
})
afterAll(() => upstream.close())

type Message = { content: string | null; tool_calls?: unknown[] }

async function ask(content: string, names: string[]): Promise<Message> {
  const tools = names.map((name) => ({ type: 'function', function: { name } }))
  const response = await fetch(`${upstream.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], tools }),
  })
  // The upstream responds in the format of chat completions.
  const { choices } = (await response.json()) as { choices: [{ message: Message }] }
  return choices[0].message
}

test('a script calls its tools with what it found, then returns it', async () => {
  const names = ['read', 'find']
  const called = (name: string, args: string) => ({
    tool_calls: [{ type: 'function', function: { name, arguments: args } }],
  })
  expect(await ask('Go', names)).toMatchObject(called('read', '{"file":"first.txt"}'))
  const second = await ask(found[0] ?? '', names)
  expect(second).toMatchObject(called('find', `{"text":"${key}"}`))
  const last = await ask(found.join('\n'), names)
  expect(last.content).toBe(`The word of ${key} is ${word}.`)
})

test('a request without the script’s tool gets an ordinary response', async () => {
  expect((await ask('A title', ['other'])).content).toBe('The answer is forty-two.')
})
