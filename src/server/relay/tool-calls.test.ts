import { describe, expect, test } from 'vitest'
import { ask } from '../test/dialect-call.ts'
import { json, list, speakers, type Json } from '../test/dialect-clients.ts'
import {
  chatAnswer,
  chatStream,
  usePlayedUpstream,
  type PlayedAnswer,
} from '../test/played-upstream.ts'
import { responsesSpeaker } from '../test/responses-client.ts'
import { aModel, aRoute, post, type RelayClient, type RelaySetup } from '../test/relay-setup.ts'
import { useRelay } from '../test/use-relay.ts'

/** Tool calls as imitators of OpenAI, Anthropic and the Responses API send them. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })
const upstream = usePlayedUpstream()

const { openai, anthropic, gemini } = speakers
const tools = ['get', 'put']

async function aModelAt(type: number, name = aModel()): Promise<string> {
  await aRoute(setup, name, { type, base_url: upstream.url })
  return name
}

/** Together: a chat upstream without the Responses API. */
const CHAT_ONLY = 39

const piece = (called: Json, over: Json = {}) => ({
  tool_calls: [{ index: 0, ...over, function: called }],
})

describe('a call of a chat upstream', () => {
  const given = { name: 'get', args: { a: '1' } }
  const GIVEN = '{"a":"1"}'

  describe.each([
    [
      'whose name comes second',
      [piece({ name: '', arguments: '' }, { id: 'c1' }), piece({ name: 'get', arguments: GIVEN })],
    ],
    [
      'whose name is null at first',
      [piece({ name: null }, { id: 'c1' }), piece({ name: 'get', arguments: GIVEN })],
    ],
    [
      'without a function at first',
      [{ tool_calls: [{ index: 0, id: 'c1' }] }, piece({ name: 'get', arguments: GIVEN })],
    ],
    [
      'whose name comes in parts',
      [
        piece({ name: 'g', arguments: '' }, { id: 'c1' }),
        piece({ name: 'et' }),
        piece({ arguments: GIVEN }),
      ],
    ],
    [
      'whose name is repeated',
      [
        piece({ name: 'get', arguments: '{"a"' }, { id: 'c1' }),
        piece({ name: 'get', arguments: ':"1"}' }, { id: 'c1' }),
      ],
    ],
    [
      'whose arguments come first',
      [
        piece({ arguments: '{"a"' }, { id: 'c1' }),
        piece({ arguments: ':"1"}' }),
        piece({ name: 'get' }),
      ],
    ],
  ])('%s', (_what, deltas) => {
    test.each([
      ['anthropic', anthropic],
      ['gemini', gemini],
      ['responses', responsesSpeaker],
    ])('has its name for a client of %s', async (_name, speaker) => {
      upstream.play = () => chatStream(deltas, { finish: 'tool_calls' })
      const model = await aModelAt(CHAT_ONLY)
      for (const isStream of [true, false]) {
        const { said } = await ask({ setup, client }, speaker, { model, wish: { tools }, isStream })
        expect(said).toMatchObject({ calls: [given], finish: 'tools', isComplete: true })
      }
    })
  })

  test.each([['null'], [' '], [''], ['""']])(
    'without arguments, as %j, has an empty object',
    async (text) => {
      const model = await aModelAt(CHAT_ONLY)
      const call = { id: 'c1', type: 'function', function: { name: 'get', arguments: text } }
      for (const isStream of [true, false]) {
        upstream.play = () =>
          isStream
            ? chatStream([piece(call.function, { id: 'c1' })], { finish: 'tool_calls' })
            : chatAnswer({ content: null, tool_calls: [call] }, 'tool_calls')
        for (const speaker of [anthropic, gemini, responsesSpeaker]) {
          const { said } = await ask({ setup, client }, speaker, {
            model,
            wish: { tools },
            isStream,
          })
          expect(said.calls).toEqual([{ name: 'get', args: {} }])
        }
      }
    },
  )

  test('that never gets a name is left out', async () => {
    const model = await aModelAt(CHAT_ONLY)
    const nameless = { function_call: { name: '', arguments: '' } }
    for (const isStream of [true, false]) {
      upstream.play = () =>
        isStream
          ? chatStream([{ content: 'Hi.', ...nameless }])
          : chatAnswer({ content: 'Hi.', ...nameless })
      for (const speaker of [anthropic, gemini, responsesSpeaker]) {
        const { said } = await ask({ setup, client }, speaker, { model, wish: { tools }, isStream })
        expect(said).toMatchObject({ text: 'Hi.', calls: [], finish: 'stop' })
      }
    }
  })
})

const use = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'get', input })
const messageUsage = { input_tokens: 11, output_tokens: 7 }
const message = (content: unknown[], stop_reason: string): PlayedAnswer => ({
  json: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content,
    stop_reason,
    usage: messageUsage,
  },
})
const messageStream = (events: unknown[], stop_reason: string): PlayedAnswer => ({
  events: [
    { type: 'message_start', message: { id: 'msg_1', content: [], usage: messageUsage } },
    ...events,
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: messageUsage },
    { type: 'message_stop' },
  ],
})
const begin = (index: number, content_block: unknown) => ({
  type: 'content_block_start',
  index,
  content_block,
})
const delta = (index: number, members: Json) => ({
  type: 'content_block_delta',
  index,
  delta: members,
})
const stop = (index: number) => ({ type: 'content_block_stop', index })

describe('the finish reason agrees with the calls', () => {
  const called = messageStream([begin(0, use('t1')), stop(0)], 'end_turn')
  const said = { content: 'Hi.' }
  const cases: [string, { type: number; answer: PlayedAnswer; finish: string }][] = [
    [
      'a chat stream',
      { type: 50, answer: chatStream([said], { finish: 'tool_calls' }), finish: 'stop' },
    ],
    [
      'a chat',
      { type: 50, answer: chatAnswer({ ...said, tool_calls: [] }, 'tool_calls'), finish: 'stop' },
    ],
    [
      'a chat cut by its context',
      { type: 50, answer: chatStream([said], { finish: 'model_length' }), finish: 'length' },
    ],
    [
      'a message',
      { type: 52, answer: message([{ type: 'text', text: 'Hi.' }], 'tool_use'), finish: 'stop' },
    ],
    [
      'a message with a call',
      { type: 52, answer: message([use('t1')], 'end_turn'), finish: 'tools' },
    ],
    ['a stream of a message with a call', { type: 52, answer: called, finish: 'tools' }],
    ['the same of Anthropic', { type: 14, answer: called, finish: 'tools' }],
  ]

  test.each(cases)('%s', async (_what, { type, answer, finish }) => {
    upstream.play = () => answer
    const model = await aModelAt(type)
    const speaker = type === 50 ? anthropic : openai
    const isStream = answer.events !== undefined
    const told = await ask({ setup, client }, speaker, { model, wish: { tools }, isStream })
    expect(told.said.finish).toBe(finish)
  })
})

test('blocks of a message that are open side by side keep their input', async () => {
  const part = (index: number, partial_json: string) =>
    delta(index, { type: 'input_json_delta', partial_json })
  upstream.play = () =>
    messageStream(
      [
        begin(0, use('t1')),
        begin(1, use('t2')),
        part(0, '{"a"'),
        part(1, '{"a":'),
        part(0, ':1}'),
        part(1, '2}'),
        stop(0),
        stop(1),
      ],
      'tool_use',
    )
  const model = await aModelAt(52)
  for (const speaker of [openai, gemini, responsesSpeaker]) {
    const { said } = await ask({ setup, client }, speaker, {
      model,
      wish: { tools },
      isStream: true,
    })
    expect(said.calls.map(({ args }) => args)).toEqual([{ a: 1 }, { a: 2 }])
  }
})

describe('a call of the Responses API', () => {
  const item = (given: unknown) => ({
    type: 'function_call',
    id: 'fc_1',
    call_id: 'c1',
    name: 'get',
    arguments: given,
  })
  const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 }
  const response = (output: unknown[]) => ({
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output,
    usage,
  })
  const responseStream = (events: Json[], output: unknown[] = []): PlayedAnswer => ({
    events: [
      { type: 'response.created', response: { ...response([]), status: 'in_progress' } },
      ...events,
      { type: 'response.completed', response: response(output) },
    ],
  })
  const added = { type: 'response.output_item.added', output_index: 0, item: item('') }
  const said = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Hi.' }],
  }

  test.each([
    ['whole, with an object', false, { json: response([item({ city: 'X' })]) }, ''],
    [
      'with an object',
      true,
      responseStream([
        added,
        { type: 'response.output_item.done', output_index: 0, item: item({ city: 'X' }) },
      ]),
      '',
    ],
    [
      'with arguments at their end only',
      true,
      responseStream([
        added,
        {
          type: 'response.function_call_arguments.done',
          output_index: 0,
          arguments: '{"city":"X"}',
        },
      ]),
      '',
    ],
    [
      'without a beginning',
      true,
      responseStream([
        { type: 'response.output_item.done', output_index: 0, item: item('{"city":"X"}') },
      ]),
      '',
    ],
    ['in the last event only', true, responseStream([], [said, item('{"city":"X"}')]), 'Hi.'],
  ])('%s', async (_what, isStream, answer, text) => {
    upstream.play = () => answer
    const model = await aModelAt(1, `gpt-5.6-${aModel()}`)
    for (const speaker of [anthropic, gemini]) {
      const told = await ask({ setup, client }, speaker, { model, wish: { tools }, isStream })
      expect(told.said).toMatchObject({
        text,
        calls: [{ name: 'get', args: { city: 'X' } }],
        finish: 'tools',
      })
    }
  })
})

describe('an upstream that uses one id again', () => {
  const call = { id: 'call_0', type: 'function', function: { name: 'get', arguments: '{}' } }
  const bare = { type: 'function', function: call.function }
  const toolUses = (content: unknown) => list(content).filter(({ type }) => type === 'tool_use')

  test.each([
    ['call_0', call, 'chatcmpl-1'],
    ['no id, in answers with one id', bare, 'chatcmpl-1'],
    ['no id, in answers without one', bare, ''],
  ])('has new ids for its client: %s', async (_what, sent, id) => {
    upstream.play = ({ body }) =>
      body.stream === true
        ? chatStream([{ tool_calls: [{ index: 0, ...sent }] }], { finish: 'tool_calls', id })
        : chatAnswer({ content: null, tool_calls: [sent] }, 'tool_calls', id)
    const model = await aModelAt(50)
    const messages: Json[] = [{ role: 'user', content: 'Hi' }]
    const ids: unknown[] = []
    for (let turn = 0; turn < 3; turn += 1) {
      const body = { ...anthropic.body(model, { tools }, false), messages }
      const answer = await post(setup, client, body, { path: '/v1/messages' })
      const { content } = json(answer.json)
      const [used] = toolUses(content)
      ids.push(used?.id)
      messages.push(
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: used?.id, content: 'x' }] },
      )
    }
    expect(new Set(ids).size).toBe(3)
    // The upstream has its results by the same ids.
    const last = list(upstream.calls.at(-1)?.body.messages)
    const called = last.flatMap((sentMessage) => list(sentMessage.tool_calls).map((one) => one.id))
    expect(called).toEqual(ids.slice(0, 2))
    expect(last.flatMap(({ tool_call_id: own }) => own ?? [])).toEqual(called)
  })

  test('and gets other ids in a conversation that continues with Claude', async () => {
    upstream.play = () => message([{ type: 'text', text: 'Hi.' }], 'end_turn')
    const model = await aModelAt(14, `our-claude-sonnet-4-5-${aModel()}`)
    const turn = [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_0', content: 'one' },
    ]
    const parallel = [
      { role: 'assistant', content: null, tool_calls: [call, call] },
      { role: 'tool', tool_call_id: 'call_0', content: 'two' },
      { role: 'tool', tool_call_id: 'call_0', content: 'three' },
    ]
    const messages = [{ role: 'user', content: 'Hi' }, ...turn, ...parallel]
    await post(setup, client, { ...openai.body(model, { tools }, false), messages })
    const sent = list(upstream.calls[0]?.body.messages).flatMap(({ content }) => list(content))
    const ids = toolUses(sent).map(({ id }) => id)
    expect(new Set(ids).size).toBe(3)
    const results = sent.filter(({ type }) => type === 'tool_result')
    expect(results.map((result) => result.tool_use_id)).toEqual(ids)
    expect(results.map(({ content }) => json(list(content)[0]).text)).toEqual([
      'one',
      'two',
      'three',
    ])
  })
})
