import { expect, test } from 'vitest'
import { convert } from '../../test/converted-request.ts'
import { list } from '../../test/dialect-clients.ts'
import { upstreamDialects } from '../../test/upstream-dialects.ts'
import { dialects } from './dialects.ts'
import { readResponsesRequest } from '../protocols/openai-responses/read-request.ts'
import { traitsOf } from '../vendors/registry.ts'

/** Cache marks of clients that other dialects support at another place. */

const messages = [{ role: 'user', content: 'Hi' }]
const ofClaudeCode = { max_tokens: 9, messages, metadata: { user_id: `user_${'a'.repeat(80)}` } }

test('moves a chat client’s mark on a tool result to Anthropic’s result', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'get', arguments: '{}' } }
  const marked = { type: 'text', text: 'R', cache_control: { type: 'ephemeral' } }
  const sent = convert('openai', 'anthropic', {
    messages: [
      ...messages,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: [marked] },
    ],
  })
  expect(list(sent.messages).at(-1)?.content).toEqual([
    {
      type: 'tool_result',
      tool_use_id: 'c1',
      content: [{ type: 'text', text: 'R' }],
      cache_control: { type: 'ephemeral' },
    },
  ])
})

test('moves a chat client’s mark on a message to its last part at Anthropic', () => {
  const cache_control = { type: 'ephemeral' }
  const call = { id: 'c1', type: 'function', function: { name: 'get', arguments: '{}' } }
  const sent = convert('openai', 'anthropic', {
    messages: [
      { role: 'system', content: 'S', cache_control },
      { role: 'user', content: 'Hi', cache_control },
      { role: 'assistant', content: 'T', tool_calls: [call], cache_control },
      { role: 'tool', tool_call_id: 'c1', content: 'R', cache_control },
    ],
  })
  const marked = [list(sent.system), ...list(sent.messages).map(({ content }) => list(content))]
  expect(marked.map((parts) => parts.map((part) => part.cache_control))).toEqual([
    [cache_control],
    [cache_control],
    [undefined, cache_control],
    [cache_control],
  ])
})

test('moves a chat client’s mark on a tool call to Anthropic’s call', () => {
  const cache_control = { type: 'ephemeral' }
  const called = { type: 'function', function: { name: 'get', arguments: '{}' } }
  const tool_calls = [
    { ...called, id: 'c1' },
    { ...called, id: 'c2', cache_control },
  ]
  const results = ['c1', 'c2'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'R' }))
  const sent = convert('openai', 'anthropic', {
    messages: [...messages, { role: 'assistant', tool_calls }, ...results],
  })
  const calls = list(list(sent.messages)[1]?.content)
  expect(calls.map((call) => call.cache_control)).toEqual([undefined, cache_control])
})

test.each([1, 3])(
  'Claude Code’s session is the cache key at type %i, by chat and responses',
  (type) => {
    const to = {
      model: 'gpt-5',
      isStream: false,
      asksForUsage: false,
      type,
      traits: traitsOf(type),
    }
    const request = dialects.anthropic.readRequest(ofClaudeCode)
    const keys = [dialects.openai, upstreamDialects.responses].map(
      (dialect) => dialect.writeRequest(request, to).prompt_cache_key,
    )
    expect(keys[0]).toMatch(/^.{1,64}$/)
    expect(keys[1]).toBe(keys[0])
  },
)

test.each([
  [1, 'k'],
  [50, 'k'],
  [29, undefined],
])('the key of a client of responses goes to type %i as %s', (type, key) => {
  const request = readResponsesRequest({ model: 'm', input: 'Hi', prompt_cache_key: 'k' })
  const to = { model: 'm', isStream: false, asksForUsage: false, type, traits: traitsOf(type) }
  expect(dialects.openai.writeRequest(request, to).prompt_cache_key).toBe(key)
  expect(convert('anthropic', 'openai', ofClaudeCode, { type: 50 })).not.toHaveProperty(
    'prompt_cache_key',
  )
})
