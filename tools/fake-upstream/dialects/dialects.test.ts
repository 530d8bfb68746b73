import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../fake-upstream.ts'

/** The native dialects: their events byte for byte, and what they reject. */

let upstream: FakeUpstream
beforeAll(async () => {
  upstream = await startFakeUpstream()
})
afterAll(() => upstream.close())

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(upstream.url + path, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, type: response.headers.get('content-type'), text }
}

const ANTHROPIC = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }
const GEMINI = { 'x-goog-api-key': 'k' }
const hello = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }
const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
const content = '/v1beta/models/m:generateContent'

test('Anthropic streams named events as in its reference', async () => {
  const { text, type } = await post('/v1/messages', { ...hello, stream: true }, ANTHROPIC)
  expect(type).toBe('text/event-stream')
  const names = [...text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, name, data]) => {
    expect(JSON.parse(data ?? '')).toMatchObject({ type: name })
    return name
  })
  expect(names).toEqual([
    'message_start',
    'ping',
    'content_block_start',
    ...Array.from({ length: 5 }, () => 'content_block_delta'),
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
})

test('Gemini streams plain events with alt=sse, and one JSON array without', async () => {
  const path = '/v1beta/models/m:streamGenerateContent'
  const sse = await post(`${path}?alt=sse`, { contents }, GEMINI)
  const events = [...sse.text.matchAll(/^data: (.*)\n\n/gm)].map(([, data]) =>
    JSON.parse(data ?? ''),
  )
  const array = await post(path, { contents }, GEMINI)
  expect(array.type).toBe('application/json; charset=UTF-8')
  expect(JSON.parse(array.text)).toEqual(events)
  expect(events).toHaveLength(5)
})

describe('Anthropic rejects', () => {
  const added = (name: string) => ({
    type: 'tool_addition',
    tool: { type: 'tool_reference', name },
  })
  const call = { type: 'tool_use', id: 'a', name: 'f', input: {} }
  test.each<[string, object, Record<string, string>, number]>([
    ['no key', {}, { 'anthropic-version': '2023-06-01' }, 401],
    ['no version', {}, { 'x-api-key': 'k' }, 400],
    ['no limit', { max_tokens: undefined }, ANTHROPIC, 400],
    ['a member it does not know', { n: 1 }, ANTHROPIC, 400],
    [
      'a start by the assistant',
      { messages: [{ role: 'assistant', content: 'x' }] },
      ANTHROPIC,
      400,
    ],
    ['two turns of one', { messages: [...hello.messages, ...hello.messages] }, ANTHROPIC, 400],
    [
      'an empty text',
      { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] },
      ANTHROPIC,
      400,
    ],
    [
      'a call without its result',
      {
        messages: [
          ...hello.messages,
          { role: 'assistant', content: [call] },
          { role: 'user', content: 'x' },
        ],
      },
      ANTHROPIC,
      400,
    ],
    [
      'a change of tools without its beta',
      { messages: [...hello.messages, { role: 'system', content: [added('f')] }] },
      ANTHROPIC,
      400,
    ],
    [
      'a change of a tool that is not there',
      { messages: [...hello.messages, { role: 'system', content: [added('f')] }] },
      { ...ANTHROPIC, 'anthropic-beta': 'mid-conversation-tool-changes-2026-07-01' },
      400,
    ],
    [
      'to go on with the assistant’s words',
      {
        model: 'claude-opus-4-7',
        messages: [...hello.messages, { role: 'assistant', content: 'x' }],
      },
      ANTHROPIC,
      400,
    ],
    [
      'a budget beyond the limit',
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      ANTHROPIC,
      400,
    ],
  ])('%s', async (_what, over, headers, status) => {
    const answer = await post('/v1/messages', { ...hello, ...over }, headers)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.text)).toMatchObject({ type: 'error' })
  })
})

describe('Gemini rejects', () => {
  test.each<[string, object, Record<string, string>, number]>([
    ['no key', { contents }, {}, 403],
    ['a member it does not know', { contents, messages: [] }, GEMINI, 400],
    ['no contents', {}, GEMINI, 400],
    ['a role it does not know', { contents: [{ ...contents[0], role: 'assistant' }] }, GEMINI, 400],
    [
      'a call without its result',
      { contents: [...contents, { role: 'model', parts: [{ functionCall: { name: 'f' } }] }] },
      GEMINI,
      400,
    ],
    [
      'a picture of a type that there is not',
      {
        contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/jpg', data: '' } }] }],
      },
      GEMINI,
      400,
    ],
  ])('%s', async (_what, body, headers, status) => {
    const answer = await post(content, body, headers)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: status } })
  })

  test.each([
    ['gemini-3.1-pro-preview', 200],
    ['gemini-3.6-flash', 400],
  ])('%s goes on with the model’s words: %i', async (model, status) => {
    const begun = { contents: [...contents, { role: 'model', parts: [{ text: 'So' }] }] }
    const answer = await post(`/v1beta/models/${model}:generateContent`, begun, GEMINI)
    expect(answer.status).toBe(status)
  })
})

test.each([
  ['o4-mini', {}, 400],
  ['gpt-5', { reasoning_effort: 'none' }, 400],
  ['gpt-5.2', { reasoning_effort: 'high' }, 400],
  ['gpt-5.2', {}, 200],
  ['gpt-5.5', {}, 400],
  ['gpt-5.5', { reasoning_effort: 'none' }, 200],
  ['gpt-4o', {}, 200],
])('OpenAI’s %s with %j takes figures for sampling: %i', async (model, over, status) => {
  const path = '/v1/chat/completions'
  const key = { authorization: 'Bearer k' }
  for (const figures of [{ temperature: 0.3 }, { top_p: 1 }, { presence_penalty: 0 }]) {
    const answer = await post(path, { ...hello, model, ...over, ...figures }, key)
    expect(answer.status).toBe(status)
  }
})

test('Azure requires its key and version, and older versions reject stream_options', async () => {
  const path = '/openai/deployments/d/chat/completions'
  const body = { messages: hello.messages, stream: true, stream_options: { include_usage: true } }
  const key = { 'api-key': 'k' }
  expect((await post(`${path}?api-version=2025-01-01`, body)).status).toBe(401)
  expect((await post(path, body, key)).status).toBe(404)
  expect((await post(`${path}?api-version=2024-03-01`, body, key)).status).toBe(400)
  expect((await post(`${path}?api-version=2025-01-01`, body, key)).status).toBe(200)
})
