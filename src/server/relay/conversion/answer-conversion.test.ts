import { describe, expect, test } from 'vitest'
import { plainRequest, type DialectName } from '../protocols/canonical/chat-request.ts'
import { answerIn } from '../../test/read-answer.ts'
import { FollowedStream } from '../protocols/dialect/followed-stream.ts'
import { toolsAsAsked } from '../protocols/dialect/answer-changes.ts'
import { speakers } from '../../test/dialect-clients.ts'
import { SseReader } from '../transport/wire.ts'
import { dialects } from './dialects.ts'
import { convertedOutput } from '../protocols/dialect/stream-output.ts'

/**
 * Responses as in the vendors' documentation, for clients of the other dialects. Sources:
 * Anthropic's "Streaming messages" (tool use, extended thinking); OpenAI's "Function calling"
 * (streaming); Gemini API's "Thinking" and "Function calling".
 */

type Json = Record<string, unknown>
const names: DialectName[] = ['openai', 'anthropic', 'gemini']
const head = { id: 'id-1', model: 'asked', nowSeconds: 1, wantsUsage: true }

const asAsked = (upstream: DialectName) =>
  toolsAsAsked(dialects[upstream], plainRequest([]), 'request-1')

/** An upstream's stream as received by a client of each other dialect. */
function streamed(upstream: DialectName, text: string) {
  return names
    .filter((name) => name !== upstream)
    .map((name) => {
      const stream = new FollowedStream(dialects[upstream].readStream(), true)
      const output = convertedOutput(dialects[name], asAsked(upstream), {
        framing: 'events',
        head,
      })
      const parts: Buffer[] = []
      for (const event of new SseReader().push(Buffer.from(text))) {
        if (event.data === null) continue
        const read = stream.read(event)
        const bytes = read.kind === 'done' ? null : output.take(event, read)
        if (bytes !== null) parts.push(bytes)
      }
      const { usage } = stream.usage
      if (usage === null) throw new Error('no usage')
      expect(stream.outcome('end')).toBe('clean')
      const rest = stream.end()
      return speakers[name].streamed(Buffer.concat([...parts, output.end(usage, rest)]).toString())
    })
}

const named = (events: Json[]): string =>
  events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join('')
const bare = (events: (Json | string)[]): string =>
  events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('')

test('Anthropic: reasoning, text and calls', () => {
  const delta = (index: number, type: string, member: Json) => ({
    type: 'content_block_delta',
    index,
    delta: { type, ...member },
  })
  const start = (index: number, content_block: Json) => ({
    type: 'content_block_start',
    index,
    content_block,
  })
  const stop = (index: number) => ({ type: 'content_block_stop', index })
  const events = named([
    {
      type: 'message_start',
      message: {
        id: 'msg_014p7gG3wDgGV9EUtLvnow3U',
        type: 'message',
        role: 'assistant',
        model: 'claude-opus-5',
        stop_sequence: null,
        usage: { input_tokens: 472, output_tokens: 2 },
        content: [],
        stop_reason: null,
      },
    },
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, 'thinking_delta', { thinking: 'Let me ' }),
    delta(0, 'thinking_delta', { thinking: 'check.' }),
    delta(0, 'signature_delta', { signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk' }),
    stop(0),
    start(1, { type: 'text', text: '' }),
    { type: 'ping' },
    delta(1, 'text_delta', { text: 'Okay' }),
    delta(1, 'text_delta', { text: ', San Francisco:' }),
    stop(1),
    start(2, { type: 'tool_use', id: 'toolu_01T1x', name: 'get_weather', input: {} }),
    delta(2, 'input_json_delta', { partial_json: '' }),
    delta(2, 'input_json_delta', { partial_json: '{"location":' }),
    delta(2, 'input_json_delta', { partial_json: ' "San Francisco, CA"}' }),
    stop(2),
    start(3, { type: 'tool_use', id: 'toolu_02', name: 'get_time', input: {} }),
    stop(3),
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 89 },
    },
    { type: 'message_stop' },
  ])
  for (const said of streamed('anthropic', events)) {
    expect(said).toMatchObject({
      thought: 'Let me check.',
      text: 'Okay, San Francisco:',
      calls: [
        { name: 'get_weather', args: { location: 'San Francisco, CA' } },
        { name: 'get_time', args: {} },
      ],
      finish: 'tools',
      prompt: 472,
      completion: 89,
      isComplete: true,
    })
    expect(said.seal).not.toBe('')
  }
})

test('OpenAI: calls, and usage at the end', () => {
  const chunk = (delta: Json, finish: string | null = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-5.4',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    usage: null,
  })
  const part = (index: number, text: string) =>
    chunk({ tool_calls: [{ index, function: { arguments: text } }] })
  const call = (index: number, id: string) =>
    chunk({
      tool_calls: [
        { index, id, type: 'function', function: { name: 'get_weather', arguments: '' } },
      ],
    })
  const events = bare([
    chunk({ role: 'assistant', content: null }),
    call(0, 'call_DdmO9pD3xa9XTPNJ32zg2hcA'),
    part(0, '{"'),
    part(0, 'location'),
    part(0, '":"Paris"}'),
    call(1, 'call_2'),
    part(1, '{"location":"Bogotá"}'),
    chunk({}, 'tool_calls'),
    {
      ...chunk({}),
      choices: [],
      usage: {
        prompt_tokens: 60,
        completion_tokens: 30,
        total_tokens: 90,
        prompt_tokens_details: { cached_tokens: 32 },
      },
    },
    '[DONE]',
  ])
  for (const said of streamed('openai', events)) {
    expect(said).toMatchObject({
      calls: [
        { name: 'get_weather', args: { location: 'Paris' } },
        { name: 'get_weather', args: { location: 'Bogotá' } },
      ],
      finish: 'tools',
      prompt: 60,
      completion: 30,
      isComplete: true,
    })
  }
})

test('Gemini: reasoning, text and calls', () => {
  const response = (parts: Json[], over: Json = {}) => ({
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...over }],
    usageMetadata: {
      promptTokenCount: 12,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 80,
      totalTokenCount: 112,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 12 }],
    },
    modelVersion: 'gemini-3-pro',
    responseId: 'abc',
  })
  const events = bare([
    response([{ text: '**Planning**', thought: true }]),
    response([{ text: 'I look ' }]),
    response([{ text: 'it up.' }]),
    response([
      {
        functionCall: { name: 'get_weather', args: { location: 'Oslo' } },
        thoughtSignature: 'c2VhbA==',
      },
      { functionCall: { name: 'get_time', args: {} } },
    ]),
    response([{ text: '' }], { finishReason: 'STOP' }),
  ])
  for (const said of streamed('gemini', events)) {
    expect(said).toMatchObject({
      thought: '**Planning**',
      text: 'I look it up.',
      calls: [
        { name: 'get_weather', args: { location: 'Oslo' } },
        { name: 'get_time', args: {} },
      ],
      finish: 'tools',
      prompt: 12,
      completion: 100,
      isComplete: true,
    })
    expect(said.seal).not.toBe('')
  }
})

describe('of Gemini', () => {
  const answered = (parts: Json[], over: Json = {}): Json => ({
    candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
    ...over,
  })
  const read = (answer: Json) => answerIn(dialects.gemini, answer)
  const inlineData = { mimeType: 'image/png', data: 'AAAA' }

  test('an image in the reasoning is not shown', () => {
    const answer = answered([{ inlineData, thought: true }, { inlineData }])
    expect(read(answer).choices[0]?.parts).toHaveLength(1)
    const events = bare([answer])
    for (const said of streamed('gemini', events)) expect(said.text.split('AAAA')).toHaveLength(2)
  })

  test('the signature after reasoning is sent back with its text', () => {
    const thought = { text: 'Hm.', thought: true }
    const sealed = { text: 'Forty-two.', thoughtSignature: 'c2VhbA==' }
    const answer = read(answered([thought, sealed]))
    expect(answer.choices[0]?.parts[0]).toMatchObject({ signature: { value: 'c2VhbA==' } })
    const events = bare([answered([thought]), answered([sealed])])
    for (const said of streamed('gemini', events)) expect(said.seal).not.toBe('')
    const { choices } = dialects.openai.writeAnswer(answer, head) as {
      choices: { message: Json }[]
    }
    const user = { role: 'user', content: 'x' }
    const messages = [user, choices[0]?.message, user]
    const request = dialects.openai.readRequest({ model: 'm', messages })
    const to = { model: 'gemini-3-pro', isStream: false, asksForUsage: false }
    const written = dialects.gemini.writeRequest(request, to)
    expect(written.contents).toMatchObject([{}, { parts: [sealed] }, {}])
  })

  test('no reasoning is added to carry a signature', () => {
    const { choices } = read(answered([{ text: 'Hi.', thoughtSignature: 'c2VhbA==' }]))
    expect(choices[0]?.parts).toEqual([{ kind: 'text', text: 'Hi.' }])
  })
})

describe('finish reasons', () => {
  const anthropic = (stop_reason: string) => ({
    content: [{ type: 'text', text: 'x' }],
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  })
  const gemini = (finishReason: string) => ({
    candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
  })
  const openai = (finish_reason: string) => ({
    choices: [{ message: { content: 'x' }, finish_reason }],
  })
  const cases: [DialectName, Json, string][] = [
    ...['end_turn', 'stop_sequence', 'pause_turn', 'unheard_of'].map(
      (word): [DialectName, Json, string] => ['anthropic', anthropic(word), 'stop'],
    ),
    ['anthropic', anthropic('max_tokens'), 'length'],
    ['anthropic', anthropic('model_context_window_exceeded'), 'length'],
    ['anthropic', anthropic('refusal'), 'filtered'],
    ...['STOP', 'OTHER', 'FINISH_REASON_UNSPECIFIED', 'MALFORMED_FUNCTION_CALL'].map(
      (word): [DialectName, Json, string] => ['gemini', gemini(word), 'stop'],
    ),
    ['gemini', gemini('MAX_TOKENS'), 'length'],
    ...[
      'SAFETY',
      'RECITATION',
      'BLOCKLIST',
      'PROHIBITED_CONTENT',
      'SPII',
      'MODEL_ARMOR',
      'IMAGE_SAFETY',
      'LANGUAGE',
    ].map((word): [DialectName, Json, string] => ['gemini', gemini(word), 'filtered']),
    ['gemini', { promptFeedback: { blockReason: 'SAFETY' } }, 'filtered'],
    ['openai', openai('stop'), 'stop'],
    ['openai', openai('length'), 'length'],
    ['openai', openai('content_filter'), 'filtered'],
    ['openai', openai('function_call'), 'tools'],
  ]
  test.each(cases)('%s, %j: %s, in every dialect', (upstream, answer, finish) => {
    const read = answerIn(dialects[upstream], answer)
    const found = names.map((name) => speakers[name].whole(dialects[name].writeAnswer(read, head)))
    // Gemini ends a turn with tool calls with an ordinary reason.
    const ofGemini = finish === 'tools' ? 'stop' : finish
    expect(found.map((said) => said.finish)).toEqual([finish, finish, ofGemini])
  })

  test('and the stop text, if the provider reports it and the dialect has it', () => {
    const answer = { ...anthropic('stop_sequence'), stop_sequence: 'END' }
    const written = dialects.anthropic.writeAnswer(answerIn(dialects.anthropic, answer), head)
    expect(written).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
  })
})
