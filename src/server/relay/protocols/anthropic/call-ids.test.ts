import { describe, expect, test } from 'vitest'
import type { ChatEvent } from '../canonical/chat-answer.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { clientCallId, ownCallId } from './call-ids.ts'
import { readAnthropicRequest } from './read-request.ts'
import { AnthropicStreamWriter, writeAnthropicAnswer } from './write-answer.ts'

/** Anthropic rejects other ids, and Kimi requires its own. */
const TAKEN = /^[a-zA-Z0-9_-]+$/
const KIMIS = ['functions.read:0', 'functions.read:1']

const head = { id: 'x', model: 'm', nowSeconds: 1, wantsUsage: true }
const argumentsJson = '{"a":1}'

const idsIn = (text: string): string[] => text.match(/(?<="tool_use","id":")[^"]+/g) ?? []

function whole(): string[] {
  const parts = KIMIS.map((id) => ({
    kind: 'toolCall' as const,
    id,
    name: 'read',
    argumentsJson,
    signature: null,
  }))
  const finish = { reason: 'toolCalls' as const, stopSequence: null }
  const answer = { id: 'x', choices: [{ parts, finish }], usage: null }
  return idsIn(JSON.stringify(writeAnthropicAnswer(answer, head)))
}

/** The second call begins while the first is open. */
function streamed(): string[] {
  const begun = KIMIS.map((id, call): ChatEvent => ({
    kind: 'toolCall',
    choice: 0,
    call,
    id,
    name: 'read',
    signature: null,
  }))
  const given = KIMIS.map((_, call): ChatEvent => ({
    kind: 'toolArguments',
    choice: 0,
    call,
    text: argumentsJson,
  }))
  const writer = new AnthropicStreamWriter(head)
  const finish = { reason: 'toolCalls' as const, stopSequence: null }
  const events: ChatEvent[] = [...begun, ...given, { kind: 'finish', choice: 0, finish }]
  const usage = { promptTokens: 1, cachedTokens: 0, cacheWriteTokens: 0, cacheWriteHourTokens: 0 }
  const pieces = [
    ...events.flatMap((event) => writer.write(event)),
    ...writer.end({ ...usage, completionTokens: 1, reasoningTokens: 0 }),
  ]
  return idsIn(pieces.map(({ data }) => data).join('\n'))
}

describe.each([
  ['whole', whole],
  ['streamed', streamed],
])('ids that Anthropic would not take, %s', (_, told) => {
  test('are converted for the client, and restored when sent back', () => {
    const ids = told()
    expect(ids).toHaveLength(2)
    for (const id of ids) expect(id).toMatch(TAKEN)
    const called = ids.map((id) => ({ type: 'tool_use', id, name: 'read', input: {} }))
    const results = ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'x' }))
    const body: JsonRecord = {
      messages: [
        { role: 'assistant', content: called },
        { role: 'user', content: results },
      ],
    }
    const [assistant, user] = readAnthropicRequest(body).messages
    expect(assistant?.parts).toMatchObject(KIMIS.map((id) => ({ id })))
    expect(user?.parts).toMatchObject(KIMIS.map((callId) => ({ callId })))
  })
})

test.each(['toolu_01A', 'call_abc-1', ''])('an id that Anthropic takes stays: %j', (id) => {
  expect(clientCallId(id)).toBe(id)
  expect(ownCallId(id)).toBe(id)
})
