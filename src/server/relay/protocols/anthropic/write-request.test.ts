import { describe, expect, test } from 'vitest'
import { RequestNotes } from '../canonical/request-notes.ts'
import { readGeminiRequest } from '../gemini/read-request.ts'
import { readOpenaiRequest } from '../openai-chat/read-request.ts'
import { writeAnthropicRequest } from './write-request.ts'

type Json = Record<string, unknown>

const QUESTION = [{ role: 'user', content: 'Weather?' }]
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]

function asked(
  members: Json,
  model = 'claude-opus-5',
  { isStream = false, notes = new RequestNotes() } = {},
): Json {
  const request = readOpenaiRequest({ messages: QUESTION, ...members }, notes)
  return writeAnthropicRequest(request, { model, isStream, asksForUsage: false })
}

describe('reasoning is off', () => {
  test.each<[string, Json | undefined]>([
    ['claude-haiku-5-5', { type: 'disabled' }],
    ['claude-opus-5', { type: 'disabled' }],
    ['anthropic/claude-sonnet-5', { type: 'disabled' }],
    ['claude-sonnet-5-5', { type: 'between_tools' }],
    // These models reason only on request.
    ['claude-opus-4-8', undefined],
    ['claude-opus-4-20250514', undefined],
    ['claude-3-5-sonnet-20241022', undefined],
  ])('%s is told %j', (model, thinking) => {
    expect(asked({ reasoning_effort: 'none' }, model).thinking).toEqual(thinking)
  })

  test.each(['claude-opus-5.5', 'claude-fable-5-1', 'claude-mythos-5'])(
    '%s, which always thinks, is told the least effort, with a note',
    (model) => {
      const notes = new RequestNotes()
      const written = asked({ reasoning_effort: 'none' }, model, { notes })
      expect(written).toMatchObject({ output_config: { effort: 'low' } })
      expect(notes.adjusted).toEqual(['reasoning_effort'])
      const strict = new RequestNotes(true)
      expect(() => asked({ reasoning_effort: 'none' }, model, { notes: strict })).toThrow(
        /reasoning_effort/,
      )
    },
  )

  test('for a client of Gemini', () => {
    const thinkingConfig = { thinkingBudget: 0 }
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
    const request = readGeminiRequest({ contents, generationConfig: { thinkingConfig } })
    const to = { model: 'claude-haiku-5-5', isStream: false, asksForUsage: false }
    expect(writeAnthropicRequest(request, to).thinking).toEqual({ type: 'disabled' })
  })
})

describe('reasoning is on', () => {
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

  test('and a tool call is mandatory: models with a reasoning budget do not reason', () => {
    const forced = { reasoning_effort: 'high', tools: TOOLS, tool_choice: 'required' }
    expect(asked(forced, 'claude-sonnet-4-5')).toMatchObject({ tool_choice: { type: 'any' } })
    expect(asked(forced, 'claude-sonnet-4-5')).not.toHaveProperty('thinking')
    expect(asked(forced, 'claude-opus-5')).toHaveProperty('thinking')
  })

  test('while calls are pending, if the reasoning before them is sent', () => {
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

test.each(['claude-fable-5-1', 'claude-mythos-5.2', 'claude-opus-5-5', 'claude-sonnet-5-5'])(
  '%s calls tools at will: a call is asked for in words, with a note',
  (model) => {
    for (const choice of ['required', { type: 'function', function: { name: 'f' } }]) {
      const notes = new RequestNotes()
      const { system, ...written } = asked({ tools: TOOLS, tool_choice: choice }, model, { notes })
      expect(written).toMatchObject({ tool_choice: { type: 'auto' } })
      expect(JSON.stringify(system)).toContain('Answer with a call of the tool f')
      expect(notes.adjusted).toEqual(['tool_choice'])
    }
    const willing = asked({ tools: TOOLS, tool_choice: 'auto' }, model)
    expect(willing).toMatchObject({ tool_choice: { type: 'auto' } })
    const choice = { type: 'function', function: { name: 'f' } }
    const other = asked({ tools: TOOLS, tool_choice: choice }, 'claude-haiku-5-5')
    expect(other).toMatchObject({ tool_choice: { type: 'tool' } })
  },
)

describe('a default output limit', () => {
  test.each<[string, Json, number, number]>([
    ['claude-opus-5-5', {}, 8192, 64_000],
    ['claude-opus-4-8', { reasoning_effort: 'max' }, 8192, 64_000],
    ['claude-sonnet-4-5', { reasoning_effort: 'max' }, 24_576, 64_000],
    ['claude-sonnet-4-5', { reasoning: { max_tokens: 60_000 } }, 68_192, 68_192],
    ['claude-opus-4-1', { reasoning_effort: 'low' }, 9472, 9472],
    ['claude-3-5-haiku-20241022', {}, 8192, 8192],
    ['claude-3-opus-20240229', {}, 4096, 4096],
    ['glm-4.6', {}, 8192, 32_000],
  ])('%s, %j: %i whole, %i streamed', (model, members, whole, streamed) => {
    expect(asked(members, model).max_tokens).toBe(whole)
    expect(asked(members, model, { isStream: true }).max_tokens).toBe(streamed)
    expect(asked({ ...members, max_tokens: 2000 }, model, { isStream: true }).max_tokens).toBe(2000)
  })
})

/** Each of them refers to the next. */
const chain = (length: number): Json =>
  Object.fromEntries(
    Array.from({ length }, (_, index) => [
      String(index),
      { anyOf: [{ $ref: `#/$defs/${(index + 1) % length}` }] },
    ]),
  )

describe('schemas', () => {
  const object = (properties: Json, over: Json = {}): Json => ({
    type: 'object',
    properties,
    ...over,
  })
  const closed = (properties: Json, over: Json = {}): Json =>
    object(properties, { ...over, additionalProperties: false })
  const format = (schema: Json, strict?: boolean): Json => ({
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict } },
  })
  const answerOf = (written: Json) =>
    (written.output_config as { format: Json } | undefined)?.format

  test.each<[string, Json, Json]>([
    [
      'open objects',
      object({ a: object({ b: { type: 'string' } }) }, { required: ['a'] }),
      closed({ a: closed({ b: { type: 'string' } }) }, { required: ['a'] }),
    ],
    [
      'bounds',
      object({
        n: { type: 'integer', minimum: 1, maximum: 9, description: 'Count' },
        l: { type: 'array', minItems: 2, items: { type: 'string', minLength: 2, format: 'uri' } },
        s: { type: ['string', 'null'], format: 'regex', title: 'S' },
      }),
      closed({
        n: { type: 'integer', description: 'Count\n\n{minimum: 1, maximum: 9}' },
        l: {
          type: 'array',
          description: '{minItems: 2}',
          items: { type: 'string', format: 'uri', description: '{minLength: 2}' },
        },
        s: { type: ['string', 'null'], title: 'S', description: '{format: "regex"}' },
      }),
    ],
    [
      'choices and references',
      {
        ...object({
          one: { oneOf: [{ type: 'string' }, { type: 'null' }] },
          sort: { type: ['string', 'null'], enum: ['a', null] },
          part: { allOf: [{ $ref: '#/$defs/P' }], description: 'The part' },
          other: { $ref: '#/$defs/P', description: 'Another' },
        }),
        $defs: { P: object({ x: { const: 1 } }) },
        $schema: 'https://json-schema.org/draft/2020-12/schema',
      },
      {
        ...closed({
          one: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          sort: { enum: ['a', null] },
          part: { $ref: '#/$defs/P' },
          other: { $ref: '#/$defs/P' },
        }),
        $defs: { P: closed({ x: { const: 1 } }) },
      },
    ],
  ])('of answers are written as Claude wants them: %s', (_what, schema, expected) => {
    const written = answerOf(asked(format(schema)))
    expect(written).toEqual({ type: 'json_schema', schema: expected })
    expect(answerOf(asked(format(expected, true)))?.schema).toEqual(expected)
  })

  const many = (count: number, part: Json): Json =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, part]))
  test.each<[string, Json]>([
    ['any members', object({ a: { type: 'object' } })],
    ['members of any name', object({ a: object({}, { additionalProperties: true }) })],
    ['values of any kind', object({ a: {} })],
    [
      'itself within itself',
      { $ref: '#/$defs/T', $defs: { T: object({ t: { $ref: '#/$defs/T' } }) } },
    ],
    ['what lies elsewhere', object({ a: { $ref: 'https://a.example/schema' } })],
    ['definitions without end', { ...object({ a: { $ref: '#/$defs/0' } }), $defs: chain(6000) }],
    ['too much that may be missing', object(many(25, { type: 'string' }))],
    [
      'parts that are all to hold',
      { allOf: [object({ a: { const: 1 } }), object({ b: { const: 1 } })] },
    ],
  ])('that Claude cannot be held to, with %s: in words, or refused', (_what, schema) => {
    const loose = asked(format(schema))
    expect(answerOf(loose)).toBeUndefined()
    expect(JSON.stringify(loose.system)).toContain(
      JSON.stringify(JSON.stringify(schema)).slice(1, -1),
    )
    expect(() => asked(format(schema, true))).toThrow(/response_format/)
  })

  test('of Gemini’s clients need no members that their dialect lacks', () => {
    const responseSchema = object({ a: { type: 'INTEGER', minimum: 1 } }, { type: 'OBJECT' })
    const request = readGeminiRequest({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      generationConfig: { responseMimeType: 'application/json', responseSchema },
    })
    const to = { model: 'claude-haiku-4-5', isStream: false, asksForUsage: false }
    expect(answerOf(writeAnthropicRequest(request, to))?.schema).toEqual(
      closed({ a: { type: 'integer', description: '{minimum: 1}' } }),
    )
  })

  const tool = (name: string, parameters: Json, strict = true) => ({
    type: 'function',
    function: { name, parameters, strict },
  })
  const bounded = object({ n: { type: 'integer', minimum: 1 } }, { required: ['n'] })
  test('of strict tools are enforced if Claude supports them; others are hints', () => {
    const free = object({}, { additionalProperties: true })
    const tools = [tool('a', bounded), tool('b', free), tool('c', bounded, false)]
    expect(asked({ tools }).tools).toEqual([
      {
        name: 'a',
        strict: true,
        input_schema: closed(
          { n: { type: 'integer', description: '{minimum: 1}' } },
          {
            required: ['n'],
          },
        ),
      },
      { name: 'b', input_schema: free },
      { name: 'c', input_schema: bounded },
    ])
  })

  test('are not enforced beyond Claude’s limit of tools', () => {
    const tools = Array.from({ length: 21 }, (_, at) => tool(`t${at}`, bounded))
    const schemasOf = (some: Json[]) => asked({ tools: some }).tools as Json[]
    expect(schemasOf(tools.slice(1)).every(({ strict }) => strict === true)).toBe(true)
    expect(schemasOf(tools)).toEqual(
      tools.map(({ function: { name } }) => ({ name, input_schema: bounded })),
    )
  })

  test('with many references to one definition are read quickly', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => {
        const $ref = `#/$defs/D${at + 1}`
        return [
          `D${at}`,
          at === 39
            ? { type: 'string' }
            : object({ a: { $ref }, b: { $ref } }, { required: ['a', 'b'] }),
        ]
      }),
    )
    expect(answerOf(asked(format({ $ref: '#/$defs/D0', $defs })))).toBeDefined()
  })
})

test('instructions without a question become the question', () => {
  const messages = [{ role: 'system', content: 'Write a haiku.' }]
  const content = [{ type: 'text', text: 'Write a haiku.' }]
  const written = asked({ messages })
  expect(written).toHaveProperty('messages', [{ role: 'user', content }])
  expect(written).not.toHaveProperty('system')
})

test.each(['application/json', 'application/x-yaml', 'application/ld+json', 'text/csv'])(
  'a file of %s is text',
  (type) => {
    const file = { filename: 'a', file_data: `data:${type};base64,e30=` }
    const messages = [{ role: 'user', content: [{ type: 'file', file }] }]
    const source = { type: 'text', media_type: 'text/plain', data: '{}' }
    expect(asked({ messages })).toHaveProperty('messages.0.content.0.source', source)
  },
)

describe('sampling parameters', () => {
  const figures = { temperature: 0.2, top_p: 0.9, top_k: 5 }
  test.each<[string, Json, Json]>([
    ['claude-opus-4-7', {}, {}],
    ['claude-opus-4-6', {}, { temperature: 0.2, top_k: 5 }],
    ['claude-opus-4-6', { reasoning_effort: 'low' }, {}],
    ['claude-3-5-haiku-20241022', {}, figures],
    ['glm-4.6', { reasoning_effort: 'low' }, figures],
    // Elsewhere the maximum is 2, here it is 1.
    ['claude-opus-4-6', { temperature: 1.5 }, { temperature: 1, top_k: 5 }],
    ['claude-opus-4-7', { temperature: 1.5 }, {}],
  ])('%s, asked %j besides, gets %j', (model, members, expected) => {
    const { temperature, top_p, top_k } = asked({ ...figures, ...members }, model)
    expect({ temperature, top_p, top_k }).toEqual(expected)
  })
})

test('JSON without a schema is requested in the prompt, after the instructions', () => {
  const messages = [{ role: 'system', content: 'Be brief.' }, ...QUESTION]
  const format = { response_format: { type: 'json_object' } }
  expect(asked({ messages, ...format }).system).toEqual([
    { type: 'text', text: 'Be brief.' },
    { type: 'text', text: expect.stringContaining('JSON only') },
  ])
  expect(asked(format).system).toHaveLength(1)
})

test('reasoning of other makers is not sent to Anthropic, even if signed or hidden', () => {
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

test('an empty last user turn is kept', () => {
  const silent = { role: 'user', content: [{ type: 'text', text: '.' }] }
  const nothing = { role: 'user', content: '' }
  const messages = [...QUESTION, { role: 'assistant', content: 'Sun' }, nothing]
  expect(asked({ messages: [nothing] }).messages).toEqual([silent])
  expect(asked({ messages })).toHaveProperty('messages.2', silent)
})

test('cuts the response at a blank stop text, and ignores an empty one', () => {
  const notes = new RequestNotes()
  expect(asked({ stop: ['END', '\n'] }, undefined, { notes })).toHaveProperty('stop_sequences', [
    'END',
  ])
  expect(notes.dropped).toEqual([])
  expect(notes.stops).toEqual(['\n'])
  expect(asked({ stop: '' })).not.toHaveProperty('stop_sequences')
})
