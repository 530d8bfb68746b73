import { describe, expect, test } from 'vitest'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { dialects } from '../../conversion/dialects.ts'
import { answerIn } from '../../../test/read-answer.ts'
import { toolsAsAsked } from '../../protocols/dialect/answer-changes.ts'
import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'

/** Constraints of Converse on a conversation, each with Bedrock's error for a violation. */
const { converse } = upstreamDialects

const written = (body: JsonRecord, by: 'openai' | 'anthropic' = 'openai'): JsonRecord =>
  converse.writeRequest(
    dialects[by].readRequest({ messages: [{ role: 'user', content: 'Hi' }], ...body }),
    { model: 'amazon.nova-lite-v1:0', isStream: false, asksForUsage: false },
  )

const user = (content: unknown): JsonRecord => ({ role: 'user', content })
const assistant = (content: unknown): JsonRecord => ({ role: 'assistant', content })

describe('documents', () => {
  const PDF = Buffer.from('%PDF-1.7').toString('base64')
  const file = (filename?: string): JsonRecord => ({
    type: 'file',
    file: { filename, file_data: `data:application/pdf;base64,${PDF}` },
  })
  const namesOf = (sent: JsonRecord): unknown[] =>
    arrayOr(sent.messages).flatMap((message) =>
      arrayOr(recordOr(message).content).flatMap((block) => {
        const { document } = recordOr(block)
        return document === undefined ? [] : [recordOr(document).name]
      }),
    )

  test.each([
    [
      ['a.pdf', 'a.pdf', 'A.pdf'],
      ['a pdf', 'a pdf 2', 'A pdf 3'],
    ],
    [
      ['季报.pdf', '年报.pdf'],
      ['pdf', 'pdf 2'],
    ],
    [
      [undefined, undefined],
      ['document', 'document 2'],
    ],
    [
      ['a', 'a 2', 'a'],
      ['a', 'a 2', 'a 3'],
    ],
    [
      ['x'.repeat(300), 'x'.repeat(300)],
      ['x'.repeat(200), `${'x'.repeat(198)} 2`],
    ],
  ])('%j have names of their own, over all turns', (titles, names) => {
    const messages = titles.flatMap((title) => [user([file(title)]), assistant('Read.')])
    expect(namesOf(written({ messages: [...messages, user('And?')] }))).toEqual(names)
  })

  test('get unique names quickly, even with many equal or similar titles', () => {
    const count = 20_000
    const titles = Array.from({ length: count }, (_, index) =>
      index % 2 === 0 ? 'a' : 'x'.repeat(195) + String(index >> 2).padStart(5, '0'),
    )
    const names = new Set(namesOf(written({ messages: [user(titles.map(file))] })))
    expect(names.size).toBe(count)
    expect(names.has(`a ${count / 2}`)).toBe(true)
  })

  test('in tool results get unique names, too', () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: PDF }
    const document = { type: 'document', source, title: 'a' }
    const messages = [
      user([document, { type: 'text', text: 'Compare.' }]),
      assistant([{ type: 'tool_use', id: 'c1', name: 'f', input: {} }]),
      user([{ type: 'tool_result', tool_use_id: 'c1', content: [document] }]),
    ]
    const tools = [{ name: 'f', input_schema: { type: 'object' } }]
    expect(written({ messages, tools, max_tokens: 9 }, 'anthropic')).toMatchObject({
      messages: [
        { content: [{ document: { name: 'a' } }, { text: 'Compare.' }] },
        {},
        { content: [{ toolResult: { content: [{ document: { name: 'a 2' } }] } }] },
      ],
    })
  })

  test('have text beside them', () => {
    expect(written({ messages: [user([file('a')])] })).toMatchObject({
      messages: [{ role: 'user', content: [{ document: { name: 'a' } }, { text: '.' }] }],
    })
  })
})

describe('turns', () => {
  const BOTH = [{ role: 'user', content: [{ text: 'a' }, { text: 'b' }] }]

  test.each(['', ' \n', null, []])('of an assistant that said %j are none', (content) => {
    expect(written({ messages: [user('a'), assistant(content), user('b')] })).toEqual({
      messages: BOTH,
    })
  })

  test('of an assistant with only reasoning are dropped', () => {
    const thought = [{ type: 'thinking', thinking: 'Hm.', signature: 's' }]
    const messages = [user('a'), assistant(thought), user('b')]
    expect(written({ messages, max_tokens: 9 }, 'anthropic')).toMatchObject({ messages: BOTH })
  })

  test('of a user without text are kept', () => {
    expect(written({ messages: [user('a'), assistant('b'), user('')] })).toMatchObject({
      messages: [{}, {}, { role: 'user', content: [{ text: '.' }] }],
    })
  })
})

describe('calls in a request that allows no tool calls', () => {
  const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
  const TOOL = { type: 'function', function: { name: 'f', parameters: SCHEMA } }
  const CALL = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"city":"x"}' } }
  const messages = [
    user('Use it'),
    { role: 'assistant', content: 'So.', tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    user('Sum up'),
  ]

  test.each([{}, { tools: [TOOL], tool_choice: 'none' }])('are told as text: %j', (over) => {
    expect(written({ messages, ...over })).toEqual({
      messages: [
        { role: 'user', content: [{ text: 'Use it' }] },
        { role: 'assistant', content: [{ text: 'So.' }, { text: 'f({"city":"x"})' }] },
        { role: 'user', content: [{ text: 'f: sunny' }, { text: 'Sum up' }] },
      ],
    })
  })

  test('are kept if a tool may be called', () => {
    expect(written({ messages, tools: [TOOL] })).toMatchObject({
      messages: [
        {},
        { content: [{ text: 'So.' }, { toolUse: { name: 'f' } }] },
        { content: [{ toolResult: { toolUseId: 'c1' } }, { text: 'Sum up' }] },
      ],
    })
  })
})

test('sends plain tool names and call ids, and restores the tool name in the response', () => {
  const name = 'mcp.files/read'
  const tool = { type: 'function', function: { name, parameters: { type: 'object' } } }
  const call = { id: 'functions.read:0', type: 'function', function: { name, arguments: '{}' } }
  const messages = [
    user('Use it'),
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: 'sunny' },
  ]
  const plain = converse.toolName?.(name)
  const toolUseId: unknown = expect.stringMatching(/^functions_read_0_\w+$/)
  const body = { messages, tools: [tool], tool_choice: { type: 'function', function: { name } } }
  expect(plain).toMatch(/^[\w-]{1,64}$/)
  expect(written(body)).toMatchObject({
    messages: [
      {},
      { content: [{ toolUse: { toolUseId, name: plain } }] },
      { content: [{ toolResult: { toolUseId } }] },
    ],
    toolConfig: { tools: [{ toolSpec: { name: plain } }], toolChoice: { tool: { name: plain } } },
  })
  const changes = toolsAsAsked(converse, dialects.openai.readRequest(body), 'request-1')
  const content = [{ toolUse: { toolUseId: 't', name: plain, input: {} } }]
  const answer = { output: { message: { content } }, stopReason: 'tool_use' }
  const [choice] = answerIn(converse, answer, changes).choices
  expect(choice?.parts).toMatchObject([{ name }])
})

describe('the output format', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
  const formatOf = (over: JsonRecord): JsonRecord => ({
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema, ...over } },
  })

  test('is a schema text with closed objects', () => {
    const { outputConfig } = written(formatOf({ description: 'd', strict: true }))
    const closed = JSON.stringify({ ...schema, additionalProperties: false })
    expect(outputConfig).toMatchObject({
      textFormat: {
        type: 'json_schema',
        structure: { jsonSchema: { name: 'n', description: 'd' } },
      },
    })
    const { structure } = recordOr(recordOr(outputConfig).textFormat)
    const { schema: text } = recordOr(recordOr(structure).jsonSchema)
    expect(JSON.parse(String(text))).toEqual(JSON.parse(closed))
  })

  test.each([
    { response_format: { type: 'json_object' } },
    formatOf({ schema: { type: 'object' } }),
  ])('that Converse cannot be told is asked for in words: %j', (over) => {
    const { system, outputConfig } = written(over)
    expect(outputConfig).toBeUndefined()
    expect(JSON.stringify(system)).toContain('Answer with JSON only')
  })

  test('is rejected if it is strict and cannot be a closed schema', () => {
    const open = { type: 'object', properties: { a: { type: 'object' } } }
    expect(() => written(formatOf({ schema: open, strict: true }))).toThrow(
      expect.objectContaining({ code: 'relay_field_unsupported' }),
    )
  })
})
