import { describe, expect, test } from 'vitest'
import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { cloudEdits } from '../vendors/anthropic/clouds/members.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import { scanBody, type ScannedBody } from '../json/body-scan.ts'
import { splice, type MemberEdit } from '../json/body-splice.ts'
import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { messageEdits, systemRole } from '../protocols/openai-chat/message-edits.ts'
import { withSystemPrompt } from '../protocols/openai-chat/system-prompt.ts'
import { responsesClient } from '../protocols/openai-responses/client.ts'
import { OF_CODEX, withoutNotes } from '../protocols/openai-responses/upstream/of-codex.ts'
import { answerOf } from '../protocols/canonical/gathered-answer.ts'
import { upstreamDialects } from '../../test/upstream-dialects.ts'
import { dialects } from './dialects.ts'
import { traitsOf } from '../vendors/registry.ts'

/**
 * 64-bit ids and times are integers that JavaScript rounds. Tool arguments and results keep all
 * their digits in both directions.
 */

const NUMBERS = ['1234567890123456789', '-9223372036854775808']
const ARGS = `{"id":${NUMBERS.join(',"at":')}}`
const BODY_ARGS = JSON.stringify(ARGS)

/** A body with digits that an object of a test cannot contain. */
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
  const reading = dialects[upstream].readAnswer(Buffer.from(answers[upstream]))
  if (reading.kind !== 'ok') throw new Error(reading.kind)
  const answer = answerOf(reading.events(), null)
  const head = { id: 'id', model: 'm', nowSeconds: 1 }
  for (const client of [...Object.values(dialects), responsesClient({})]) {
    expect(timesSaid(client.writeAnswer(answer, head))).toEqual([1, 1])
  }
})

test.each<[string, string, (body: ScannedBody) => MemberEdit[]]>([
  [
    'cache marks of Claude in a cloud',
    `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f",
      "input":${ARGS},"cache_control":{"type":"ephemeral","scope":"global"}}]}]}`,
    (body) => cloudEdits(body, { cloud: 'google', model: 'claude-sonnet-5' }),
  ],
  [
    'roles',
    `{"messages":[{"role":"developer","content":"Be brief"},{"role":"user","note":${ARGS}}]}`,
    (body) => messageEdits(body, systemRole(body)),
  ],
  [
    'instructions',
    `{"messages":[{"role":"system","content":"Be brief"},{"role":"user","note":${ARGS}}]}`,
    (body) => [withSystemPrompt(body, 'Be long')],
  ],
  [
    'notes of Codex',
    `{"input":[{"type":"message","note":${ARGS},"${OF_CODEX.memberOfItems}":{}}]}`,
    (body) => withoutNotes(body, traitsOf(ChannelTypeNumber.azure)),
  ],
])('what is written again for the sake of %s', (_label, text, editsOf) => {
  const body = scanBody(Buffer.from(text))
  if (!body.ok) throw new Error(body.reason)
  const sent = splice(body, editsOf(body)).toString()
  expect(sent).not.toBe(text)
  expect(timesSaid(parsed(sent))).toEqual([1, 1])
})

test('Claude receives one in an output schema as a value, not as a description', () => {
  const values = `"enum":[${NUMBERS.join(',')}]`
  const schema = `{"type":"object","properties":{"id":{${values}}},"required":["id"]}`
  const format = `{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`
  const text = `{"messages":[{"role":"user","content":"hi"}],"response_format":${format}}`
  const request = dialects.openai.readRequest(parsed(text))
  const to = { model: 'claude-sonnet-5', isStream: false, asksForUsage: false }
  expect(JSON.stringify(upstreamDialects.anthropic.writeRequest(request, to))).toContain(values)
})

test('a parameter of such a length is read as a number', () => {
  const { seed } = dialects.openai.readRequest(parsed(`{"messages":[],"seed":${NUMBERS[0]}}`))
  expect(seed).toBe(Number(NUMBERS[0]))
})
