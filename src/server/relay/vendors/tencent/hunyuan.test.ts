import { describe, expect, test } from 'vitest'
import { answerIn, readingOf, streamIn } from '../../../test/read-answer.ts'
import { NO_OVERRIDES } from '../../../channel/overrides.ts'
import { RequestNotes } from '../../protocols/canonical/request-notes.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { dialects } from '../../conversion/dialects.ts'
import { providerOf } from '../registry.ts'
import {
  type ProviderCall,
  type ProviderChannel,
  readyToSend,
} from '../../protocols/dialect/provider.ts'
import { createEgress } from '../../../egress/egress.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { aProviderCall } from '../../../test/provider-call.ts'

/**
 * Requests and responses of Hunyuan, in the shapes of Tencent Cloud's reference: "ChatCompletions"
 * and its data types, "Error codes".
 */
const { tencent } = upstreamDialects

const CHANNEL: ProviderChannel = { type: 23, key: 'app|id|secret', baseUrl: '', apiVersion: '' }
const CALL = aProviderCall({ model: 'hunyuan-turbo' })

test('has one URL for all supported tasks, and no URL for others', () => {
  const provider = providerOf(23, 'hunyuan-turbo', 'chat')
  const url = (over: Partial<ProviderCall>, channel: Partial<ProviderChannel> = {}) =>
    provider?.url({ ...CHANNEL, ...channel }, { ...CALL, ...over })
  expect(url({})).toBe('https://hunyuan.tencentcloudapi.com/')
  expect(url({ task: 'embeddings' })).toBe('https://hunyuan.tencentcloudapi.com/')
  expect(url({}, { baseUrl: 'https://proxy.example/x' })).toBe('https://proxy.example/x/')
  expect(url({ task: 'images' })).toBeNull()
  expect(url({}, { key: 'id|secret' })).toBeNull()
  expect(provider?.headers(CHANNEL, { ...CALL, task: 'embedContent' })).toEqual({
    'x-tc-action': 'GetEmbedding',
    'x-tc-version': '2023-09-01',
  })
})

test.each([
  ['https://hunyuan.tencentcloudapi.com/', true],
  ['https://proxy.example/hunyuan/', true],
  ['https://hunyuan.ap-guangzhou.tencentcloudapi.com/', false],
])('%s is signed by the name that Tencent sees', async (url, isUsual) => {
  const provider = providerOf(23, 'hunyuan-turbo', 'chat')
  if (provider === null) throw new Error('no provider')
  const request = {
    url,
    method: 'POST' as const,
    headers: { 'content-type': 'application/json', 'x-tc-action': 'ChatCompletions' },
    body: Buffer.from('{"Model":"混元"}'),
    firstByteTimeoutMs: 1,
    idleTimeoutMs: 1,
  }
  const clock = { nowSeconds: () => 1_800_000_000 }
  const channel = { ...CHANNEL, overrides: NO_OVERRIDES }
  const { seal } = readyToSend(provider, { channel, to: CALL }, request, clock)
  const egress = createEgress({ allowPrivate: false })
  const sealed = await seal?.(egress, request)
  await egress.close()
  expect(sealed).toMatchObject({ kind: 'sealed', headers: { 'x-tc-timestamp': '1800000000' } })
  // Written by another program.
  const usual = 'Signature=a28669d3e5e9540b32a16bd47234b8e441b4da6640dc588bb53a9c4495fb8dc7'
  const { authorization = '' } = sealed?.kind === 'sealed' ? sealed.headers : {}
  expect(authorization.startsWith('TC3-HMAC-SHA256 Credential=id/2027-01-15/hunyuan/')).toBe(true)
  expect(authorization.includes(usual)).toBe(isUsual)
})

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const tool = (name: string) => ({
  type: 'function',
  function: { name, description: 'd', parameters: SCHEMA },
})
const WRITTEN_TOOL = (Name: string) => ({
  Type: 'function',
  Function: { Name, Description: 'd', Parameters: JSON.stringify(SCHEMA) },
})
const CALLED = {
  id: 'c1',
  type: 'function',
  function: { name: 'f', arguments: '{"city":"x"}' },
}

const written = (body: JsonRecord, isStrict = false): JsonRecord =>
  tencent.writeRequest(
    dialects.openai.readRequest(
      { messages: [{ role: 'user', content: 'Hi' }], ...body },
      new RequestNotes(isStrict),
    ),
    { model: 'hunyuan-turbo', isStream: false, asksForUsage: false },
  )

describe('a request', () => {
  test('omits empty replies, so that users and assistants alternate', () => {
    const messages = ['a', '', 'b'].map((content, index) => ({
      role: index === 1 ? 'assistant' : 'user',
      content,
    }))
    expect(written({ messages })).toMatchObject({ Messages: [{ Role: 'user', Content: 'a\n\nb' }] })
  })

  test('has PascalCase keys, and schemas as texts', () => {
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Look' }, picture] },
      { role: 'assistant', content: null, tool_calls: [CALLED] },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    ]
    const figures = { max_tokens: 9, temperature: 1.5, top_p: 0.9, stop: 'END', seed: 7 }
    expect(written({ messages, tools: [tool('f')], ...figures, reasoning_effort: 'low' })).toEqual({
      Model: 'hunyuan-turbo',
      Messages: [
        { Role: 'system', Content: 'Be brief.' },
        {
          Role: 'user',
          Contents: [
            { Type: 'text', Text: 'Look' },
            { Type: 'image_url', ImageUrl: { Url: 'https://example.com/a.png' } },
          ],
        },
        {
          Role: 'assistant',
          Content: '',
          ToolCalls: [
            {
              Id: 'c1',
              Type: 'function',
              Index: 0,
              Function: { Name: 'f', Arguments: '{"city":"x"}' },
            },
          ],
        },
        { Role: 'tool', ToolCallId: 'c1', Content: 'sunny' },
      ],
      Stream: false,
      Tools: [WRITTEN_TOOL('f')],
      Temperature: 1.5,
      TopP: 0.9,
      Stop: ['END'],
      Seed: 7,
      EnableThinking: true,
    })
  })

  test.each<[unknown, JsonRecord]>([
    ['none', { ToolChoice: 'none' }],
    ['required', { ToolChoice: 'custom', CustomTool: WRITTEN_TOOL('f') }],
    [
      { type: 'function', function: { name: 'f' } },
      { ToolChoice: 'custom', CustomTool: WRITTEN_TOOL('f') },
    ],
  ])('tool_choice %j', (tool_choice, expected) => {
    expect(written({ tools: [tool('f')], tool_choice })).toMatchObject(expected)
  })

  test.each<[string, JsonRecord]>([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['seed', { seed: 0 }],
    ['seed', { seed: 10_001 }],
    ['presence_penalty', { presence_penalty: 1 }],
    ['frequency_penalty', { frequency_penalty: -1 }],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['tool_choice', { tools: [tool('f'), tool('g')], tool_choice: 'required' }],
    [
      'messages[0].content[0]',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
          },
        ],
      },
    ],
  ])('a strict call is refused by the name of what has no word: %s', (field, body) => {
    expect(() => written(body, true)).toThrow(expect.objectContaining({ params: { field } }))
  })
})

const Usage = { PromptTokens: 3, CompletionTokens: 5, TotalTokens: 8 }
const look = (answer: unknown) => readingOf(tencent, answer)

describe('a response', () => {
  test('is in Response, with reasoning and tool calls', () => {
    const Message = {
      Role: 'assistant',
      Content: 'Well.',
      ReasoningContent: 'Hm.',
      ToolCalls: [
        { Id: 'c1', Type: 'function', Function: { Name: 'f', Arguments: '{"CamelCase":1}' } },
      ],
    }
    const Choices = [{ FinishReason: 'tool_calls', Message }]
    const answer = { Response: { Id: 'h1', Choices, Usage, RequestId: 'r' } }
    expect(answerIn(tencent, answer)).toMatchObject({
      id: 'h1',
      choices: [
        {
          parts: [
            { kind: 'thinking', text: 'Hm.' },
            { kind: 'text', text: 'Well.' },
            { kind: 'toolCall', id: 'c1', name: 'f', argumentsJson: '{"CamelCase":1}' },
          ],
          finish: { reason: 'toolCalls' },
        },
      ],
      usage: { promptTokens: 3, completionTokens: 5 },
    })
  })

  test.each<[JsonRecord, string | null, number]>([
    [Usage, null, 0],
    [{ ...Usage, PromptTokensDetails: { CachedTokens: 2 } }, null, 2],
    [{ ...Usage, PromptTokens: -1 }, 'out-of-range', 0],
    [{ ...Usage, CompletionTokens: '5' }, 'not-integer', 0],
  ])('figures %j', (sent, fault, cached) => {
    const reading = look({ Response: { Choices: [], Usage: sent } })
    expect(reading).toMatchObject({ kind: 'ok', usage: { fault } })
    const usage = reading.kind === 'ok' ? reading.usage.usage : null
    expect(usage?.cachedTokens ?? 0).toBe(cached)
  })

  test.each([
    ['AuthFailure.SecretIdNotFound', 401],
    ['UnauthorizedOperation', 403],
    ['RequestLimitExceeded', 429],
    ['LimitExceeded', 429],
    ['FailedOperation.ResourcePackExhausted', 402],
    ['FailedOperation.EngineServerLimitExceeded', 429],
    ['FailedOperation.ServiceNotActivated', 403],
    ['InvalidParameterValue.Model', 404],
    ['InvalidParameter', 400],
    ['InternalError', 500],
    ['ResourceUnavailable', 503],
    ['SomethingElse', 502],
  ])('%s is a %i', (Code, status) => {
    const error = { status, code: Code, message: 'words', type: 'upstream_error' }
    expect(look({ Response: { Error: { Code, Message: 'words' }, RequestId: 'r' } })).toEqual({
      kind: 'error',
      error,
    })
  })
})

function stream(events: readonly unknown[]) {
  const { seen, outcome, usage: used } = streamIn(tencent, events)
  return { seen, outcome, used }
}

const event = (Delta: JsonRecord, FinishReason = '', over: JsonRecord = {}) => ({
  Id: 'h1',
  Choices: [{ Delta: { Role: 'assistant', Content: '', ...Delta }, FinishReason }],
  Usage,
  ...over,
})

describe('a stream', () => {
  test('ends with a finish reason, and has usage in every event', () => {
    const { seen, outcome, used } = stream([
      event({ ReasoningContent: 'Hm.' }),
      event({ Content: 'Hi' }),
      event({}, 'stop'),
    ])
    expect(seen).toEqual([
      { kind: 'start', id: 'h1' },
      { kind: 'thinking', choice: 0, text: 'Hm.' },
      { kind: 'text', choice: 0, text: 'Hi' },
      { kind: 'finish', choice: 0, finish: { reason: 'stop', stopSequence: null } },
    ])
    expect({ outcome, completion: used?.completionTokens }).toEqual({
      outcome: 'clean',
      completion: 5,
    })
  })

  test.each<[string, unknown[], string]>([
    ['held back', [event({ Content: 'Hi' }), event({}, 'sensitive')], 'clean'],
    ['cut', [event({ Content: 'Hi' })], 'truncated'],
    ['with a last word of others', [event({}, 'stop'), '[DONE]'], 'clean'],
    ['with that word only', ['[DONE]'], 'truncated'],
    ['with an error', [event({}), { ErrorMsg: { Msg: 'no', Code: 2001 } }], 'error-chunk'],
    ['with an empty error', [event({}, 'stop', { ErrorMsg: { Msg: '', Code: 0 } })], 'clean'],
    ['with rubbish', [event({}), 'rubbish'], 'malformed'],
  ])('%s', (_what, events, outcome) => {
    expect(stream(events).outcome).toBe(outcome)
  })
})
