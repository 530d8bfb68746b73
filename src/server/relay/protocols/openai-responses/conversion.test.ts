import { createOpenAI } from '@ai-sdk/openai'
import { generateText, type ModelMessage } from 'ai'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { errorText } from '../../../../contract/errors.ts'
import { AppError } from '../../../app-error.ts'
import { aNativeModel, nativeChannels } from '../../../test/native-channels.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  expectNothingCharged,
  expectRefusal,
  post,
  requestIdOf,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'
import {
  ANTHROPIC_PICTURE_AND_CALLS,
  GEMINI_PICTURE_AND_CALLS,
  PICTURE_DATA,
} from '../../../test/picture-and-calls.ts'
import { responsesSpeaker } from '../../../test/responses-client.ts'
import type { ChatEvent } from '../canonical/chat-answer.ts'
import { countedUsage } from '../canonical/token-usage.ts'
import { dialects } from '../../conversion/dialects.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { responsesClient } from './client.ts'
import { RequestNotes } from '../canonical/request-notes.ts'
import { readResponsesRequest } from './read-request.ts'

/**
 * The Responses API on channels without it. Requests and events as in OpenAI's API reference and
 * its guides "Function calling" and "Reasoning".
 */

const to = { model: 'm', isStream: false, asksForUsage: false }
const WEATHER = { type: 'object', properties: { location: { type: 'string' } } }

const REQUEST = {
  model: 'asked',
  instructions: 'You are helpful.',
  input: [
    { role: 'developer', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is in this image, and the weather?' },
        { type: 'input_image', image_url: `data:image/png;base64,${PICTURE_DATA}`, detail: 'low' },
      ],
    },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'I look.', annotations: [], logprobs: [] }],
    },
    {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{"location":"Paris"}',
    },
    {
      type: 'function_call',
      call_id: 'call_2',
      name: 'get_weather',
      arguments: '{"location":"Bogotá"}',
    },
    { type: 'function_call_output', call_id: 'call_1', output: '{"temp":14}' },
    {
      type: 'function_call_output',
      call_id: 'call_2',
      output: [{ type: 'input_text', text: 'eighteen' }],
    },
  ],
  tools: [
    {
      type: 'function',
      name: 'get_weather',
      description: 'Weather',
      parameters: WEATHER,
      strict: true,
    },
  ],
  tool_choice: { type: 'function', name: 'get_weather' },
  max_output_tokens: 500,
  temperature: 0.5,
  top_p: 0.9,
  store: false,
  include: ['reasoning.encrypted_content'],
  reasoning: { summary: 'auto' },
  text: { format: { type: 'text' } },
  metadata: { a: 'b' },
  user: 'user-1',
}

describe('a conversation with an image and parallel calls', () => {
  test('for Anthropic', () => {
    const written = dialects.anthropic.writeRequest(readResponsesRequest(REQUEST), to)
    const input_schema = { ...WEATHER, additionalProperties: false }
    expect(written).toEqual({
      model: 'm',
      max_tokens: 500,
      ...ANTHROPIC_PICTURE_AND_CALLS,
      tools: [{ name: 'get_weather', description: 'Weather', strict: true, input_schema }],
      tool_choice: { type: 'tool', name: 'get_weather' },
      temperature: 0.5,
      top_p: 0.9,
      metadata: { user_id: 'user-1' },
    })
  })

  test('for Gemini', () => {
    const written = dialects.gemini.writeRequest(readResponsesRequest(REQUEST), to)
    expect(written).toMatchObject({
      ...GEMINI_PICTURE_AND_CALLS,
      generationConfig: { temperature: 0.5, topP: 0.9, maxOutputTokens: 500 },
    })
  })
})

const asked = (members: object) => readResponsesRequest({ input: 'x', ...members })

test.each<[object, object]>([
  [{ reasoning: { effort: 'high' } }, { thinking: { kind: 'effort', effort: 'high' } }],
  [{ reasoning: { effort: 'none' } }, { thinking: { kind: 'off' } }],
  [
    {
      reasoning: { effort: 'low', summary: 'auto' },
      input: [
        { role: 'user', content: 'x' },
        { type: 'configuration_update', id: 'cu_1', reasoning: { effort: 'medium' } },
        { type: 'configuration_update', text: { format: { type: 'json_object' } } },
        { type: 'configuration_update', reasoning: { effort: 'high' } },
      ],
    },
    {
      thinking: { kind: 'effort', effort: 'high' },
      output: { kind: 'json' },
      messages: [{ role: 'user' }],
    },
  ],
  [{ text: { format: { type: 'json_object' } } }, { output: { kind: 'json' } }],
  [
    { text: { format: { type: 'json_schema', name: 'n', schema: WEATHER, strict: true } } },
    { output: { kind: 'schema', name: 'n', schema: WEATHER, isStrict: true } },
  ],
  [{ tool_choice: 'required' }, { toolChoice: { kind: 'required' } }],
  [{ text: { verbosity: 'low' } }, { output: null }],
  [{ parallel_tool_calls: false }, { parallelTools: false }],
  [{ reasoning: { mode: 'standard', context: 'all_turns' } }, { thinking: null }],
  [{ context_management: [] }, { messages: [{ role: 'user' }] }],
  [
    { tools: [{ type: 'function', name: 'f', defer_loading: false, allowed_callers: ['direct'] }] },
    { tools: [{ name: 'f' }] },
  ],
  [
    {
      input: [
        {
          type: 'function_call',
          call_id: 'c',
          name: 'f',
          arguments: '{}',
          caller: { type: 'direct' },
          namespace: null,
        },
        { type: 'function_call_output', call_id: 'c', name: 'f', output: 'x' },
      ],
    },
    { messages: [{ parts: [{ id: 'c' }] }, { parts: [{ callId: 'c', name: 'f' }] }] },
  ],
  [{ safety_identifier: 's', user: 'u' }, { userId: 's' }],
  [
    {
      input: [
        {
          role: 'user',
          content: [{ type: 'input_file', file_url: 'https://a.example/b.pdf', filename: 'b.pdf' }],
        },
      ],
    },
    {
      messages: [
        {
          parts: [{ title: 'b.pdf', source: { from: 'url', url: 'https://a.example/b.pdf' } }],
        },
      ],
    },
  ],
])('%j means %j', (members, expected) => {
  expect(asked(members)).toMatchObject(expected)
})

test.each<[object, string]>([
  [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
  [{ store: true }, 'store'],
  [{ background: true }, 'background'],
  [{ conversation: 'conv_1' }, 'conversation'],
  [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
  [{ reasoning: { mode: 'pro' } }, 'reasoning.mode'],
  [{ prompt_cache_options: { prewarm: true } }, 'prompt_cache_options.prewarm'],
  [{ top_logprobs: 3 }, 'top_logprobs'],
  [{ include: ['message.output_text.logprobs'] }, 'include'],
  [{ tool_choice: { type: 'mcp' } }, 'tool_choice'],
  [{ input: [{ role: 'critic', content: 'x' }] }, 'input[0].role'],
  [
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }] },
    'input[0].content[0].file_id',
  ],
  [
    {
      input: [{ role: 'developer', content: [{ type: 'input_image', image_url: 'https://a/b' }] }],
    },
    'input[0].content[0]',
  ],
  [{ unheard_of: 1 }, 'unheard_of'],
])('%j is refused by the name %s', (members, field) => {
  let refusal: unknown = null
  try {
    asked(members)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(AppError)
  expect(refusal).toMatchObject({ code: 'relay_field_unsupported', params: { field } })
})

test.each<[object, string, string]>([
  [{ truncation: 'auto', service_tier: 'flex', seed: 1 }, 'service_tier,truncation,seed', ''],
  [{ context_management: [{ type: 'compaction' }] }, 'context_management', ''],
  [{ image: { context_compression: 'disabled' } }, 'image', ''],
  [{ prompt_cache_options: { ttl: '12h', prewarm: false } }, '', ''],
  [{ tools: [{ type: 'tool_search' }] }, '', 'tools[0]'],
])('%j is left out: drops "%s", adjusts "%s"', (members, dropped, adjusted) => {
  const notes = new RequestNotes()
  expect(readResponsesRequest({ input: 'x', ...members }, notes).tools).toEqual([])
  expect([notes.dropped.join(), notes.adjusted.join()]).toEqual([dropped, adjusted])
})

test.each([
  [
    { type: 'code_interpreter' },
    'relay_field_tool_unsupported',
    'tools[0].type',
    'code_interpreter',
  ],
  [
    { type: 'namespace', name: 'x', tools: [{ type: 'mcp' }] },
    'relay_field_tool_unsupported',
    'tools[0].tools[0].type',
    'mcp',
  ],
])(
  'a hosted tool is refused by its name, or left out with a note: %j',
  (tool, code, field, name) => {
    const body = { input: 'x', tools: [tool] }
    expect(() => readResponsesRequest(body)).toThrow(
      expect.objectContaining({ code, params: { field, tool: name } }),
    )
    const notes = new RequestNotes(false, true)
    expect(readResponsesRequest(body, notes).tools).toEqual([])
    expect(notes.dropped).toEqual([`tools.${name}`])
  },
)

test('a search that OpenAI ran is not a call, and the tools found keep their names', () => {
  const { messages } = asked({
    tools: [{ type: 'function', name: 'f', defer_loading: true, parameters: {} }],
    input: [
      { role: 'user', content: 'x' },
      { type: 'tool_search_call', call_id: 't', execution: 'server', arguments: {} },
      { type: 'function_call', call_id: 'c', name: 'f', namespace: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'ok' },
    ],
  })
  const calls = messages.flatMap(({ parts }) => parts.filter(({ kind }) => kind === 'toolCall'))
  expect(calls).toMatchObject([{ id: 'c', name: 'f' }])
})

test.each(['input_text', 'output_text', 'refusal'])('a part %s must say something', (type) => {
  const part = { type, text: null, refusal: null }
  const field = `input[0].content[0].${type === 'refusal' ? type : 'text'}`
  expect(() => asked({ input: [{ role: 'user', content: [part] }] })).toThrow(
    expect.objectContaining({ code: 'relay_field_required', params: { field } }),
  )
})

test('a strict call rejects unsupported members by the names of this API', () => {
  const body = { input: 'x', reasoning: { effort: 'high' } }
  const request = readResponsesRequest(body, new RequestNotes(true))
  const toOld = { ...to, model: 'claude-3-5-haiku-latest' }
  expect(() => dialects.anthropic.writeRequest(request, toOld)).toThrow(
    expect.objectContaining({ params: { field: 'reasoning.effort' } }),
  )
})

const head = { id: 'resp_1', model: 'asked', nowSeconds: 1, wantsUsage: false }

function streamed(events: readonly ChatEvent[]): string {
  const writer = responsesClient({ input: 'x' }).streamWriter(head)
  const pieces = [
    ...events.flatMap((event) => writer.write(event)),
    ...writer.end(countedUsage(11, 7)),
  ]
  return pieces.map(({ name, data }) => `event: ${name}\ndata: ${data}\n\n`).join('')
}

const start: ChatEvent = { kind: 'start', id: 'x' }
const said = (kind: 'text' | 'thinking' | 'refusal', text: string): ChatEvent => ({
  kind,
  choice: 0,
  text,
})
const call = (index: number, seal: string | null = null): ChatEvent => ({
  kind: 'toolCall',
  choice: 0,
  call: index,
  id: `id_${index}`,
  name: `tool_${index}`,
  signature: seal === null ? null : { by: 'gemini', value: seal },
})
const argument = (index: number, text: string): ChatEvent => ({
  kind: 'toolArguments',
  choice: 0,
  call: index,
  text,
})
const finish = (reason: 'stop' | 'length' | 'toolCalls' | 'filtered'): ChatEvent => ({
  kind: 'finish',
  choice: 0,
  finish: { reason, stopSequence: null },
})

const EVENTS_TOLD =
  'created in_progress output_item.added reasoning_summary_part.added ' +
  'reasoning_summary_text.delta reasoning_summary_text.delta reasoning_summary_text.done reasoning_summary_part.done ' +
  'output_item.done output_item.added content_part.added output_text.delta ' +
  'output_text.delta output_text.done content_part.done output_item.done ' +
  'output_item.added function_call_arguments.delta output_item.added function_call_arguments.delta ' +
  'function_call_arguments.delta function_call_arguments.delta function_call_arguments.done output_item.done ' +
  'function_call_arguments.done output_item.done completed'

describe('a stream', () => {
  test('of reasoning, text and calls is sent piece by piece', () => {
    const text = streamed([
      start,
      said('thinking', 'Hm. '),
      said('thinking', 'So.'),
      { kind: 'signature', choice: 0, signature: { by: 'anthropic', value: 'sealed' } },
      said('text', 'I '),
      said('text', 'ask.'),
      call(0),
      argument(0, '{"a"'),
      call(1),
      argument(1, '{"b":'),
      argument(0, ':1}'),
      argument(1, '2}'),
      finish('toolCalls'),
    ])
    expect(responsesSpeaker.streamed(text)).toMatchObject({
      thought: 'Hm. So.',
      text: 'I ask.',
      calls: [
        { name: 'tool_0', args: { a: 1 } },
        { name: 'tool_1', args: { b: 2 } },
      ],
      finish: 'tools',
      isComplete: true,
      prompt: 11,
      completion: 7,
    })
    expect(
      text.match(/^event: .*$/gm)?.map((line) => line.slice('event: response.'.length)),
    ).toEqual(EVENTS_TOLD.split(' '))
  })

  test.each([
    ['length', 'max_output_tokens'],
    ['filtered', 'content_filter'],
  ] as const)('that ended by %s is incomplete: %s', (reason, word) => {
    const text = streamed([start, said('text', 'I'), finish(reason)])
    expect(text).toContain('event: response.incomplete')
    expect(text).toContain(`"incomplete_details":{"reason":"${word}"}`)
  })

  test('without any text ends like any other', () => {
    const text = streamed([start, finish('stop')])
    expect(responsesSpeaker.streamed(text)).toMatchObject({ text: '', finish: 'stop' })
  })

  test('with a refusal has a refusal part', () => {
    const text = streamed([start, said('text', 'Well. '), said('refusal', 'No.'), finish('stop')])
    expect(text).toContain('"content_index":1,"delta":"No."')
    expect(text).toContain('{"type":"refusal","refusal":"No."}')
  })
})

describe('the signature of reasoning is sent back to its maker', () => {
  // The client sends the output items back.
  const itemsOf = (events: readonly ChatEvent[]): JsonRecord[] => {
    const last = /event: response\.completed\ndata: (.*)/.exec(streamed(events))?.[1] ?? '{}'
    const { response } = JSON.parse(last) as { response: { output: JsonRecord[] } }
    return response.output
  }
  const again = (events: readonly ChatEvent[]) =>
    readResponsesRequest({ input: [{ role: 'user', content: 'x' }, ...itemsOf(events)] })

  test('and to no other provider', () => {
    const request = again([
      start,
      said('thinking', 'Hm.'),
      { kind: 'signature', choice: 0, signature: { by: 'anthropic', value: 'sealed' } },
      { kind: 'redacted', choice: 0, redacted: 'hidden-bytes' },
      said('text', 'Yes.'),
      finish('stop'),
    ])
    const { messages } = dialects.anthropic.writeRequest(request, to)
    expect(messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'sealed' },
          { type: 'redacted_thinking', data: 'hidden-bytes' },
          { type: 'text', text: 'Yes.' },
        ],
      },
      { role: 'user' },
    ])
    for (const name of ['openai', 'gemini'] as const) {
      expect(JSON.stringify(dialects[name].writeRequest(request, to))).not.toContain('seal')
    }
  })

  test('also a signature on a call of Gemini', () => {
    const request = again([start, call(0, 'of-gemini'), argument(0, '{}'), finish('toolCalls')])
    const { contents } = dialects.gemini.writeRequest(request, to)
    expect(contents).toMatchObject([
      {},
      { parts: [{ functionCall: { name: 'tool_0' }, thoughtSignature: 'of-gemini' }] },
    ])
  })
})

describe('over HTTP', () => {
  const path = '/v1/responses'
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { sharesClient: true })

  async function aServed(type: number, over: object = {}): Promise<string> {
    const model = aModel()
    await aRoute(setup, model, { type, ...over })
    return model
  }

  test.each(nativeChannels.map((row) => [row.label, row] as const))(
    '%s answers, whole and streamed',
    async (_label, row) => {
      const model = await aNativeModel(setup, row)
      const body = { model, input: 'What is the answer?', instructions: 'Be brief.' }
      const whole = await post(setup, client, body, { path })
      const events = await stream(setup, client, body, { path })
      const expected = {
        text: 'The answer is forty-two.',
        finish: 'stop',
        prompt: 11,
        completion: 7,
      }
      // Responses are objects of this API.
      expect(responsesSpeaker.whole(whole.json as unknown as JsonRecord)).toMatchObject(expected)
      expect(responsesSpeaker.streamed(events.text())).toMatchObject(expected)
      for (const answer of [whole, events]) {
        const { detail } = await bookedCall(setup, requestIdOf(answer))
        expect(detail).toMatchObject({ prompt_tokens: 11, completion_tokens: 7 })
        expect(detail.usage_source).toBe('upstream')
      }
    },
  )

  test.each([14, 24])('a call of Codex gets a response: channel type %i', async (type) => {
    const body = {
      model: await aServed(type),
      instructions: 'You are Codex.',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      tools: [{ type: 'function', name: 'exec_command', strict: false, parameters: WEATHER }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: null,
      store: false,
      include: [],
      prompt_cache_key: 'a-conversation',
      client_metadata: { 'x-codex-installation-id': '1' },
    }
    const events = await stream(setup, client, body, { path })
    expect(responsesSpeaker.streamed(events.text())).toMatchObject({ isComplete: true, error: '' })
  })

  test.each([14, 24])('stored state is rejected by name: channel type %i', async (type) => {
    const own = await aClient(setup)
    const model = await aServed(type)
    for (const [field, value] of [
      ['store', true],
      ['previous_response_id', 'resp_unknown'],
    ]) {
      const body = { model, input: 'hi', [String(field)]: value }
      expectRefusal(await post(setup, own, body, { path }), {
        code: 'relay_field_unsupported',
        status: 400,
        params: { field: String(field) },
        wireCode: 'unsupported_parameter',
      })
    }
    await expectNothingCharged(setup, own)
  })

  test.each([14, 24])('item references are rejected: channel type %i', async (type) => {
    const model = createOpenAI({ apiKey: client.key, baseURL: `${setup.url}/v1` })(
      await aServed(type),
    )
    const question: ModelMessage = { role: 'user', content: 'What is the answer?' }
    const ask = (messages: ModelMessage[], openai = {}) =>
      generateText({ model, messages, maxRetries: 0, providerOptions: { openai } })
    const { response } = await ask([question])
    const again = [question, ...response.messages, question]
    const sentence = errorText('relay_items_not_kept', 'zh', { field: 'input[1]' })
    await expect(ask(again)).rejects.toMatchObject({
      statusCode: 400,
      message: expect.stringContaining(sentence),
    })
    expect((await ask(again, { store: false })).text).toBe('The answer is forty-two.')
  })

  test('a call that must be stored uses a channel that stores responses', async () => {
    const model = await aServed(14, { priority: 9 })
    await aRoute(setup, model, { words: 'keeper' })
    setup.upstream.seen()
    const answer = await post(setup, client, { model, input: 'hi', store: true }, { path })
    expect(answer.status).toBe(200)
    expect(setup.upstream.seen().map(({ url }) => url)).toEqual(['/~keeper/v1/responses'])
  })

  test('a vendor of OpenAI’s dialect without the Responses API is called by chat', async () => {
    const model = await aServed(28)
    setup.upstream.seen()
    const events = await stream(setup, client, { model, input: 'hi' }, { path })
    expect(responsesSpeaker.streamed(events.text())).toMatchObject({
      text: 'The answer is forty-two.',
    })
    expect(setup.upstream.seen().map(({ url }) => url)).toEqual(['/v1/chat/completions'])
  })

  test('a converted response cannot be retrieved', async () => {
    const model = await aServed(14)
    const { json } = await post(setup, client, { model, input: 'hi' }, { path })
    expect(json).toMatchObject({ store: false, previous_response_id: null })
    const headers = { authorization: `Bearer ${client.key}` }
    const read = await setup.call('GET', `${path}/${String(json.id)}`, { headers })
    expect(read.status).toBe(404)
  })

  test.each([1, 14, 24])(
    'the system prompt of a channel of type %i takes the place of the instructions',
    async (type) => {
      const model = await aServed(type, { system_prompt: 'Only this.' })
      setup.upstream.seen()
      await post(setup, client, { model, input: 'hi', instructions: 'Not this.' }, { path })
      const sent = setup.upstream.seen()[0]?.bytes.toString() ?? ''
      expect(sent).toContain('Only this.')
      expect(sent).not.toContain('Not this.')
    },
  )

  test.each([
    [1, 'error-mid-stream'],
    [1, 'cut-after-5'],
    [14, 'error-mid-stream'],
    [14, 'cut-after-5'],
  ])('an error in a stream has its number: channel type %i, %s', async (type, words) => {
    const model = await aServed(type, { words })
    const events = await stream(setup, client, { model, input: 'hi' }, { path })
    const told = [...events.text().matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data)
    const numbers = told.map((data) => /"sequence_number":(\d+)/.exec(data)?.[1])
    expect(told.at(-1)).toContain('{"type":"error"')
    expect(numbers).toEqual([...told.keys()].map(String))
  })

  test.each([14, 24])('OpenAI’s client works with a channel of type %i', async (type) => {
    const sdk = new OpenAI({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })
    const model = await aServed(type)
    const tools = [
      { type: 'function' as const, name: 'weather', parameters: WEATHER, strict: false },
    ]
    const asking = { model, input: 'Use weather.', tools, tool_choice: 'required' as const }
    const called = await sdk.responses.stream(asking).finalResponse()
    const [used] = called.output.filter((item) => item.type === 'function_call')
    if (used === undefined) throw new Error('nothing was called')
    expect(used).toMatchObject({ name: 'weather', status: 'completed' })
    const { name, arguments: given, call_id: id } = used
    const next = await sdk.responses.create({
      model,
      tools,
      input: [
        { role: 'user', content: 'Use weather.' },
        { type: 'function_call', name, arguments: given, call_id: id },
        { type: 'function_call_output', call_id: id, output: 'sunny' },
      ],
    })
    expect(next.output_text).toBe('The answer is forty-two.')
    expect(next.usage).toMatchObject({
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 7,
    })
  })
})
