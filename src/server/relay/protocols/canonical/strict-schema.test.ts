import { describe, expect, test } from 'vitest'
import { plainRequest, type ChatRequest } from './chat-request.ts'
import { strictAtOpenai } from './strict-schema.ts'

const text = { type: 'string' }
const closed = (properties: object, over: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...over,
})
const spokenIn = (name: ChatRequest['spokenIn']) => ({ ...plainRequest([]), spokenIn: name })
const claims = spokenIn('anthropic')

describe('a schema that Claude holds to', () => {
  test.each<[string, object]>([
    ['closed, with all members demanded', closed({ a: text, b: text })],
    ['the same at all depths', closed({ a: { type: 'array', items: closed({ b: text }) } })],
    ['without members', closed({})],
    ['with a choice of closed ones', closed({ a: { anyOf: [closed({ b: text }), text] } })],
    ['with a member whose name is a word', closed({ oneOf: text, allOf: text })],
    ['with data that looks like a schema', closed({ a: { enum: [{ type: 'object' }] } })],
  ])('goes as strict: %s', (_, schema) => {
    expect(strictAtOpenai(claims, { ...schema }, true)).toBe(true)
  })

  test.each<[string, object]>([
    ['a member may be left out', closed({ a: text }, { required: [] })],
    ['it is open', closed({ a: text }, { additionalProperties: undefined })],
    ['an item is open', closed({ a: { type: 'array', items: { type: 'object' } } })],
    ['one that may be null is open', closed({ a: { type: ['object', 'null'] } })],
    ['a choice is open', closed({ a: { anyOf: [text, { type: 'object' }] } })],
    ['a definition is open', closed({}, { $defs: { b: { type: 'object' } } })],
    ['a word that OpenAI refuses', closed({ a: { allOf: [text] } })],
    ['no object', { anyOf: [closed({})] }],
  ])('does not: %s', (_, schema) => {
    expect(strictAtOpenai(claims, { ...schema }, true)).toBe(false)
  })
})

test('what a client of OpenAI says of its schema is its own affair', () => {
  const open = { type: 'object' }
  expect(strictAtOpenai(spokenIn('responses'), open, true)).toBe(true)
  expect(strictAtOpenai(claims, open, null)).toBeNull()
  expect(strictAtOpenai(claims, open, false)).toBe(false)
})
