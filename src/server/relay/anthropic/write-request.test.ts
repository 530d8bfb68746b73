import { describe, expect, test } from 'vitest'
import { readGeminiRequest } from '../gemini/read-request.ts'
import { readOpenaiRequest } from '../openai/read-request.ts'
import { writeAnthropicRequest } from './write-request.ts'

type Json = Record<string, unknown>

const QUESTION = [{ role: 'user', content: 'Weather?' }]
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]

function asked(members: Json, model = 'claude-opus-5'): Json {
  const request = readOpenaiRequest({ messages: QUESTION, ...members })
  return writeAnthropicRequest(request, { model, isStream: false, asksForUsage: false })
}

describe('not to think', () => {
  test.each<[string, Json | undefined]>([
    ['claude-haiku-5-5', { type: 'disabled' }],
    ['claude-opus-5', { type: 'disabled' }],
    ['anthropic/claude-sonnet-5', { type: 'disabled' }],
    ['claude-sonnet-5-5', { type: 'between_tools' }],
    // They think only when told to.
    ['claude-opus-4-8', undefined],
    ['claude-opus-4-20250514', undefined],
    ['claude-3-5-sonnet-20241022', undefined],
  ])('%s is told %j', (model, thinking) => {
    expect(asked({ reasoning_effort: 'none' }, model).thinking).toEqual(thinking)
  })

  test.each(['claude-opus-5.5', 'claude-fable-5-1', 'claude-mythos-5'])(
    '%s cannot be told',
    (model) => {
      expect(() => asked({ reasoning_effort: 'none' }, model)).toThrow(/reasoning_effort/)
    },
  )

  test('as a client of Gemini says it', () => {
    const thinkingConfig = { thinkingBudget: 0 }
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
    const request = readGeminiRequest({ contents, generationConfig: { thinkingConfig } })
    const to = { model: 'claude-haiku-5-5', isStream: false, asksForUsage: false }
    expect(writeAnthropicRequest(request, to).thinking).toEqual({ type: 'disabled' })
  })
})

describe('to think', () => {
  const SHOWN = { type: 'adaptive', display: 'summarized' }
  test.each<[string, Json, Json, string | undefined]>([
    ['claude-opus-4-7', { reasoning_effort: 'xhigh' }, SHOWN, 'xhigh'],
    ['claude-opus-4-6', { reasoning_effort: 'xhigh' }, { type: 'adaptive' }, 'high'],
    ['claude-opus-5', { reasoning: { max_tokens: 1500 } }, SHOWN, 'low'],
    ['claude-opus-5', { thinking: { type: 'enabled', budget_tokens: 6000 } }, SHOWN, 'medium'],
    ['claude-opus-5', { reasoning: { enabled: true } }, SHOWN, undefined],
  ])('%s is told %j', (model, members, thinking, effort) => {
    const written = asked(members, model)
    expect(written.thinking).toEqual(thinking)
    expect((written.output_config as Json | undefined)?.effort).toBe(effort)
  })

  test('and to call a tool: whoever is told to think by a budget does not', () => {
    const forced = { reasoning_effort: 'high', tools: TOOLS, tool_choice: 'required' }
    expect(asked(forced, 'claude-sonnet-4-5')).toMatchObject({ tool_choice: { type: 'any' } })
    expect(asked(forced, 'claude-sonnet-4-5')).not.toHaveProperty('thinking')
    expect(asked(forced, 'claude-opus-5')).toHaveProperty('thinking')
  })

  test('while calls are answered, with the thought that came before them', () => {
    const details = [
      { type: 'reasoning.text', text: 'Hm.', signature: 's', format: 'anthropic-claude-v1' },
    ]
    const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '' } })
    const messages = [
      ...QUESTION,
      { role: 'assistant', tool_calls: [call('a')], reasoning_details: details },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'assistant', tool_calls: [call('b')] },
      { role: 'tool', tool_call_id: 'b', content: '2' },
    ]
    const written = asked({ messages, reasoning_effort: 'low' }, 'claude-haiku-4-5')
    expect(written.thinking).toEqual({ type: 'enabled', budget_tokens: 1280 })
  })
})

describe('figures for sampling', () => {
  const figures = { temperature: 0.2, top_p: 0.9, top_k: 5 }
  test.each<[string, Json, Json]>([
    ['claude-opus-4-7', {}, {}],
    ['claude-opus-4-6', {}, { temperature: 0.2, top_k: 5 }],
    ['claude-opus-4-6', { reasoning_effort: 'low' }, {}],
    ['claude-3-5-haiku-20241022', {}, figures],
    ['glm-4.6', { reasoning_effort: 'low' }, figures],
    // It goes to 2 elsewhere, and to 1 here.
    ['claude-opus-4-6', { temperature: 1.5 }, { temperature: 1, top_k: 5 }],
    ['claude-opus-4-7', { temperature: 1.5 }, {}],
  ])('%s, asked %j besides, gets %j', (model, members, expected) => {
    const { temperature, top_p, top_k } = asked({ ...figures, ...members }, model)
    expect({ temperature, top_p, top_k }).toEqual(expected)
  })
})

test('JSON without a schema is asked for in words, behind the instructions', () => {
  const messages = [{ role: 'system', content: 'Be brief.' }, ...QUESTION]
  const format = { response_format: { type: 'json_object' } }
  expect(asked({ messages, ...format }).system).toEqual([
    { type: 'text', text: 'Be brief.' },
    { type: 'text', text: expect.stringContaining('JSON only') },
  ])
  expect(asked(format).system).toHaveLength(1)
})

test('thoughts of others do not go to Anthropic, whoever has sealed or hidden them', () => {
  const detail = (format: string) => ({ type: 'reasoning.encrypted', data: 'gAAAA', format })
  const formats = ['openai-responses-v1', 'xai-responses-v1', 'google-gemini-v1']
  const sealed = { type: 'reasoning.text', text: 'x', signature: 's', format: 'azure-v1' }
  const messages = [
    ...QUESTION,
    { role: 'assistant', content: 'Sun', reasoning_details: [...formats.map(detail), sealed] },
    ...QUESTION,
  ]
  const content = [{ type: 'text', text: 'Sun' }]
  expect(asked({ messages })).toHaveProperty('messages.1.content', content)
})

test('a user who says nothing still has the last word', () => {
  const silent = { role: 'user', content: [{ type: 'text', text: '.' }] }
  const nothing = { role: 'user', content: '' }
  const messages = [...QUESTION, { role: 'assistant', content: 'Sun' }, nothing]
  expect(asked({ messages: [nothing] }).messages).toEqual([silent])
  expect(asked({ messages })).toHaveProperty('messages.2', silent)
})

test('a stop text of blanks is refused; an empty one is none', () => {
  expect(() => asked({ stop: ['END', '\n'] })).toThrow(/stop/)
  expect(asked({ stop: '' })).not.toHaveProperty('stop_sequences')
})
