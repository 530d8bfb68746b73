import { describe, expect, test } from 'vitest'
import { convert } from '../../test/converted-request.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import { upstreamDialects } from '../../test/upstream-dialects.ts'
import { dialects } from './dialects.ts'
import {
  ANTHROPIC_PICTURE_AND_CALLS,
  GEMINI_PICTURE_AND_CALLS,
  PICTURE_DATA,
} from '../../test/picture-and-calls.ts'

/**
 * Requests as in the vendors' documentation, in the other dialects. Sources: OpenAI's API reference
 * and guide "Function calling"; Anthropic's API reference and guides "Tool use", "Vision",
 * "Extended thinking"; Gemini API reference and guides "Function calling", "Thinking".
 */

const WEATHER = {
  type: 'object',
  properties: { location: { type: 'string', description: 'City and country' } },
  required: ['location'],
  additionalProperties: false,
}

const openai = {
  model: 'asked',
  messages: [
    { role: 'developer', content: 'You are helpful.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is in this image, and the weather?' },
        {
          type: 'image_url',
          image_url: { url: `data:image/png;base64,${PICTURE_DATA}`, detail: 'low' },
        },
      ],
    },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'get_weather', arguments: '{"location":"Paris"}' },
        },
        {
          id: 'call_2',
          type: 'function',
          function: { name: 'get_weather', arguments: '{"location":"Bogotá"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '{"temp":14}' },
    { role: 'tool', tool_call_id: 'call_2', content: 'eighteen' },
    { role: 'system', content: 'Be brief.' },
  ],
  tools: [
    {
      type: 'function',
      function: { name: 'get_weather', description: 'Weather', parameters: WEATHER, strict: true },
    },
  ],
  tool_choice: { type: 'function', function: { name: 'get_weather' } },
  max_completion_tokens: 500,
  temperature: 0.5,
  top_p: 0.9,
  stop: 'END',
  user: 'user-1',
  stream_options: { include_usage: true },
}

describe('OpenAI to Anthropic', () => {
  test('a conversation with an image and parallel calls', () => {
    expect(convert('openai', 'anthropic', openai, { isStream: true })).toEqual({
      model: 'm',
      max_tokens: 500,
      ...ANTHROPIC_PICTURE_AND_CALLS,
      tools: [{ name: 'get_weather', description: 'Weather', strict: true, input_schema: WEATHER }],
      tool_choice: { type: 'tool', name: 'get_weather' },
      temperature: 0.5,
      top_p: 0.9,
      stop_sequences: ['END'],
      metadata: { user_id: 'user-1' },
      stream: true,
    })
  })

  const ask = (members: object, model = 'claude-x') =>
    convert(
      'openai',
      'anthropic',
      { messages: [{ role: 'user', content: 'x' }], ...members },
      { model },
    )

  test.each<[string, object, object]>([
    [
      'claude-sonnet-4-5',
      { reasoning_effort: 'high' },
      { thinking: { type: 'enabled', budget_tokens: 4096 }, max_tokens: 12_288 },
    ],
    [
      'claude-3-7-sonnet-20250219',
      { reasoning_effort: 'low', max_tokens: 2000 },
      { thinking: { type: 'enabled', budget_tokens: 1280 }, max_tokens: 2000 },
    ],
    [
      'claude-3.7-sonnet',
      { reasoning: { max_tokens: 9000 }, max_tokens: 2000 },
      { thinking: { type: 'enabled', budget_tokens: 1999 } },
    ],
    [
      'claude-opus-4-6',
      { reasoning_effort: 'max' },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
    ],
    [
      'claude-sonnet-5',
      { reasoning_effort: 'minimal' },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    ],
    ['claude-3-opus-20240229', {}, { max_tokens: 4096 }],
    [
      'claude-x',
      { parallel_tool_calls: false, tools: openai.tools },
      { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    ],
    [
      'claude-x',
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: WEATHER } } },
      { output_config: { format: { type: 'json_schema', schema: WEATHER } } },
    ],
  ])('%s is told %j', (model, members, expected) => {
    expect(ask(members, model)).toMatchObject(expected)
  })

  test('turns reasoning off if the limit leaves no room', () => {
    const written = ask({ reasoning_effort: 'high', max_tokens: 500 }, 'claude-sonnet-4-5')
    expect(written).toMatchObject({ max_tokens: 500 })
    expect(written).not.toHaveProperty('thinking')
  })

  test('fixes what Anthropic would reject: empty texts, a start by the assistant, two users', () => {
    const messages = [
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: '' },
      { role: 'user', content: 'a' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'b', cache_control: { type: 'ephemeral' } }],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: '' },
    ]
    expect(convert('openai', 'anthropic', { messages }).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: '.' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' }] },
    ])
  })
})

test('OpenAI to Gemini', () => {
  const { user: _user, ...plain } = openai
  expect(convert('openai', 'gemini', { ...plain, n: 2, seed: 7 })).toEqual({
    ...GEMINI_PICTURE_AND_CALLS,
    tools: [
      {
        functionDeclarations: [
          { name: 'get_weather', description: 'Weather', parametersJsonSchema: WEATHER },
        ],
      },
    ],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['get_weather'] } },
    generationConfig: {
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 500,
      stopSequences: ['END'],
      candidateCount: 2,
      seed: 7,
    },
  })
})

test.each(['image/jpg', 'image/pjpeg', 'IMAGE/JPG'])('%s is the JPEG that all know', (type) => {
  const url = `data:${type};base64,${PICTURE_DATA}`
  const content = [{ type: 'image_url', image_url: { url } }]
  const messages = [{ role: 'user', content }]
  const source = { type: 'base64', media_type: type, data: PICTURE_DATA }
  const shown = {
    max_tokens: 9,
    messages: [{ role: 'user', content: [{ type: 'image', source }] }],
  }
  const inlineData = { mimeType: type, data: PICTURE_DATA }
  const native = { contents: [{ role: 'user', parts: [{ inlineData }] }] }
  for (const written of [
    convert('openai', 'gemini', { messages }),
    convert('anthropic', 'gemini', shown),
    convert('openai', 'anthropic', { messages }),
    convert('gemini', 'anthropic', native),
    convert('gemini', 'openai', native),
  ]) {
    expect(JSON.stringify(written)).toContain('image/jpeg')
    expect(JSON.stringify(written)).not.toContain(type)
  }
})

// Parts of OpenRouter, vLLM, Mistral and Zhipu beside OpenAI's.
test.each([
  ['image_url', 'https://a.example/a', 'image/jpeg'],
  ['video_url', 'https://a.example/a.webm', 'video/webm'],
  ['audio_url', 'https://a.example/a.wav', 'audio/wav'],
  ['document_url', 'https://a.example/a', 'application/pdf'],
  ['file_url', 'https://a.example/a.txt', 'text/plain'],
])('a part of type %s is read, with an object or a URL', (type, fileUri, mimeType) => {
  for (const value of [fileUri, { url: fileUri }]) {
    const messages = [{ role: 'user', content: [{ type, [type]: value }] }]
    const { contents } = convert('openai', 'gemini', { messages })
    expect(contents).toEqual([{ role: 'user', parts: [{ fileData: { mimeType, fileUri } }] }])
  }
})

test('Claude gets Mistral’s documents with their name', () => {
  const data = 'JVBERi0='
  const part = {
    type: 'document_url',
    document_url: `data:application/pdf;base64,${data}`,
    document_name: 'a.pdf',
  }
  const { messages } = convert('openai', 'anthropic', {
    messages: [{ role: 'user', content: [part] }],
  })
  const source = { type: 'base64', media_type: 'application/pdf', data }
  expect(messages).toEqual([
    { role: 'user', content: [{ type: 'document', source, title: 'a.pdf' }] },
  ])
})

test('OpenAI to Gemini: uses the operator’s safety threshold', () => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
  expect(convert('openai', 'gemini', body)).not.toHaveProperty('safetySettings')
  const { safetySettings } = convert('openai', 'gemini', body, { safety: 'BLOCK_NONE' })
  expect(safetySettings).toHaveLength(4)
  expect(safetySettings).toContainEqual({
    category: 'HARM_CATEGORY_HARASSMENT',
    threshold: 'BLOCK_NONE',
  })
})

test('OpenAI to Gemini: marks a call without its signature for models that would reject it', () => {
  const { contents } = convert('openai', 'gemini', openai, { model: 'gemini-3-pro' })
  const [, turn] = contents as { parts: Record<string, unknown>[] }[]
  expect(turn?.parts.map(({ thoughtSignature }) => thoughtSignature)).toEqual([
    undefined,
    'skip_thought_signature_validator',
    undefined,
  ])
})

const anthropic = {
  model: 'asked',
  max_tokens: 1024,
  system: [{ type: 'text', text: 'You are helpful.', cache_control: { type: 'ephemeral' } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'url', url: 'https://pictures.example/a.png' } },
        { type: 'text', text: 'What is this?' },
        {
          type: 'document',
          title: 'a.pdf',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
        },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'A picture.', signature: 'c2lnbmF0dXJl' },
        { type: 'redacted_thinking', data: 'aGlkZGVu' },
        { type: 'text', text: 'I ask.' },
        { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { location: 'Paris' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Here:' },
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          is_error: true,
          content: [
            { type: 'text', text: 'no such city' },
            {
              type: 'image',
              source: { type: 'base64', media_type: 'image/png', data: PICTURE_DATA },
            },
          ],
        },
      ],
    },
  ],
  tools: [{ name: 'get_weather', description: 'Weather', input_schema: WEATHER }],
  tool_choice: { type: 'any', disable_parallel_tool_use: true },
  stop_sequences: ['END'],
  thinking: { type: 'enabled', budget_tokens: 6000 },
}

test('Anthropic to OpenAI', () => {
  const asked = { model: 'gpt-5.4', isStream: true, asksForUsage: true }
  expect(convert('anthropic', 'openai', anthropic, asked)).toEqual({
    model: 'gpt-5.4',
    messages: [
      { role: 'system', content: 'You are helpful.' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
          { type: 'text', text: 'What is this?' },
          {
            type: 'file',
            file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
          },
        ],
      },
      {
        role: 'assistant',
        content: 'I ask.',
        tool_calls: [
          {
            id: 'toolu_1',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"location":"Paris"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'Error: no such city' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE_DATA}` } },
          { type: 'text', text: 'Here:' },
        ],
      },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'Weather', parameters: WEATHER },
      },
    ],
    tool_choice: 'required',
    parallel_tool_calls: false,
    max_completion_tokens: 1024,
    reasoning_effort: 'medium',
    stop: ['END'],
    stream: true,
    stream_options: { include_usage: true },
  })
})

test('Anthropic to OpenAI: sends reasoning back to vendors that require it', () => {
  const { messages } = convert('anthropic', 'openai', anthropic, { model: 'deepseek-reasoner' })
  expect((messages as Record<string, unknown>[])[2]).toMatchObject({
    reasoning_content: 'A picture.',
  })
})

test.each<[string, object, string | undefined]>([
  ['gpt-4o', { thinking: { type: 'enabled', budget_tokens: 6000 } }, undefined],
  ['o3', { thinking: { type: 'enabled', budget_tokens: 1024 } }, 'low'],
  ['o4-mini', { output_config: { effort: 'max' } }, 'high'],
  ['gpt-5-mini', { thinking: { type: 'enabled', budget_tokens: 1024 } }, 'minimal'],
  ['gpt-5-mini', { output_config: { effort: 'max' } }, 'high'],
  ['gpt-5.1', { thinking: { type: 'enabled', budget_tokens: 1024 } }, 'low'],
  ['gpt-5.1-chat-latest', { output_config: { effort: 'high' } }, 'medium'],
  ['gpt-5.4', { output_config: { effort: 'max' } }, 'xhigh'],
  ['gpt-6', { output_config: { effort: 'max' } }, 'max'],
  ['a-model', { output_config: { effort: 'max' } }, 'max'],
  ['acme/a-model', { thinking: { type: 'enabled', budget_tokens: 1024 } }, 'minimal'],
  ['openai/gpt-4o', { thinking: { type: 'enabled', budget_tokens: 1024 } }, undefined],
])('Anthropic to OpenAI: %s, %j', (model, members, effort) => {
  const body = { max_tokens: 9000, messages: [{ role: 'user', content: 'x' }], ...members }
  expect(convert('anthropic', 'openai', body, { model }).reasoning_effort).toBe(effort)
})

describe('Gemini to OpenAI: sampling parameters', () => {
  const figures = { temperature: 0.7, topP: 0.95, presencePenalty: 0.5 }
  const steered = { temperature: 0.7, top_p: 0.95, presence_penalty: 0.5 }
  const notToThink = { thinkingConfig: { thinkingBudget: 0 } }
  const toThink = { thinkingConfig: { thinkingBudget: 8192 } }
  test.each<[string, object, object]>([
    ['gpt-4o', {}, steered],
    ['gpt-5-chat-latest', {}, steered],
    ['gpt-5.4-mini', {}, steered],
    ['gpt-5.6', notToThink, steered],
    ['o3', {}, {}],
    ['gpt-5-mini', {}, {}],
    ['gpt-5.4', toThink, {}],
    ['gpt-5.2-chat-latest', {}, {}],
    ['gpt-5.1-codex-max', notToThink, {}],
    // These models reason by default.
    ['gpt-5.5', {}, {}],
    ['gpt-6-sol', {}, {}],
    ['gpt-oss-120b', toThink, { ...steered, top_k: 64 }],
    ['qwen3-max', {}, { ...steered, top_k: 64 }],
  ])('%s, told %j besides, gets %j', (model, members, expected) => {
    const generationConfig = { ...figures, topK: 64, ...members }
    const contents = [{ role: 'user', parts: [{ text: 'x' }] }]
    const written = convert('gemini', 'openai', { contents, generationConfig }, { model })
    const { temperature, top_p, top_k, presence_penalty } = written
    expect({ temperature, top_p, top_k, presence_penalty }).toEqual(expected)
  })
})

test('Anthropic to OpenAI: changes only rejected tool names', () => {
  const name = `mcp__${'x'.repeat(71)}`
  const body = {
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'y' }] },
    ],
    tools: [{ name }, { name: 'f' }],
    tool_choice: { type: 'tool', name },
  }
  const namesTo = (model: string) =>
    JSON.stringify(convert('anthropic', 'openai', body, { model })).match(/(?<="name":")[^"]+/g)
  const short = dialects.openai.toolName?.(name)
  expect(short).toMatch(/^mcp__x+_[0-9a-f]{8}$/)
  expect(short).toHaveLength(64)
  expect(namesTo('gpt-4.1')).toEqual([short, short, 'f', short])
  for (const model of ['gpt-oss-120b', 'qwen3-max']) {
    expect(namesTo(model)).toEqual([name, name, 'f', name])
  }
})

test('Anthropic to OpenAI: changes only rejected call ids', () => {
  const id = `functions.${'x'.repeat(40)}:0`
  const body = {
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'y' }] },
    ],
  }
  const idsTo = (model: string) =>
    JSON.stringify(convert('anthropic', 'openai', body, { model })).match(/(?<=id":")[^"]+/g)
  const [short] = idsTo('gpt-4.1') ?? []
  expect(short).toMatch(/^call_[0-9a-f]{24}$/)
  expect(idsTo('gpt-4.1')).toEqual([short, short])
  expect(idsTo('kimi-k2')).toEqual([id, id])
})

test('Anthropic to OpenAI: marks only supported schemas as strict', () => {
  const optional = { ...WEATHER, required: [] }
  const strictOf = (schema: object) => {
    const format = { type: 'json_schema', schema }
    const tools = [{ name: 'f', input_schema: schema, strict: true }]
    const body = { ...anthropic, tools, output_config: { format } }
    const { response_format, tools: said } = convert('anthropic', 'openai', body)
    return JSON.stringify([response_format, said]).match(/(?<="strict":)\w+/g)
  }
  expect(strictOf(WEATHER)).toEqual(['true', 'true'])
  expect(strictOf(optional)).toEqual(['false', 'false'])
})

test('Anthropic to OpenAI: sends signatures to vendors that pass on signed reasoning', () => {
  const { messages } = convert('anthropic', 'openai', anthropic, {
    model: 'anthropic/claude-sonnet-4.5',
  })
  expect((messages as Record<string, unknown>[])[2]).toMatchObject({
    reasoning_details: [
      {
        type: 'reasoning.text',
        text: 'A picture.',
        signature: 'c2lnbmF0dXJl',
        format: 'anthropic-claude-v1',
      },
      { type: 'reasoning.encrypted', data: 'aGlkZGVu', format: 'anthropic-claude-v1' },
    ],
  })
})

test('Anthropic to OpenAI: shortens a long name the same way each time', () => {
  const long = { ...anthropic, metadata: { user_id: 'u'.repeat(200) } }
  const { user } = convert('anthropic', 'openai', long)
  expect(user).toMatch(/^[0-9a-f]{64}$/)
  expect(convert('anthropic', 'openai', long).user).toBe(user)
})

test.each([
  ['https://example.com/a.png?x=1', { mimeType: 'image/png' }],
  ['https://example.com/image', { mimeType: 'image/jpeg' }],
  ['https://m.youtube.com/watch?v=1', {}],
  ['gs://bucket/a.png', {}],
])('an image at %s is read by Gemini itself, as %j', (url, type) => {
  const content = [{ type: 'image', source: { type: 'url', url } }]
  const body = { messages: [{ role: 'user', content }] }
  const fileData = { fileUri: url, ...type }
  expect(convert('anthropic', 'gemini', body).contents).toEqual([
    { role: 'user', parts: [{ fileData }] },
  ])
})

test('an image with an http URL is rejected for Gemini', () => {
  const source = { type: 'url', url: 'http://example.com/a.png' }
  const body = { messages: [{ role: 'user', content: [{ type: 'image', source }] }] }
  expect(() => convert('anthropic', 'gemini', body)).toThrow(/messages\[0\]\.content\[0\]/)
})

test.each<[DialectName | 'ollama' | 'tencent' | 'cohere', string]>([
  ['openai', 'a.csv:\na,b'],
  ['anthropic', '"data":"a,b"'],
  ['ollama', 'a.csv:\na,b'],
  ['tencent', 'a.csv:\na,b'],
  ['cohere', 'a.csv:\na,b'],
])('a text file as data reaches %s as text', (upstream, words) => {
  const file = { filename: 'a.csv', file_data: `data:text/csv;base64,${btoa('a,b')}` }
  const body = { messages: [{ role: 'user', content: [{ type: 'file', file }] }] }
  const request = dialects.openai.readRequest(body)
  const to = { model: 'm', isStream: false, asksForUsage: false }
  const written = JSON.stringify(upstreamDialects[upstream].writeRequest(request, to))
  expect(written.replaceAll('\\n', '\n')).toContain(words)
})

test('joins the texts of a tool result by lines', () => {
  const texts = ['one', 'two\n', 'three'].map((text) => ({ type: 'text', text }))
  const messages = [
    { role: 'user', content: 'Which?' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: texts }] },
  ]
  const words = 'one\ntwo\nthree'
  expect(convert('anthropic', 'openai', { messages }).messages).toMatchObject([
    {},
    {},
    { role: 'tool', content: words },
  ])
  expect(convert('anthropic', 'gemini', { messages }).contents).toMatchObject([
    {},
    {},
    { parts: [{ functionResponse: { response: { result: words } } }] },
  ])
})
