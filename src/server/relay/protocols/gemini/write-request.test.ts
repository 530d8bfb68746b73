import { describe, expect, test } from 'vitest'
import { dialects } from '../../conversion/dialects.ts'

type Json = Record<string, unknown>

function convert(client: 'openai', upstream: 'gemini', body: object, over: object = {}) {
  // Requests are objects; the reader relies on nothing else.
  const request = dialects[client].readRequest(body as Json)
  const to = { model: 'm', isStream: false, asksForUsage: false, ...over }
  return dialects[upstream].writeRequest(request, to)
}

describe('OpenAI to Gemini: reasoning', () => {
  test.each<[string, string, object | undefined]>([
    ['gemini-2.5-pro', 'high', { thinkingBudget: 26_214, includeThoughts: true }],
    ['gemini-2.5-flash', 'minimal', { thinkingBudget: 1228, includeThoughts: true }],
    ['gemini-2.5-flash-lite', 'minimal', { thinkingBudget: 1228, includeThoughts: true }],
    ['gemini-2.5-flash', 'none', { thinkingBudget: 0 }],
    ['gemini-3-pro', 'low', { thinkingLevel: 'low', includeThoughts: true }],
    ['gemini-3.1-flash', 'xhigh', { thinkingLevel: 'high', includeThoughts: true }],
    ['gemini-3.6-flash', 'minimal', { thinkingLevel: 'minimal', includeThoughts: true }],
    ['gemini-3.5-flash-lite', 'minimal', { thinkingLevel: 'minimal', includeThoughts: true }],
    // The lowest level of these models is `low`.
    ['gemini-3.8-flash', 'minimal', { thinkingLevel: 'low', includeThoughts: true }],
    ['gemini-3.1-pro-preview', 'minimal', { thinkingLevel: 'low', includeThoughts: true }],
  ])('%s, %s', (model, effort, expected) => {
    const body = { messages: [{ role: 'user', content: 'x' }], reasoning_effort: effort }
    const { generationConfig } = convert('openai', 'gemini', body, { model })
    expect(generationConfig).toEqual({ thinkingConfig: expected })
  })
})

describe('OpenAI to Gemini: Google’s own members', () => {
  const configOf = (members: object, model = 'gemini-2.5-flash') =>
    convert(
      'openai',
      'gemini',
      { messages: [{ role: 'user', content: 'x' }], ...members },
      { model },
    ).generationConfig

  test.each<[object, object, string?]>([
    [{ thinking_budget: 4096, include_thoughts: true }, { thinkingBudget: 4096 }],
    [{ thinking_budget: -1 }, { thinkingBudget: -1 }],
    [{ thinkingLevel: 'low' }, { thinkingLevel: 'low' }, 'gemini-3.1-pro-preview'],
  ])('%j is how to think', (config, expected, model) => {
    const thinkingConfig = { ...expected, includeThoughts: true }
    const google = { thinking_config: config }
    expect(configOf({ extra_body: { google } }, model)).toEqual({ thinkingConfig })
    // It is more specific than the effort that some clients also send.
    expect(configOf({ google, reasoning_effort: 'high' }, model)).toEqual({ thinkingConfig })
  })

  test('reasoning is turned off, and unknown members are rejected by name', () => {
    const off = { google: { thinking_config: { thinking_budget: 0 } } }
    expect(configOf({ extra_body: off })).toEqual({ thinkingConfig: { thinkingBudget: 0 } })
    const field = 'extra_body.google.cachedContent'
    const cached = { google: { cached_content: 'cachedContents/1' } }
    expect(() => configOf({ extra_body: cached })).toThrow(field)
  })

  test('images are requested, alone or with text', () => {
    expect(configOf({ modalities: ['image', 'text'] })).toEqual({
      responseModalities: ['TEXT', 'IMAGE'],
    })
    expect(configOf({ modalities: ['image'] })).toEqual({ responseModalities: ['IMAGE'] })
    expect(configOf({ modalities: ['text'] })).toBeUndefined()
  })
})

describe('OpenAI to Gemini: results match their calls', () => {
  const call = (id: string, city: string) => ({
    id,
    type: 'function',
    function: { name: 'w', arguments: JSON.stringify({ city }) },
  })
  const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })
  const messages = [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: null, tool_calls: [call('a', 'Paris'), call('b', 'Oslo')] },
    result('b', 'cold'),
    result('a', 'warm'),
  ]
  const sentTo = (model: string, asked = messages) =>
    convert('openai', 'gemini', { messages: asked }, { model }).contents as { parts: Json[] }[]

  test('in their order, and from Gemini 3 on by their ids', () => {
    const [, , older] = sentTo('gemini-2.5-pro')
    expect(older?.parts).toEqual([
      { functionResponse: { name: 'w', response: { result: 'warm' } } },
      { functionResponse: { name: 'w', response: { result: 'cold' } } },
    ])
    const [, calls, results] = sentTo('gemini-3.1-pro-preview')
    expect(calls?.parts).toMatchObject([
      { functionCall: { id: 'a', name: 'w', args: { city: 'Paris' } } },
      { functionCall: { id: 'b', name: 'w', args: { city: 'Oslo' } } },
    ])
    expect(results?.parts).toMatchObject([
      { functionResponse: { id: 'a', response: { result: 'warm' } } },
      { functionResponse: { id: 'b', response: { result: 'cold' } } },
    ])
  })

  test('even if every turn reuses call ids', () => {
    const other = { id: 'a', type: 'function', function: { name: 'time', arguments: '{}' } }
    const again = [{ role: 'assistant', content: null, tool_calls: [other] }, result('a', 'noon')]
    const named = sentTo('gemini-2.5-pro', [...messages, ...again]).flatMap(({ parts }) =>
      parts.flatMap(({ functionResponse: response }) => (response ? [response] : [])),
    )
    expect(named).toMatchObject([{ name: 'w' }, { name: 'w' }, { name: 'time' }])
  })
})

test('OpenAI to Gemini: instructions without a question become the question', () => {
  const messages = [{ role: 'system', content: 'Write a haiku.' }]
  const written = convert('openai', 'gemini', { messages })
  expect(written.contents).toEqual([{ role: 'user', parts: [{ text: 'Write a haiku.' }] }])
  expect(written).not.toHaveProperty('systemInstruction')
})
