import { describe, expect, test } from 'vitest'
import { eventsOfAnswer, type ChatEvent } from '../canonical/chat-answer.ts'
import { plainRequest } from '../canonical/chat-request.ts'
import { countedUsage } from '../canonical/token-usage.ts'
import { speakers } from '../../../test/dialect-clients.ts'
import { dialects } from '../../conversion/dialects.ts'
import { toolsAsAsked } from '../dialect/answer-changes.ts'
import { answerIn } from '../../../test/read-answer.ts'
import { OpenaiStreamReader } from './read-answer.ts'

/** Variants of the dialect that only some servers send, for a client of Anthropic. */

type Json = Record<string, unknown>
const head = { id: 'id-1', model: 'asked', nowSeconds: 1, wantsUsage: true }

/** Chunks of these deltas and a finish reason, as events. */
function eventsOf(...deltas: Json[]): ChatEvent[] {
  const reader = new OpenaiStreamReader()
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
    { index: 0, delta: {}, finish_reason: 'tool_calls' },
  ]
  const events = choices.flatMap(
    (choice) => reader.read({ id: 'chatcmpl-1', choices: [choice] }).events,
  )
  return [{ kind: 'start', id: 'chatcmpl-1' }, ...events, ...reader.end()]
}

function readByClient(events: readonly ChatEvent[]) {
  const writer = dialects.anthropic.streamWriter(head)
  const pieces = [
    ...events.flatMap((event) => writer.write(event)),
    ...writer.end(countedUsage(11, 7)),
  ]
  const text = pieces.map(({ name, data }) => `event: ${name}\ndata: ${data}\n\n`).join('')
  return speakers.anthropic.streamed(text)
}

const wholeOf = (message: Json, over: Json = {}) =>
  answerIn(dialects.openai, {
    id: 'chatcmpl-1',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    ...over,
  })

const writtenOf = (message: Json, over: Json = {}) =>
  dialects.anthropic.writeAnswer(wholeOf(message, over), head)

const callDelta = (id: string | undefined, name: string | undefined, args: unknown) => ({
  tool_calls: [
    { index: 0, ...(id === undefined ? {} : { id }), function: { name, arguments: args } },
  ],
})
const idsIn = (events: readonly ChatEvent[]) =>
  events.flatMap((event) => (event.kind === 'toolCall' ? [event.id] : []))

describe('calls that share an index', () => {
  const both = [
    { name: 'f', args: { x: 1 } },
    { name: 'g', args: { y: 2 } },
  ]

  test('are distinguished by their ids', () => {
    const events = eventsOf(
      callDelta('a', 'f', ''),
      callDelta(undefined, undefined, '{"x"'),
      callDelta('a', 'f', ':1}'),
      callDelta('b', 'g', '{"y":2}'),
    )
    expect(readByClient(events).calls).toMatchObject(both)
    expect(idsIn(events)).toEqual(['a', 'b'])
  })

  test('and without ids by complete arguments', () => {
    const events = eventsOf(
      callDelta('', 'f', '{"x"'),
      callDelta('', 'f', ':1}'),
      callDelta('', 'g', '{"y":2}'),
    )
    expect(readByClient(events).calls).toMatchObject(both)
  })

  test('a new id without a name does not begin a call', () => {
    const events = eventsOf(callDelta('a', 'f', '{"x"'), callDelta('b', undefined, ':1}'))
    expect(readByClient(events).calls).toMatchObject([both[0]])
  })
})

test('restores a tool name that was changed for the upstream', () => {
  const name = `mcp__${'x'.repeat(71)}`
  const tool = { name, description: null, schema: null, isStrict: null, cache: null }
  const asked = { ...plainRequest([]), tools: [tool] }
  const { toolName } = dialects.openai
  const changes = toolsAsAsked(dialects.openai, asked, 'request-1')
  const message = { tool_calls: [{ id: 'a', function: { name: toolName?.(name) } }] }
  const read = answerIn(dialects.openai, { choices: [{ message }] }, changes)
  expect(read.choices[0]?.parts).toMatchObject([{ name }])
})

describe('arguments', () => {
  test('given as the object itself are kept', () => {
    const message = { tool_calls: [{ id: 'a', function: { name: 'f', arguments: { x: 1 } } }] }
    expect(writtenOf(message)).toMatchObject({ content: [{ type: 'tool_use', input: { x: 1 } }] })
    const { calls } = readByClient(eventsOf(callDelta('a', 'f', { x: 1 })))
    expect(calls).toMatchObject([{ name: 'f', args: { x: 1 } }])
  })

  test('that are missing are an empty object', () => {
    const texts = [
      eventsOf(callDelta('a', 'f', '')),
      eventsOfAnswer(wholeOf({ tool_calls: [{ id: 'a', function: { name: 'f' } }] })),
    ].map((events) => events.flatMap((event) => (event.kind === 'toolArguments' ? event.text : [])))
    expect(texts).toEqual([['{}'], ['{}']])
  })
})

describe('additions of other servers', () => {
  test('images are part of the response', () => {
    const images = ['data:image/png;base64,AAAA', 'https://a.example/b.png', 'data:oops'].map(
      (url) => ({ type: 'image_url', image_url: { url } }),
    )
    const [choice] = wholeOf({ content: 'Here:', images }).choices
    expect(choice?.parts).toEqual([
      { kind: 'text', text: 'Here:' },
      { kind: 'image', mimeType: 'image/png', data: 'AAAA' },
      { kind: 'text', text: '![image](https://a.example/b.png)![image](data:oops)' },
    ])
    expect(eventsOf({ content: '', images })[1]).toMatchObject({ kind: 'image', data: 'AAAA' })
  })

  const format = 'anthropic-claude-v1'
  const thought = { type: 'reasoning.text', text: 'Hm.', format, index: 0 }
  const hidden = { type: 'reasoning.encrypted', data: 'ZGF0YQ==', format, index: 1 }
  const foreign = { type: 'reasoning.encrypted', data: 'gAAA', format: 'xai-responses-v1' }

  test('a signature stays with its reasoning, and others are not mistaken for it', () => {
    const reasoning_details = [{ ...thought, signature: 'c2VhbA==' }, hidden, foreign]
    expect(writtenOf({ content: 'Yes.', reasoning: 'Hm.', reasoning_details })).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'c2VhbA==' },
        { type: 'redacted_thinking', data: 'ZGF0YQ==' },
        { type: 'text', text: 'Yes.' },
      ],
    })
    const events = eventsOf(
      { reasoning: 'Hm.', reasoning_details: [thought] },
      { reasoning_details: [{ ...thought, text: null, signature: 'c2VhbA==' }] },
      { content: 'Yes.' },
    )
    expect(readByClient(events)).toMatchObject({ thought: 'Hm.', seal: 'c2VhbA==', text: 'Yes.' })
  })

  test('the signature of a call is in the reasoning details, by call id', () => {
    const seal = { type: 'reasoning.encrypted', data: 'c2VhbA==', format: 'google-gemini-v1' }
    const told = { reasoning_details: [{ ...seal, id: 'b', index: 0 }] }
    const signature = { by: 'gemini', value: 'c2VhbA==' }
    const tool_calls = ['a', 'b'].map((id, index) => ({ index, id, function: { name: 'f' } }))
    const [choice] = wholeOf({ tool_calls, ...told }).choices
    expect(choice?.parts).toMatchObject([
      { id: 'a', signature: null },
      { id: 'b', signature },
    ])
    const orders = [
      eventsOf({ tool_calls }, told),
      eventsOf({ tool_calls, ...told }),
      eventsOf(told, { tool_calls }),
    ]
    for (const events of orders) {
      expect(events.filter(({ kind }) => kind === 'toolCall')).toMatchObject([
        { id: 'a', signature: null },
        { id: 'b', signature },
      ])
    }
    // The call has been reported, so its signature follows as an event of its own.
    const begun = tool_calls.map((call) => ({ ...call, function: { name: 'f', arguments: '{}' } }))
    expect(eventsOf({ tool_calls: begun }, told)).toContainEqual({
      kind: 'signature',
      choice: 0,
      signature,
    })
  })

  test('reads a call in the former format', () => {
    const function_call = { name: 'f', arguments: '{"x":1}' }
    const call = { name: 'f', args: { x: 1 } }
    expect(speakers.anthropic.whole(writtenOf({ content: null, function_call }))).toMatchObject({
      calls: [call],
    })
    const pieces = eventsOf(
      { function_call: { name: 'f', arguments: '' } },
      { function_call: { arguments: '{"x":1}' } },
    )
    expect(readByClient(pieces)).toMatchObject({ calls: [call] })
  })
})

test('ignores a function call with an empty name and empty arguments', () => {
  // Snowflake Cortex sends one with every answer.
  const function_call = { name: '', arguments: '' }
  const said = { text: '4', calls: [], finish: 'stop' }
  const message = { content: '4', function_call, tool_calls: null }
  expect(speakers.anthropic.whole(writtenOf(message))).toMatchObject(said)
  const reader = new OpenaiStreamReader()
  const events = [
    { delta: { content: '4', function_call }, finish_reason: null },
    { delta: {}, finish_reason: 'stop' },
  ].flatMap((choice) => reader.read({ id: 'c', choices: [{ index: 0, ...choice }] }).events)
  expect(readByClient(events)).toMatchObject(said)
})

test('reads reasoning that MiniMax repeats in a stream once', () => {
  const piece = (text: string) => ({
    reasoning_details: [{ type: 'reasoning.text', format: 'MiniMax-response-v1', index: 0, text }],
  })
  const thoughtIn = (...texts: string[]) =>
    eventsOf(...texts.map(piece))
      .map((event) => (event.kind === 'thinking' ? event.text : ''))
      .join('')
  const thought = 'The user asks how I am.'
  expect(thoughtIn('The user', ' asks how', ' I am.')).toBe(thought)
  expect(thoughtIn('The user', 'The user asks how', thought)).toBe(thought)
})
