import { describe, expect, test } from 'vitest'
import type { ChatEvent } from '../protocols/canonical/chat-answer.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import { countedUsage } from '../protocols/canonical/token-usage.ts'
import { speakers } from '../../test/dialect-clients.ts'
import { dialects } from './dialects.ts'

/** Event orders that upstreams send and that a dialect must rearrange. */

const head = { id: 'id-1', model: 'asked', nowSeconds: 1, wantsUsage: true }
const finish = (reason: 'stop' | 'toolCalls'): ChatEvent => ({
  kind: 'finish',
  choice: 0,
  finish: { reason, stopSequence: null },
})
const call = (index: number): ChatEvent => ({
  kind: 'toolCall',
  choice: 0,
  call: index,
  id: `id_${index}`,
  name: `tool_${index}`,
  signature: null,
})
const given = (index: number, text: string): ChatEvent => ({
  kind: 'toolArguments',
  choice: 0,
  call: index,
  text,
})
const start: ChatEvent = { kind: 'start', id: 'x' }
const said = (kind: 'text' | 'thinking', text: string): ChatEvent => ({ kind, choice: 0, text })

function written(name: DialectName, events: readonly ChatEvent[]): string {
  const writer = dialects[name].streamWriter(head)
  const pieces = [
    ...events.flatMap((event) => writer.write(event)),
    ...writer.end(countedUsage(11, 7)),
  ]
  return pieces
    .map(({ name: event, data }) =>
      event ? `event: ${event}\ndata: ${data}\n\n` : `data: ${data}\n\n`,
    )
    .join('')
}

describe.each(['openai', 'anthropic', 'gemini'] as const)('%s', (name) => {
  const read = (events: readonly ChatEvent[]) => speakers[name].streamed(written(name, events))

  test('calls with interleaved arguments keep their own', () => {
    const events = [
      start,
      call(0),
      given(0, '{"a"'),
      call(1),
      given(1, '{"b":'),
      given(0, ':1}'),
      given(1, '2}'),
      finish('toolCalls'),
    ]
    expect(read(events)).toMatchObject({
      calls: [
        { name: 'tool_0', args: { a: 1 } },
        { name: 'tool_1', args: { b: 2 } },
      ],
      finish: 'tools',
      isComplete: true,
      prompt: 11,
      completion: 7,
    })
  })

  test('text between the pieces of arguments does not affect them', () => {
    const events = [
      start,
      call(0),
      given(0, '{"a":'),
      said('text', '\n'),
      call(1),
      given(1, '{"b":'),
      given(0, '1}'),
      said('text', 'So'),
      given(1, '2}'),
      said('text', ' be it.'),
      finish('toolCalls'),
    ]
    expect(read(events)).toMatchObject({
      text: '\nSo be it.',
      calls: [
        { name: 'tool_0', args: { a: 1 } },
        { name: 'tool_1', args: { b: 2 } },
      ],
      isComplete: true,
    })
  })

  test('successive calls with reasoning and text around them', () => {
    const events = [
      start,
      said('thinking', 'Hm. '),
      said('thinking', 'So.'),
      said('text', 'I '),
      said('text', 'ask.'),
      call(0),
      given(0, '{}'),
      call(1),
      given(1, '{"b":2}'),
      finish('toolCalls'),
    ]
    expect(read(events)).toMatchObject({
      thought: 'Hm. So.',
      text: 'I ask.',
      calls: [
        { name: 'tool_0', args: {} },
        { name: 'tool_1', args: { b: 2 } },
      ],
      isComplete: true,
    })
  })

  test('a response without text ends like any other', () => {
    expect(read([start, finish('stop')])).toMatchObject({
      text: '',
      finish: 'stop',
      isComplete: true,
    })
  })

  test('contains the requested model name', () => {
    expect(written(name, [start, said('text', 'x'), finish('stop')])).toContain('"asked"')
  })
})

test('streams successive calls to a client of Anthropic as they arrive', () => {
  const writer = dialects.anthropic.streamWriter(head)
  for (const event of [start, call(0), given(0, '{"a":1}')]) writer.write(event)
  const names = writer.write(call(1)).map(({ name }) => name)
  expect(names).toEqual(['content_block_stop', 'content_block_start'])
  expect(writer.write(given(1, '{"b"')).map(({ name }) => name)).toEqual(['content_block_delta'])
})

test('a client of Anthropic receives the end of each thought once, with or without a signature', () => {
  const signature = { by: 'anthropic', value: 'its-seal' } as const
  const seal: ChatEvent = { kind: 'signature', choice: 0, signature }
  const events = [start, said('thinking', 'Hm.'), seal, said('thinking', 'So.'), said('text', 'x')]
  const text = written('anthropic', [...events, finish('stop')])
  const seals = [...text.matchAll(/"type":"signature_delta","signature":"([^"]*)"/g)]
  expect(seals.map(([, sent]) => sent)).toEqual(['its-seal', ''])
})

test('choices are kept apart for clients that can have several', () => {
  const text = (choice: number, word: string): ChatEvent => ({ kind: 'text', choice, text: word })
  const ends = [0, 1].map((choice): ChatEvent => ({ ...finish('stop'), choice }) as ChatEvent)
  const events = [start, text(0, 'a'), text(1, 'b'), ...ends]
  expect(written('openai', events)).toContain('"index":1,"delta":{"content":"b"}')
  expect(written('gemini', events)).toContain('{"text":"b"}]},"index":1}')
  expect(written('anthropic', events)).not.toContain('"b"')
})
