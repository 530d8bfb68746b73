import { expect, test } from 'vitest'
import { parseJson, recordOr } from '../../json/json-value.ts'
import { GatheredMessage } from './gathered-message.ts'
import { messageAsEvents } from './message-events.ts'

/** Events as Anthropic's API reference shows them, "Streaming messages". */

const block = (index: number, begun: object, ...deltas: object[]): object[] => [
  { type: 'content_block_start', index, content_block: begun },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]

function gathered(events: readonly object[]): unknown {
  const message = new GatheredMessage()
  for (const event of events) message.add({ ...event })
  return message.whole()
}

const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'm',
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 1 },
  },
}

test('every kind of piece comes together', () => {
  const message = gathered([
    START,
    { type: 'ping' },
    ...block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'H' },
      { type: 'thinking_delta', thinking: 'm' },
      { type: 'signature_delta', signature: 'seal' },
    ),
    ...block(
      1,
      { type: 'text', text: '', citations: [] },
      { type: 'text_delta', text: 'Forty' },
      { type: 'citations_delta', citation: { url: 'x' } },
      { type: 'text_delta', text: '-two' },
    ),
    ...block(2, { type: 'redacted_thinking', data: 'd' }),
    ...block(
      3,
      { type: 'tool_use', id: 't', name: 'f', input: {} },
      { type: 'input_json_delta', partial_json: '' },
      { type: 'input_json_delta', partial_json: '{"a":' },
      { type: 'input_json_delta', partial_json: '1}' },
    ),
    ...block(4, { type: 'tool_use', id: 'u', name: 'g', input: {} }),
    ...block(
      5,
      { type: 'compaction', content: null, encrypted_content: null },
      { type: 'compaction_delta', content: 'Short.', encrypted_content: 'sealed' },
    ),
    ...block(6, { type: 'compaction' }, { type: 'compaction_delta', content: null }),
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 7, input_tokens: 0 },
      context_management: { applied_edits: [] },
    },
    { type: 'message_stop' },
  ])
  expect(message).toEqual({
    ...START.message,
    content: [
      { type: 'thinking', thinking: 'Hm', signature: 'seal' },
      { type: 'text', text: 'Forty-two', citations: [{ url: 'x' }] },
      { type: 'redacted_thinking', data: 'd' },
      { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
      { type: 'tool_use', id: 'u', name: 'g', input: {} },
      { type: 'compaction', content: 'Short.', encrypted_content: 'sealed' },
      { type: 'compaction', content: null },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 7 },
    context_management: { applied_edits: [] },
  })
})

test('a message that stands whole in its first event is that message', () => {
  const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' }
  const message = {
    ...START.message,
    content: [{ type: 'tool_use', id: 't', name: 'f', input: { a: 1 }, caller }],
    stop_reason: 'tool_use',
  }
  const events = [{ type: 'message_start', message }, { type: 'message_stop' }]
  expect(gathered(events)).toEqual(message)
})

test('a message that was taken apart is as it was, to the last digit', () => {
  const text = `{"id":"msg_1","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t",
    "name":"f","input":{"id":1234567890123456789}}],"stop_reason":"tool_use","stop_sequence":null,
    "usage":{"input_tokens":1,"output_tokens":2}}`
  const message = recordOr(parseJson(text))
  const again = gathered(messageAsEvents(message))
  expect(recordOr(parseJson(JSON.stringify(again)))).toEqual(message)
  expect(JSON.stringify(again)).toContain('1234567890123456789')
})
