import { describe, expect, test } from 'vitest'
import type { DialectName } from '../canonical/chat-request.ts'
import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { responsesClient } from '../responses/client.ts'
import { dialects, upstreamDialects } from './dialects.ts'

/**
 * Ids and times of 64 bits are whole numbers that JavaScript rounds. What tools are told and tell
 * reaches the other side with all its digits.
 */

const NUMBERS = ['1234567890123456789', '-9223372036854775808']
const ARGS = `{"id":${NUMBERS.join(',"at":')}}`
const BODY_ARGS = JSON.stringify(ARGS)

/** As a body comes: digits that no object of a test could hold. */
const parsed = (text: string): JsonRecord => recordOr(parseJson(text))

const timesSaid = (value: unknown): number[] => {
  const text = JSON.stringify(value)
  return NUMBERS.map((digits) => text.split(digits).length - 1)
}

const requests: Readonly<Record<DialectName, string>> = {
  openai: `{"messages":[{"role":"user","content":"hi"},
    {"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":${BODY_ARGS}}}]},
    {"role":"tool","tool_call_id":"c","content":${BODY_ARGS}}],
    "tools":[{"type":"function","function":{"name":"f"}}]}`,
  anthropic: `{"messages":[{"role":"user","content":"hi"},
    {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":${ARGS}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":${BODY_ARGS}}]}],
    "tools":[{"name":"f","input_schema":{"type":"object"}}],"max_tokens":9}`,
  gemini: `{"contents":[{"parts":[{"text":"hi"}]},
    {"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":${ARGS}}}]},
    {"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":${ARGS}}}]}],
    "tools":[{"functionDeclarations":[{"name":"f"}]}]}`,
}

const upstreams = ['openai', 'responses', 'anthropic', 'gemini', 'ollama', 'cohere'] as const

describe.each(['openai', 'anthropic', 'gemini'] as const)('a request of %s', (client) => {
  test.each(upstreams)('to %s', (upstream) => {
    const request = dialects[client].readRequest(parsed(requests[client]))
    const to = { model: 'm', isStream: false, asksForUsage: false }
    const written = upstreamDialects[upstream].writeRequest(request, to)
    expect(timesSaid(written)).toEqual([2, 2])
  })
})

const answers: Readonly<Record<DialectName, string>> = {
  openai: `{"id":"a","choices":[{"message":{"tool_calls":[{"id":"c","function":
    {"name":"f","arguments":${BODY_ARGS}}}]},"finish_reason":"tool_calls"}]}`,
  anthropic: `{"id":"a","content":[{"type":"tool_use","id":"c","name":"f","input":${ARGS}}],
    "stop_reason":"tool_use"}`,
  gemini: `{"responseId":"a","candidates":[{"content":{"parts":[{"functionCall":
    {"id":"c","name":"f","args":${ARGS}}}]},"finishReason":"STOP"}]}`,
}

test.each(['openai', 'anthropic', 'gemini'] as const)('an answer of %s', (upstream) => {
  const answer = dialects[upstream].readAnswer(parsed(answers[upstream]))
  const head = { id: 'id', model: 'm', nowSeconds: 1 }
  for (const client of [...Object.values(dialects), responsesClient({})]) {
    expect(timesSaid(client.writeAnswer(answer, head))).toEqual([1, 1])
  }
})

test('a figure of such a length is one to reckon with', () => {
  const { seed } = dialects.openai.readRequest(parsed(`{"messages":[],"seed":${NUMBERS[0]}}`))
  expect(seed).toBe(Number(NUMBERS[0]))
})
