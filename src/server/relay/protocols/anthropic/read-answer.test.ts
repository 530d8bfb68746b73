import { describe, expect, test } from 'vitest'
import { streamIn } from '../../../test/read-answer.ts'
import { textsOf } from '../canonical/chat-answer.ts'
import { dialects } from '../../conversion/dialects.ts'

/** Streams as Anthropic sends them beside the ordinary ones; recorded by vercel/ai. */

const usage = { input_tokens: 10, output_tokens: 5 }
const call = {
  type: 'tool_use',
  id: 'toolu_1',
  name: 'rollDie',
  input: { player: 'player2' },
  caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' },
}
const start = (over: object) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage, ...over },
})
const STOP = { type: 'message_stop' }

function followed(events: readonly object[]) {
  const { seen, ...others } = streamIn(dialects.anthropic, events)
  return { ...others, texts: textsOf(seen).map(({ text }) => text) }
}

const read = (events: readonly object[]) => streamIn(dialects.anthropic, events).seen

describe('a message that stands whole in its first event', () => {
  const whole = start({ content: [call], stop_reason: 'tool_use' })

  test('is complete at message_stop', () => {
    expect(followed([whole, STOP])).toMatchObject({
      outcome: 'clean',
      usage: { promptTokens: 10, completionTokens: 5 },
      texts: ['rollDie', '{"player":"player2"}'],
    })
    expect(read([whole, STOP])).toMatchObject([
      { kind: 'start', id: 'msg_1' },
      { kind: 'toolCall', id: 'toolu_1', name: 'rollDie' },
      { kind: 'toolArguments', call: 0, text: '{"player":"player2"}' },
      { kind: 'finish', finish: { reason: 'toolCalls' } },
    ])
  })

  test.each([
    ['without message_stop', [whole]],
    ['whose stop reason is a promise only', [start({ stop_reason: 'end_turn' })]],
  ])('is cut %s', (_what, events) => {
    expect(followed(events).outcome).toBe('truncated')
  })

  test('counts the searches in it', () => {
    const content = [{ type: 'web_search_tool_result', content: [] }]
    const told = { ...usage, server_tool_use: { web_search_requests: 1 } }
    const message = start({ content, stop_reason: 'end_turn', usage: told })
    expect(followed([message, STOP]).usage?.extras).toEqual({ tools: { web_search: 1 } })
  })
})

test('the input of a tool that Anthropic runs is not glued to the call before it', () => {
  const block = (index: number, content_block: object, partial_json: string) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } },
    { type: 'content_block_stop', index },
  ]
  const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search_tool_bm25' }
  const remote = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'echo' }
  const own = { type: 'tool_use', id: 'toolu_1', name: 'readNote', input: {} }
  const seen = read([
    ...block(0, own, '{"id": 1}'),
    ...block(1, search, '{"query": "add"}'),
    ...block(2, remote, '{"text": "a"}'),
    ...block(3, { ...own, id: 'toolu_2' }, '{"id": 2}'),
  ])
  expect(seen).toMatchObject([
    { kind: 'toolCall', id: 'toolu_1' },
    { kind: 'toolArguments', call: 0, text: '{"id": 1}' },
    { kind: 'hostedTool', text: 'tool_search_tool_bm25' },
    { kind: 'hostedTool', text: '{"query": "add"}' },
    { kind: 'hostedTool', text: 'echo' },
    { kind: 'hostedTool', text: '{"text": "a"}' },
    { kind: 'toolCall', id: 'toolu_2' },
    { kind: 'toolArguments', call: 1, text: '{"id": 2}' },
  ])
})
