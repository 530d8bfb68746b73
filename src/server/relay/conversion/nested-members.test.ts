import { describe, expect, test } from 'vitest'
import { AppError } from '../../app-error.ts'
import type { SpokenName } from '../protocols/canonical/chat-request.ts'
import type { JsonRecord } from '../json/json-value.ts'
import { responsesClient } from '../protocols/openai-responses/client.ts'
import { dialects } from './dialects.ts'

/**
 * Nested members of a request are converted or rejected by their path, like top-level members: a
 * schema in an unusual place, the detail of an image, the name of a document.
 */

const read = (client: SpokenName, body: JsonRecord) =>
  (client === 'responses' ? responsesClient(body) : dialects[client]).readRequest(body)

function refused(client: SpokenName, body: JsonRecord): unknown {
  try {
    read(client, body)
    return null
  } catch (error) {
    return error instanceof AppError ? [error.code, error.params.field] : error
  }
}

const message = (client: SpokenName, part: object): JsonRecord =>
  client === 'gemini'
    ? { contents: [{ role: 'user', parts: [part] }] }
    : client === 'responses'
      ? { input: [{ role: 'user', content: [part] }] }
      : { max_tokens: 9, messages: [{ role: 'user', content: [part] }] }

const hello = { max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }
const odd = { unheard_of: 1 }
const AT = 'messages[0].content[0]'
const PDF = 'data:application/pdf;base64,JVBERi0='
const url = 'https://a.example/b'
const schema = { type: 'object' }

test.each<[SpokenName, JsonRecord, string]>([
  [
    'openai',
    message('openai', { type: 'image_url', image_url: { url, max_pixels: 9 } }),
    `${AT}.image_url.max_pixels`,
  ],
  [
    'openai',
    message('openai', { type: 'input_audio', input_audio: { data: 'AA==', ...odd } }),
    `${AT}.input_audio.unheard_of`,
  ],
  [
    'openai',
    message('openai', { type: 'file', file: { file_data: PDF, ...odd } }),
    `${AT}.file.unheard_of`,
  ],
  [
    'openai',
    { ...hello, response_format: { type: 'json_object', ...odd } },
    'response_format.unheard_of',
  ],
  [
    'openai',
    {
      ...hello,
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema, ...odd } },
    },
    'response_format.json_schema.unheard_of',
  ],
  [
    'anthropic',
    message('anthropic', { type: 'image', source: { type: 'url', url, ...odd } }),
    `${AT}.source.unheard_of`,
  ],
  [
    'anthropic',
    { ...hello, output_config: { format: { type: 'json_schema', schema, ...odd } } },
    'output_config.format.unheard_of',
  ],
  [
    'gemini',
    message('gemini', { inlineData: { mimeType: 'image/png', data: 'AA==', unheardOf: 1 } }),
    'contents[0].parts[0].inlineData.unheardOf',
  ],
  [
    'gemini',
    message('gemini', { fileData: { fileUri: url, unheardOf: 1 } }),
    'contents[0].parts[0].fileData.unheardOf',
  ],
  [
    'gemini',
    message('gemini', { functionResponse: { id: 'c', name: 'f', unheardOf: 1 } }),
    'contents[0].parts[0].functionResponse.unheardOf',
  ],
  [
    'gemini',
    message('gemini', { functionResponse: { id: 'c', name: 'f' }, text: 'x' }),
    'contents[0].parts[0].text',
  ],
  [
    'gemini',
    {
      contents: [{ parts: [{ text: 'x' }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', unheardOf: 1 } },
    },
    'toolConfig.functionCallingConfig.unheardOf',
  ],
  [
    'responses',
    { input: 'x', text: { format: { type: 'json_schema', name: 'n', schema, ...odd } } },
    'text.format.unheard_of',
  ],
])('%s, %j: %s', (client, body, field) => {
  expect(refused(client, body)).toEqual(['relay_field_unsupported', field])
})

// Redundant members, or members about delivery in pieces, which does not apply here.
test.each<[SpokenName, JsonRecord]>([
  ['openai', message('openai', { type: 'image_url', image_url: { url, format: 'image/png' } })],
  [
    'openai',
    message('openai', { type: 'file', file: { file_data: PDF, format: 'x', file_id: null } }),
  ],
  [
    'anthropic',
    message('anthropic', {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'x' },
    }),
  ],
  [
    'anthropic',
    message('anthropic', {
      type: 'image',
      source: { type: 'url', url },
      transformations: { oversized_image: 'downsize' },
    }),
  ],
  [
    'gemini',
    message('gemini', {
      functionResponse: { id: 'c', name: 'f', scheduling: 'SILENT', willContinue: false },
    }),
  ],
  [
    'gemini',
    {
      contents: [{ parts: [{ text: 'x' }] }],
      toolConfig: { functionCallingConfig: { mode: 'AUTO', streamFunctionCallArguments: true } },
    },
  ],
])('%s, %j is no reason to refuse', (client, body) => {
  expect(refused(client, body)).toBeNull()
})

test('a schema beside json_object is the output schema', () => {
  const { output } = read('openai', { ...hello, response_format: { type: 'json_object', schema } })
  expect(output).toMatchObject({ kind: 'schema', schema })
})

describe('the name of a document', () => {
  const named: [SpokenName, JsonRecord][] = [
    ['openai', message('openai', { type: 'file', file: { filename: 'a.pdf', file_data: PDF } })],
    ['responses', message('responses', { type: 'input_file', filename: 'a.pdf', file_data: PDF })],
    [
      'anthropic',
      message('anthropic', {
        type: 'document',
        title: 'a.pdf',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      }),
    ],
    [
      'gemini',
      message('gemini', {
        inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=', displayName: 'a.pdf' },
      }),
    ],
  ]
  test.each(named)('of a client of %s is sent to every model', (client, body) => {
    const to = { model: 'm', isStream: false, asksForUsage: false }
    for (const upstream of Object.values(dialects)) {
      expect(JSON.stringify(upstream.writeRequest(read(client, body), to))).toContain('a.pdf')
    }
  })
})

test('examples of a tool’s input become part of its description', () => {
  const tool = { name: 'f', input_schema: schema, input_examples: [{ a: 1 }, { a: 2 }] }
  const described = (description?: string) =>
    read('anthropic', { ...hello, tools: [{ ...tool, ...(description && { description }) }] })
      .tools[0]?.description
  const examples = 'Example of its input: {"a":1}\nExample of its input: {"a":2}'
  expect(described()).toBe(examples)
  expect(described('Finds.')).toBe(`Finds.\n\n${examples}`)
})
