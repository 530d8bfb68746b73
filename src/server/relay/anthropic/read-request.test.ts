import { expect, test } from 'vitest'
import { readAnthropicRequest } from './read-request.ts'

const messages = [{ role: 'user', content: 'Hi' }]

test('thinking between calls only is the least there is', () => {
  const read = readAnthropicRequest({ messages, thinking: { type: 'between_tools' } })
  expect(read.thinking).toEqual({ kind: 'off' })
})

test('a way of thinking that nobody here knows is refused', () => {
  expect(() => readAnthropicRequest({ messages, thinking: { type: 'sideways' } })).toThrow(
    /thinking\.type/,
  )
})

test('a document’s title and context are said before it', () => {
  const source = { type: 'text', media_type: 'text/plain', data: 'Rain.' }
  const content = [{ type: 'document', title: 'Oslo', context: 'A report of 1999.', source }]
  const read = readAnthropicRequest({ messages: [{ role: 'user', content }] })
  expect(read.messages[0]?.parts).toMatchObject([
    { kind: 'text', text: 'Oslo' },
    { kind: 'text', text: 'A report of 1999.' },
    { kind: 'media', source: { from: 'text', text: 'Rain.' } },
  ])
})
