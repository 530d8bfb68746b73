import { expect, test } from 'vitest'
import { convert } from '../../test/converted-request.ts'

/**
 * Requests of Gemini clients in the other dialects. Sources: Gemini API reference and guides
 * "Function calling", "Thinking".
 */

const gemini = {
  system_instruction: { parts: [{ text: 'You are helpful.' }] },
  contents: [
    { parts: [{ text: 'Weather, twice?' }] },
    {
      role: 'model',
      parts: [
        { text: 'Two cities.', thought: true, thoughtSignature: 'c2VhbA==' },
        { functionCall: { name: 'get_weather', args: { location: 'Paris' } } },
        { functionCall: { name: 'get_weather', args: { location: 'Oslo' } } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'get_weather', response: { result: 'sunny' } } },
        { functionResponse: { name: 'get_weather', response: { temp: 3, unit: 'C' } } },
      ],
    },
  ],
  tools: [
    {
      function_declarations: [
        {
          name: 'get_weather',
          description: 'Weather',
          parameters: {
            type: 'OBJECT',
            properties: { location: { type: 'STRING', nullable: true } },
            propertyOrdering: ['location'],
          },
        },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
  generation_config: {
    temperature: 0.5,
    top_p: 0.9,
    topK: 20,
    maxOutputTokens: 800,
    stopSequences: ['END'],
    thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true },
  },
}
const SCHEMA = { type: 'object', properties: { location: { type: ['string', 'null'] } } }

test('Gemini to OpenAI', () => {
  expect(convert('gemini', 'openai', gemini)).toEqual({
    model: 'm',
    messages: [
      { role: 'system', content: 'You are helpful.' },
      { role: 'user', content: 'Weather, twice?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'call_2',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"location":"Paris"}' },
          },
          {
            id: 'call_3',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"location":"Oslo"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_2', content: 'sunny' },
      { role: 'tool', tool_call_id: 'call_3', content: '{"temp":3,"unit":"C"}' },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'Weather', parameters: SCHEMA },
      },
    ],
    tool_choice: 'auto',
    max_tokens: 800,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 20,
    reasoning_effort: 'high',
    stop: ['END'],
  })
})

test('Gemini to OpenAI: its older schemas keep their meaning', () => {
  const parameters = {
    type: 'OBJECT',
    properties: {
      any: { nullable: true, anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }] },
      one: { type: 'STRING', nullable: true, enum: ['x'] },
    },
    additionalProperties: { type: 'STRING', nullable: true },
    maxProperties: '9',
  }
  const tools = [{ functionDeclarations: [{ name: 'f', parameters }] }]
  expect(convert('gemini', 'openai', { ...gemini, tools }).tools).toMatchObject([
    {
      function: {
        parameters: {
          type: 'object',
          properties: {
            any: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
            one: { type: ['string', 'null'], enum: ['x', null] },
          },
          additionalProperties: { type: ['string', 'null'] },
          maxProperties: 9,
        },
      },
    },
  ])
})

test('Gemini to OpenAI: a plain-text document becomes text', () => {
  const data = Buffer.from('Forty-two, naïvely.').toString('base64')
  const inlineData = { mimeType: 'text/plain; charset=utf-8', data }
  const contents = [{ parts: [{ text: 'Read this:' }, { inlineData }] }]
  const { messages } = convert('gemini', 'openai', { contents })
  expect(JSON.stringify(messages)).toContain('Forty-two, naïvely.')
})

test('Gemini to Anthropic', () => {
  const written = convert('gemini', 'anthropic', gemini, { model: 'claude-opus-5' })
  expect(written).toMatchObject({
    max_tokens: 800,
    system: [{ type: 'text', text: 'You are helpful.' }],
    tools: [{ name: 'get_weather', input_schema: SCHEMA }],
    tool_choice: { type: 'auto' },
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
  })
  const [, calls, results] = written.messages as { content: Record<string, unknown>[] }[]
  // The reasoning is Gemini's own, and is not sent to Anthropic.
  expect(calls?.content.map(({ type }) => type)).toEqual(['tool_use', 'tool_use'])
  expect(results?.content.map(({ tool_use_id: id }) => id)).toEqual(['call_2', 'call_3'])
})

test('Gemini to Anthropic: joins the parts of a streamed turn', () => {
  const thought = (text: string) => ({ text, thought: true })
  const seal = Buffer.from('gatehouse:anthropic:its-seal').toString('base64')
  const hidden = Buffer.from('gatehouse:anthropic:hidden:bytes').toString('base64')
  const parts = [
    thought('Let me '),
    thought('see.'),
    { ...thought(''), thoughtSignature: seal },
    { ...thought(''), thoughtSignature: hidden },
    { text: 'One.' },
    { text: '\n\n' },
    { text: 'Two.' },
    { functionCall: { id: 'c', name: 'f', args: {} } },
    { text: '' },
  ]
  const contents = [{ parts: [{ text: 'Count.' }] }, { role: 'model', parts }]
  const { messages } = convert('gemini', 'anthropic', { contents }, { model: 'claude-opus-4-5' })
  expect(messages).toMatchObject([
    { role: 'user' },
    {
      content: [
        { type: 'thinking', thinking: 'Let me see.', signature: 'its-seal' },
        { type: 'redacted_thinking', data: 'bytes' },
        { type: 'text', text: 'One.\n\nTwo.' },
        { type: 'tool_use', id: 'c' },
      ],
    },
  ])
})
