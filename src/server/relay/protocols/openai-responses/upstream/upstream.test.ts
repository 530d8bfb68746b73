import { describe, expect, test } from 'vitest'
import { speakers } from '../../../../test/dialect-clients.ts'
import { RequestNotes } from '../../canonical/request-notes.ts'
import { answerIn, readingOf } from '../../../../test/read-answer.ts'
import { textsOf } from '../../canonical/chat-answer.ts'
import { wrapSignature } from '../../canonical/signature.ts'
import { upstreamDialects } from '../../../../test/upstream-dialects.ts'
import { dialects } from '../../../conversion/dialects.ts'
import { plainRequest } from '../../canonical/chat-request.ts'
import { FollowedStream } from '../../dialect/followed-stream.ts'
import { toolsAsAsked } from '../../dialect/answer-changes.ts'
import { convertedOutput } from '../../dialect/stream-output.ts'
import { arrayOr, recordOr, type JsonRecord } from '../../../json/json-value.ts'
import { SseReader } from '../../../transport/wire.ts'
import { hiddenStatus } from '../../../errors/upstream-error.ts'

/**
 * Requests and responses of the Responses API as in OpenAI's API reference and its guides "Function
 * calling", "Reasoning models" and "Structured model outputs".
 */
const { responses } = upstreamDialects
const asAsked = () => toolsAsAsked(responses, plainRequest([]), 'request-1')
const read = (answer: unknown) => answerIn(responses, answer, asAsked())
const to = { model: 'gpt-5.6', isStream: false, asksForUsage: false }
const WEATHER = { type: 'object', properties: { city: { type: 'string' } } }
const CLOSED = { ...WEATHER, required: ['city'], additionalProperties: false }
const SEAL = 'gAAAAABo'
const sealed = wrapSignature({ by: 'openai', value: `rs_1 ${SEAL}` }, 'anthropic')
const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'Hm.' }],
  encrypted_content: SEAL,
}

const ofAnthropic = (members: JsonRecord, over = {}, notes = new RequestNotes()) =>
  responses.writeRequest(
    dialects.anthropic.readRequest(
      { max_tokens: 500, messages: [{ role: 'user', content: 'Hi' }], ...members },
      notes,
    ),
    { ...to, ...over },
  )

const plain = {
  model: 'gpt-5.6',
  input: [{ type: 'message', role: 'user', content: 'Hi' }],
  max_output_tokens: 500,
  store: false,
  include: ['reasoning.encrypted_content'],
}

describe('a request', () => {
  test('of a client of Anthropic, with all members', () => {
    const image = { type: 'base64', media_type: 'image/png', data: 'iVBO' }
    const pdf = { type: 'url', url: 'https://example.org/a.pdf' }
    const use = (id: string, city: string) => ({ type: 'tool_use', id, name: 'w', input: { city } })
    const written = ofAnthropic(
      {
        system: [
          { type: 'text', text: 'You are helpful.', cache_control: { type: 'ephemeral' } },
          { type: 'text', text: 'Be brief.' },
        ],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Look.' },
              { type: 'image', source: image },
              { type: 'document', source: pdf },
            ],
          },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: sealed },
              { type: 'text', text: 'I ask.' },
              use('call_1', 'Paris'),
              use('call_2', 'Oslo'),
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'call_2', content: 'no', is_error: true },
              {
                type: 'tool_result',
                tool_use_id: 'call_1',
                content: [
                  { type: 'text', text: 'sunny' },
                  { type: 'image', source: image },
                ],
              },
              { type: 'text', text: 'Well?' },
            ],
          },
        ],
        tools: [
          { name: 'w', description: 'Weather', input_schema: WEATHER },
          { name: 'ns.get', input_schema: CLOSED, strict: true },
        ],
        tool_choice: { type: 'tool', name: 'ns.get', disable_parallel_tool_use: true },
        thinking: { type: 'adaptive' },
        output_config: { effort: 'high', format: { type: 'json_schema', schema: CLOSED } },
        temperature: 0,
        top_p: 0.9,
        top_k: 5,
        metadata: { user_id: 'u' },
        stream: true,
      },
      { isStream: true },
    )
    const picture = { type: 'input_image', image_url: 'data:image/png;base64,iVBO' }
    const [, own] = written.tools as { name: string }[]
    expect(own?.name).toMatch(/^[\w-]+$/)
    expect(written).toEqual({
      ...plain,
      instructions: 'You are helpful.\n\nBe brief.',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look.' },
            picture,
            { type: 'input_file', file_url: 'https://example.org/a.pdf' },
          ],
        },
        thought,
        { type: 'message', role: 'assistant', content: 'I ask.' },
        { type: 'function_call', call_id: 'call_1', name: 'w', arguments: '{"city":"Paris"}' },
        { type: 'function_call', call_id: 'call_2', name: 'w', arguments: '{"city":"Oslo"}' },
        {
          type: 'function_call_output',
          call_id: 'call_1',
          output: [{ type: 'input_text', text: 'sunny' }, picture],
        },
        { type: 'function_call_output', call_id: 'call_2', output: 'Error: no' },
        { type: 'message', role: 'user', content: 'Well?' },
      ],
      tools: [
        {
          type: 'function',
          name: 'w',
          description: 'Weather',
          parameters: WEATHER,
          strict: false,
        },
        { type: 'function', name: own?.name, parameters: CLOSED, strict: true },
      ],
      tool_choice: { type: 'function', name: own?.name },
      parallel_tool_calls: false,
      reasoning: { effort: 'high', summary: 'auto' },
      text: {
        format: { type: 'json_schema', name: 'answer', schema: CLOSED, strict: true },
      },
      user: 'u',
      stream: true,
    })
  })

  test('schemas that Claude accepts and OpenAI does not are not strict', () => {
    const { tools, text } = ofAnthropic({
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ name: 'w', input_schema: WEATHER, strict: true }],
      output_config: { format: { type: 'json_schema', schema: WEATHER } },
    })
    expect(tools).toMatchObject([{ parameters: WEATHER, strict: false }])
    expect(text).toMatchObject({ format: { schema: WEATHER, strict: false } })
  })

  test('long call ids are replaced, in calls and results alike', () => {
    const id = `call_${'x'.repeat(80)}`
    const { input } = ofAnthropic({
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id, name: 'w', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'y' }] },
      ],
    })
    const ids = arrayOr(input).map((item) => recordOr(item).call_id)
    expect(ids[0]).toMatch(/^call_[0-9a-f]{24}$/)
    expect(ids).toEqual([ids[0], ids[0]])
  })

  test.each<[string, JsonRecord, JsonRecord]>([
    ['nothing but words', {}, {}],
    ['a limit that is too small', { max_tokens: 1 }, { max_output_tokens: 16 }],
    [
      'no thought, and so sampling',
      { thinking: { type: 'disabled' }, temperature: 0.5, top_p: 0.9 },
      { reasoning: { effort: 'none' }, temperature: 0.5, top_p: 0.9 },
    ],
    [
      'what it is told of sampling, where it does not think unless told to',
      { temperature: 0.5, model: 'gpt-5.4' },
      { model: 'gpt-5.4', temperature: 0.5 },
    ],
    [
      'as much thought as it likes',
      { thinking: { type: 'adaptive' }, temperature: 1 },
      { reasoning: { summary: 'auto' } },
    ],
    [
      'a budget of thought',
      { thinking: { type: 'enabled', budget_tokens: 6000 } },
      { reasoning: { effort: 'medium', summary: 'auto' } },
    ],
    [
      'a tool without arguments',
      { tools: [{ name: 'now' }], tool_choice: { type: 'any' } },
      {
        tools: [
          {
            type: 'function',
            name: 'now',
            parameters: { type: 'object', properties: {} },
            strict: false,
          },
        ],
        tool_choice: 'required',
      },
    ],
    [
      'a user with a long name',
      { metadata: { user_id: 'x'.repeat(65) } },
      { user: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ],
  ])('of a client of Anthropic: %s', (_what, members, expected) => {
    expect(
      ofAnthropic(members, expected.model === undefined ? {} : { model: expected.model }),
    ).toEqual({ ...plain, ...expected })
  })

  test('of a client of Gemini, whose calls have signatures', () => {
    const call = { name: 'w', args: { city: 'Paris' }, id: 'call_1' }
    const seal = wrapSignature({ by: 'openai', value: `rs_1 ${SEAL}` }, 'gemini')
    const asked = dialects.gemini.readRequest({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ functionCall: call, thoughtSignature: seal }] },
        { role: 'user', parts: [{ functionResponse: { name: 'w', response: { output: 'wet' } } }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'w', parametersJsonSchema: WEATHER }] }],
      generationConfig: {
        temperature: 1,
        topP: 0.95,
        topK: 64,
        maxOutputTokens: 500,
        responseMimeType: 'application/json',
        thinkingConfig: { includeThoughts: true, thinkingLevel: 'LOW' },
      },
    })
    expect(responses.writeRequest(asked, to)).toEqual({
      ...plain,
      instructions: 'Be brief.',
      input: [
        ...plain.input,
        { ...thought, summary: [] },
        { type: 'function_call', call_id: 'call_1', name: 'w', arguments: '{"city":"Paris"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'wet' },
      ],
      tools: [{ type: 'function', name: 'w', parameters: WEATHER, strict: false }],
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_object' } },
    })
  })

  test.each([
    ['of nobody', ''],
    ['of Anthropic', 'c2VhbA=='],
    [
      'of OpenAI, with its name alone',
      wrapSignature({ by: 'openai', value: 'rs_1 ' }, 'anthropic'),
    ],
  ])('without a thought that bears the seal %s', (_whose, signature) => {
    const said = { type: 'text', text: 'Hello' }
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature }, said] },
      { role: 'user', content: 'And?' },
    ]
    expect(JSON.stringify(ofAnthropic({ messages }))).not.toContain('"reasoning"')
  })

  test('without reasoning that has no following item', () => {
    const alone = { type: 'thinking', thinking: 'Hm.', signature: sealed }
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello' }, alone] },
      { role: 'user', content: 'And?' },
    ]
    expect(JSON.stringify(ofAnthropic({ messages }))).not.toContain('"reasoning"')
  })

  test.each([
    [() => ofGemini({ candidateCount: 2 }), 'generationConfig.candidateCount'],
    [() => ofGemini({ seed: 1 }), 'generationConfig.seed'],
    [
      () => ofGemini({ presencePenalty: 1, thinkingConfig: { thinkingBudget: 0 } }),
      'generationConfig.presencePenalty',
    ],
    [() => ofGemini({}, { inlineData: { mimeType: 'audio/wav', data: 'UklG' } }), 'contents[0]'],
  ])('is refused by the name of what it cannot say, if the call is strict: %#', (write, field) => {
    expect(write).toThrow(
      expect.objectContaining({
        code: 'relay_field_unsupported',
        params: { field: expect.stringContaining(field) },
      }),
    )
  })
})

const ofGemini = (generationConfig: JsonRecord, part: JsonRecord = { text: 'Hi' }) =>
  responses.writeRequest(
    dialects.gemini.readRequest(
      { contents: [{ role: 'user', parts: [part] }], generationConfig },
      new RequestNotes(true),
    ),
    to,
  )

const usage = {
  input_tokens: 75,
  input_tokens_details: { cached_tokens: 64 },
  output_tokens: 120,
  output_tokens_details: { reasoning_tokens: 100 },
  total_tokens: 195,
}
const message = (part: JsonRecord) => ({
  type: 'message',
  id: 'msg_1',
  status: 'completed',
  role: 'assistant',
  content: [part],
})
const text = (words: string) => ({ type: 'output_text', text: words, annotations: [] })
const call = (index: number, given: string) => ({
  type: 'function_call',
  id: `fc_${index}`,
  status: 'completed',
  call_id: `call_${index}`,
  name: 'get_weather',
  arguments: given,
})
const response = (output: JsonRecord[], over: JsonRecord = {}) => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  error: null,
  incomplete_details: null,
  output,
  usage,
  ...over,
})
const look = (answer: unknown) => readingOf(responses, answer)
const cutFor = (reason: string) => ({ status: 'incomplete', incomplete_details: { reason } })

describe('a whole response', () => {
  test('has reasoning, text and calls', () => {
    const answer = response([
      { ...thought, summary: [...thought.summary, { type: 'summary_text', text: 'So.' }] },
      message(text('I ask.')),
      { ...thought, id: 'rs_2', summary: [] },
      call(1, '{"city":"Paris"}'),
      call(2, ''),
    ])
    const { id, choices } = read(answer)
    expect(id).toBe('resp_1')
    expect(choices).toEqual([
      {
        parts: [
          {
            kind: 'thinking',
            text: 'Hm.\n\nSo.',
            signature: { by: 'openai', value: `rs_1 ${SEAL}` },
            redacted: null,
          },
          { kind: 'text', text: 'I ask.' },
          {
            kind: 'toolCall',
            id: 'call_1',
            name: 'get_weather',
            argumentsJson: '{"city":"Paris"}',
            signature: { by: 'openai', value: `rs_2 ${SEAL}` },
          },
          {
            kind: 'toolCall',
            id: 'call_2',
            name: 'get_weather',
            argumentsJson: '{}',
            signature: null,
          },
        ],
        finish: { reason: 'toolCalls', stopSequence: null },
      },
    ])
    expect(look(answer)).toMatchObject({
      kind: 'ok',
      usage: {
        usage: {
          promptTokens: 75,
          cachedTokens: 64,
          completionTokens: 120,
          reasoningTokens: 100,
        },
      },
    })
    const reading = look(answer)
    const texts = reading.kind === 'ok' ? textsOf(reading.events()).map((one) => one.text) : []
    expect(texts.join('|')).toBe('Hm.\n\nSo.|I ask.|get_weather|{"city":"Paris"}|get_weather|{}')
  })

  test.each<[string, JsonRecord, object]>([
    [
      'that declines',
      response([message({ type: 'refusal', refusal: 'No.' })]),
      { parts: [{ kind: 'refusal', text: 'No.' }], finish: { reason: 'stop' } },
    ],
    [
      'that was cut',
      response([message(text('Once'))], cutFor('max_output_tokens')),
      { parts: [{ text: 'Once' }], finish: { reason: 'length' } },
    ],
    [
      'that was held back',
      response([], cutFor('content_filter')),
      { parts: [], finish: { reason: 'filtered' } },
    ],
  ])('%s', (_what, answer, choice) => {
    expect(look(answer).kind).toBe('ok')
    expect(read(answer).choices).toMatchObject([choice])
  })

  test.each([
    [{ code: 'server_error', message: 'Sorry.' }, 500],
    [{ code: 'rate_limit_exceeded', message: 'Slow down.' }, 429],
    [{ code: 'invalid_image_format', message: 'What is this?' }, 400],
    [{ code: 'something_new', message: 'Well.' }, 502],
    [null, 502],
  ])('that has failed is none: %j', (error, status) => {
    const found = look(response([], { status: 'failed', error }))
    expect(found.kind).toBe('error')
    if (found.kind !== 'error') return
    expect(hiddenStatus(found.error, responses)).toBe(status)
    expect(found.error).toMatchObject({ message: error?.message ?? 'server_error' })
  })

  test('of another format is malformed', () => {
    expect(look({ choices: [] }).kind).toBe('malformed')
    expect(look([]).kind).toBe('malformed')
    expect(look({ error: { message: 'No.' } }).kind).toBe('error')
  })
})

const event = (type: string, members: JsonRecord = {}) => ({ type, ...members })
const items = (index: number, item: JsonRecord, between: JsonRecord[] = [], empty = {}) => [
  event('response.output_item.added', { output_index: index, item: { ...item, ...empty } }),
  ...between.map((one): JsonRecord => ({ output_index: index, ...one })),
  event('response.output_item.done', { output_index: index, item }),
]
const started = [
  event('response.created', { response: response([], { status: 'in_progress', usage: null }) }),
  event('response.in_progress', { response: response([], { status: 'in_progress', usage: null }) }),
]
const summary = (index: number, delta: string) => [
  event('response.reasoning_summary_part.added', { summary_index: index }),
  event('response.reasoning_summary_text.delta', { summary_index: index, delta }),
]
const argument = (delta: string) => event('response.function_call_arguments.delta', { delta })
const streamText = (events: readonly JsonRecord[]): string =>
  events.map((one) => `event: ${String(one.type)}\ndata: ${JSON.stringify(one)}\n\n`).join('')

/** Reads a stream in pieces of this many bytes, as a client of this dialect sees it. */
function streamed(name: 'anthropic' | 'gemini', sent: string, size: number) {
  const follower = new FollowedStream(responses.readStream(), true)
  const head = { id: 'id-1', model: 'asked', nowSeconds: 1, wantsUsage: true }
  const output = convertedOutput(dialects[name], asAsked(), { framing: 'events', head })
  const reader = new SseReader()
  const bytes = Buffer.from(sent)
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) {
    for (const one of reader.push(bytes.subarray(at, at + size))) {
      const seenEvent = follower.read(one)
      const written = seenEvent.kind === 'idle' ? null : output.take(one, seenEvent)
      if (written !== null) parts.push(written)
    }
  }
  const used = follower.usage.usage
  if (used !== null) parts.push(output.end(used, follower.end()))
  const seen = Buffer.concat(parts).toString()
  return { seen, said: speakers[name].streamed(seen), follower }
}

describe.each([1, 7, 100_000])('a stream in pieces of %i bytes', (size) => {
  const last = response([thought, message(text('Sö.')), call(1, '{"city":"Paris"}'), call(2, '{}')])
  const sent = streamText([
    ...started,
    ...items(0, thought, [...summary(0, 'Hm'), ...summary(1, 'so.')], { summary: [] }),
    ...items(
      1,
      message(text('Sö.')),
      ['S', 'ö', '.'].map((delta) => event('response.output_text.delta', { delta })),
      { content: [] },
    ),
    ...items(2, { ...thought, id: 'rs_2', summary: [] }),
    ...items(3, call(1, '{"city":"Paris"}'), [argument('{"city"'), argument(':"Paris"}')], {
      arguments: '',
    }),
    ...items(4, call(2, '{}')),
    event('response.completed', { response: last }),
  ])

  test.each(['anthropic', 'gemini'] as const)('thinks, speaks and calls to %s', (name) => {
    const { seen, said, follower } = streamed(name, sent, size)
    expect(follower.outcome('end')).toBe('clean')
    expect(said).toMatchObject({
      thought: 'Hm\n\nso.',
      text: 'Sö.',
      calls: [
        { name: 'get_weather', args: { city: 'Paris' } },
        { name: 'get_weather', args: {} },
      ],
      finish: 'tools',
      prompt: 75,
      completion: 120,
      isComplete: true,
    })
    for (const id of ['rs_1', 'rs_2']) {
      expect(seen).toContain(wrapSignature({ by: 'openai', value: `${id} ${SEAL}` }, name))
    }
  })
})

describe('a stream', () => {
  const spoken = items(0, message(text('Once')), [
    event('response.output_text.delta', { delta: 'Once' }),
  ])

  test('with a refusal', () => {
    const refused = items(0, message({ type: 'refusal', refusal: 'No.' }), [
      event('response.refusal.delta', { delta: 'No.' }),
    ])
    const end = event('response.completed', { response: response([]) })
    const { said } = streamed('anthropic', streamText([...started, ...refused, end]), 100)
    expect(said).toMatchObject({ text: 'No.', finish: 'stop', isComplete: true })
  })

  test.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'filtered'],
  ])('that was cut: %s', (reason, finish) => {
    const end = event('response.incomplete', { response: response([], cutFor(reason)) })
    const { said, follower } = streamed('anthropic', streamText([...started, ...spoken, end]), 100)
    expect(said).toMatchObject({ text: 'Once', finish, isComplete: true })
    expect(follower.outcome('end')).toBe('clean')
  })

  test('with members that are not numbers', () => {
    // Names that JavaScript itself looks up on objects must not be looked up in JSON.
    const odd = { toString: 1, valueOf: 1 }
    const part = event('response.reasoning_summary_part.added', { summary_index: odd })
    const end = event('response.completed', { response: response([]) })
    const { said } = streamed('anthropic', streamText([...started, part, ...spoken, end]), 100)
    expect(said).toMatchObject({ thought: '', text: 'Once', isComplete: true })
  })

  test('that ended before its last event', () => {
    const { follower } = streamed('anthropic', streamText([...started, ...spoken]), 100)
    expect(follower.outcome('end')).toBe('truncated')
    expect(follower.usage.usage).toBeNull()
  })

  test.each<[string, JsonRecord]>([
    [
      'response.failed',
      event('response.failed', {
        response: response([], {
          status: 'failed',
          error: { code: 'rate_limit_exceeded', message: 'Slow down.' },
        }),
      }),
    ],
    ['error', event('error', { code: 'rate_limit_exceeded', message: 'Slow down.', param: null })],
    [
      'an error in an object',
      event('error', { error: { code: 'rate_limit_exceeded', message: 'Slow down.' } }),
    ],
  ])('that failed: %s', (_what, failure) => {
    const follower = new FollowedStream(responses.readStream(), true)
    for (const one of new SseReader().push(Buffer.from(streamText([...started, failure])))) {
      const { kind, error } = follower.read(one)
      if (kind === 'idle') continue
      expect(error).toMatchObject({ message: 'Slow down.' })
      expect(hiddenStatus(error, responses)).toBe(429)
    }
    expect(follower.outcome('end')).toBe('error-chunk')
  })
})
