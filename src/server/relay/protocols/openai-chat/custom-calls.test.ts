import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import {
  chatAnswer,
  chatStream,
  usePlayedUpstream,
  type PlayedAnswer,
} from '../../../test/played-upstream.ts'
import { aModel, aRoute, type RelayClient, type RelaySetup } from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'

/** Custom tools of the chat API, with OpenAI's own client. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })
const upstream = usePlayedUpstream()

const PATCH = '*** Begin Patch\n"x"\n*** End Patch'
const GRAMMAR = { syntax: 'lark' as const, definition: 'start: /.+/s' }
const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'look', parameters: { type: 'object' } } },
  {
    type: 'custom',
    custom: {
      name: 'apply_patch',
      description: 'Patches.',
      format: { type: 'grammar', grammar: GRAMMAR },
    },
  },
]
const CALLED = {
  id: 'call_1',
  type: 'custom' as const,
  custom: { name: 'apply_patch', input: PATCH },
}
const LOOKED = {
  id: 'call_2',
  type: 'function' as const,
  function: { name: 'look', arguments: '{}' },
}
const MESSAGES: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'user', content: 'Patch it.' },
  { role: 'assistant', content: null, tool_calls: [{ ...CALLED, id: 'call_0' }] },
  { role: 'tool', tool_call_id: 'call_0', content: 'done' },
]

async function answered(type: number, isStream: boolean) {
  const model = aModel()
  await aRoute(setup, model, { type, base_url: upstream.url })
  const sdk = new OpenAI({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })
  const asked = {
    model,
    messages: MESSAGES,
    tools: TOOLS,
    tool_choice: { type: 'custom' as const, custom: { name: 'apply_patch' } },
  }
  const completion = isStream
    ? await sdk.chat.completions.stream(asked).finalChatCompletion()
    : await sdk.chat.completions.create(asked)
  return completion.choices[0]
}

const ANTHROPIC = 14

function messageOf(isStream: boolean): PlayedAnswer {
  const input = { input: PATCH }
  const blocks = [
    { type: 'tool_use', id: 'call_1', name: 'apply_patch', input },
    { type: 'tool_use', id: 'call_2', name: 'look', input: {} },
  ]
  const usage = { input_tokens: 11, output_tokens: 7 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', usage }
  if (!isStream) return { json: { ...message, content: blocks, stop_reason: 'tool_use' } }
  const text = JSON.stringify(input)
  const piece = (partial_json: string) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json },
  })
  return {
    events: [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { ...blocks[0], input: {} } },
      piece(text.slice(0, 15)),
      piece(text.slice(15)),
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: blocks[1] },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage },
      { type: 'message_stop' },
    ],
  }
}

describe.each([false, true])('at a channel of Anthropic, streamed: %s', (isStream) => {
  test('are functions with the text as their argument', async () => {
    upstream.play = () => messageOf(isStream)
    await answered(ANTHROPIC, isStream)
    const [call] = upstream.calls
    const about = 'Patches.\n\n"input" follows this lark grammar:\n\nstart: /.+/s'
    expect(call?.body).toMatchObject({
      tools: [{ name: 'look' }, { name: 'apply_patch', description: about }],
      tool_choice: { type: 'tool', name: 'apply_patch' },
      messages: [
        { role: 'user' },
        { role: 'assistant', content: [{ name: 'apply_patch', input: { input: PATCH } }] },
        { role: 'user' },
      ],
    })
  })

  test('are called with the text', async () => {
    upstream.play = () => messageOf(isStream)
    const choice = await answered(ANTHROPIC, isStream)
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [CALLED, LOOKED] },
    })
  })
})

/** Together. */
const CHAT = 39
const pieces = [
  {
    role: 'assistant',
    tool_calls: [{ index: 0, ...CALLED, custom: { name: 'apply_patch', input: '' } }],
  },
  { tool_calls: [{ index: 0, custom: { input: PATCH.slice(0, 9) } }] },
  { tool_calls: [{ index: 0, custom: { input: PATCH.slice(9) } }] },
]

test.each([
  ['whole', false, () => chatAnswer({ content: null, tool_calls: [CALLED] }, 'tool_calls')],
  ['streamed', true, () => chatStream(pieces, { finish: 'tool_calls' })],
  ['streamed unasked', false, () => chatStream(pieces, { finish: 'tool_calls' })],
])('calls of a chat upstream are passed on, %s', async (_how, isStream, play) => {
  upstream.play = play
  const choice = await answered(CHAT, isStream)
  expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { tool_calls: [CALLED] } })
  expect(upstream.calls[0]?.body).toMatchObject({ tools: TOOLS, messages: MESSAGES })
})
