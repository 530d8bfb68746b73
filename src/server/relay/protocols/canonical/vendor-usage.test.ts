import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { joinedUsage, readAnthropicUsage, writeAnthropicUsage } from '../anthropic/usage.ts'
import { readGeminiUsage, writeGeminiUsage } from '../gemini/usage.ts'
import { readUsage } from '../openai-chat/usage.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import type { UpstreamName } from '../../../test/upstream-dialects.ts'
import type { TokenUsage, UsageReading } from './token-usage.ts'

const TOKENS_MAX = 1_000_000
const usage = (over: Partial<TokenUsage>): TokenUsage => ({
  promptTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  ...over,
})
const anthropic = (value: unknown) => readAnthropicUsage(value, TOKENS_MAX)
const gemini = (value: unknown) => readGeminiUsage(value, TOKENS_MAX)

describe('Anthropic: the cache is reported beside the input', () => {
  test.each<[string, object, Partial<TokenUsage>]>([
    // From the documentation of prompt caching.
    [
      'written and read',
      {
        input_tokens: 50,
        cache_read_input_tokens: 100_000,
        cache_creation_input_tokens: 248,
        output_tokens: 503,
      },
      {
        promptTokens: 100_298,
        cachedTokens: 100_000,
        cacheWriteTokens: 248,
        completionTokens: 503,
      },
    ],
    [
      'for minutes and for an hour',
      {
        input_tokens: 2048,
        cache_read_input_tokens: 1800,
        cache_creation_input_tokens: 248,
        output_tokens: 503,
        cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
      },
      {
        promptTokens: 4096,
        cachedTokens: 1800,
        cacheWriteTokens: 148,
        cacheWriteHourTokens: 100,
        completionTokens: 503,
      },
    ],
    [
      'thinking inside the output',
      { input_tokens: 9, output_tokens: 500, output_tokens_details: { thinking_tokens: 400 } },
      { promptTokens: 9, completionTokens: 500, reasoningTokens: 400 },
    ],
    [
      'searches that were made',
      { input_tokens: 9, output_tokens: 5, server_tool_use: { web_search_requests: 2 } },
      { promptTokens: 9, completionTokens: 5, extras: { tools: { web_search: 2 } } },
    ],
    [
      'a summary and advice, which the sums at the top leave out',
      {
        input_tokens: 9,
        output_tokens: 5,
        iterations: [
          {
            type: 'compaction',
            input_tokens: 1800,
            output_tokens: 35,
            cache_read_input_tokens: 100,
            cache_creation_input_tokens: 40,
            cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 30 },
          },
          { type: 'advisor_message', model: 'm', input_tokens: 82, output_tokens: 16 },
          { type: 'message', input_tokens: 9, output_tokens: 5 },
        ],
      },
      {
        promptTokens: 9 + 1940 + 82,
        cachedTokens: 100,
        cacheWriteTokens: 10,
        cacheWriteHourTokens: 30,
        completionTokens: 5 + 35 + 16,
      },
    ],
    [
      'nothing but nulls beside it',
      {
        input_tokens: 9,
        output_tokens: 5,
        iterations: null,
        cache_creation: null,
        cache_read_input_tokens: null,
      },
      { promptTokens: 9, completionTokens: 5 },
    ],
  ])('%s', (_what, sent, expected) => {
    expect(anthropic(sent)).toMatchObject({ usage: usage(expected), fault: null })
  })

  test('tokens both read and written add up to the prompt for clients', () => {
    const both = usage({
      promptTokens: 2168,
      cachedTokens: 2161,
      cacheWriteTokens: 2161,
      cacheOverlapTokens: 2161,
    })
    expect(writeAnthropicUsage(both)).toMatchObject({
      input_tokens: 7,
      cache_read_input_tokens: 2161,
      cache_creation_input_tokens: 0,
    })
  })

  // The compaction reads the cache, and the answer does not: recorded by pydantic-ai,
  // `anthropic_compaction_usage_with_cache_streaming`.
  test.each([
    ['read from', 'cache_read_input_tokens', { cachedTokens: 55_096 }],
    ['written to', 'cache_creation_input_tokens', { cacheWriteTokens: 55_096 }],
  ])('a compaction that has %s the cache counts once in a stream', (_how, name, cache) => {
    const zeros = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    const compaction = { input_tokens: 100, output_tokens: 83, ...zeros, [name]: 55_096 }
    const answer = { input_tokens: 181, output_tokens: 8, ...zeros }
    const begun = {
      ...compaction,
      output_tokens: 7,
      cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 55_096 },
    }
    const iterations = [
      { type: 'compaction', ...compaction },
      { type: 'message', ...answer },
    ]
    expect(anthropic(joinedUsage(begun, { ...answer, iterations })).usage).toEqual(
      usage({ promptTokens: 55_096 + 100 + 181, completionTokens: 83 + 8, ...cache }),
    )
  })

  test('reads cache writes for an hour from the iterations', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 40 }
    const answer = { input_tokens: 9, output_tokens: 8, cache_creation_input_tokens: 43 }
    const iterations = [{ type: 'message', ...answer, cache_creation }]
    expect(anthropic(joinedUsage({}, { ...answer, iterations })).usage).toEqual(
      usage({
        promptTokens: 52,
        cacheWriteTokens: 3,
        cacheWriteHourTokens: 40,
        completionTokens: 8,
      }),
    )
  })

  test.each<[unknown, string]>([
    [undefined, 'absent'],
    ['7', 'shape'],
    [{ output_tokens: 5 }, 'shape'],
    [{ input_tokens: -1, output_tokens: 5 }, 'out-of-range'],
    [{ input_tokens: 1.5, output_tokens: 5 }, 'not-integer'],
    [
      { input_tokens: 1, output_tokens: 1, iterations: [{ type: 'compaction', input_tokens: -1 }] },
      'out-of-range',
    ],
    [{ input_tokens: 0, output_tokens: 0 }, 'empty'],
    [{ input_tokens: 900_000, cache_read_input_tokens: 900_000, output_tokens: 1 }, 'out-of-range'],
    [
      {
        input_tokens: 1,
        output_tokens: 1,
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_1h_input_tokens: 9 },
      },
      'inconsistent',
    ],
  ])('%j is not believed: %s', (sent, fault) => {
    expect(anthropic(sent).fault).toBe(fault)
  })
})

describe('Gemini: the cache is part of the prompt, tools and reasoning are reported beside it', () => {
  test.each<[string, object, Partial<TokenUsage>]>([
    [
      'thoughts',
      {
        promptTokenCount: 12,
        candidatesTokenCount: 60,
        thoughtsTokenCount: 1200,
        totalTokenCount: 1272,
      },
      { promptTokens: 12, completionTokens: 1260, reasoningTokens: 1200 },
    ],
    [
      'a cached prompt',
      {
        promptTokenCount: 5000,
        cachedContentTokenCount: 4096,
        candidatesTokenCount: 7,
        totalTokenCount: 5007,
      },
      { promptTokens: 5000, cachedTokens: 4096, completionTokens: 7 },
    ],
    [
      'what tools gave it to read',
      {
        promptTokenCount: 20,
        toolUsePromptTokenCount: 300,
        candidatesTokenCount: 9,
        totalTokenCount: 329,
      },
      { promptTokens: 320, completionTokens: 9 },
    ],
    ['an embedding', { promptTokenCount: 6 }, { promptTokens: 6 }],
    [
      'speech, some of it cached',
      {
        promptTokenCount: 1000,
        cachedContentTokenCount: 500,
        candidatesTokenCount: 9,
        promptTokensDetails: [
          { modality: 'AUDIO', tokenCount: 800 },
          { modality: 'TEXT', tokenCount: 200 },
        ],
        cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 500 }],
      },
      {
        promptTokens: 1000,
        cachedTokens: 500,
        completionTokens: 9,
        extras: { audioPromptTokens: 300, audioCachedTokens: 500 },
      },
    ],
    [
      'a picture that was seen and one that was drawn',
      {
        promptTokenCount: 300,
        candidatesTokenCount: 1300,
        totalTokenCount: 1600,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 42 },
          { modality: 'IMAGE', tokenCount: 258 },
        ],
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
      },
      {
        promptTokens: 300,
        completionTokens: 1300,
        extras: { imagePromptTokens: 258, imageCompletionTokens: 1290 },
      },
    ],
  ])('%s', (_what, sent, expected) => {
    expect(gemini(sent)).toMatchObject({ usage: usage(expected), fault: null })
  })

  test.each<[unknown, string]>([
    [{ candidatesTokenCount: 5 }, 'shape'],
    [{ promptTokenCount: 5, cachedContentTokenCount: 6 }, 'inconsistent'],
    [{ promptTokenCount: 5, candidatesTokenCount: 6, totalTokenCount: 7 }, 'inconsistent'],
    [{ promptTokenCount: '5' }, 'not-integer'],
    [{ promptTokenCount: 5, thoughtsTokenCount: 2_000_000 }, 'out-of-range'],
  ])('%j is not believed: %s', (sent, fault) => {
    expect(gemini(sent).fault).toBe(fault)
  })
})

/**
 * Figures as each vendor documents them, which add up to the vendor's own total: what is cached
 * counts once, whether it stands inside the prompt or beside it. Recorded ones are played by
 * recorded-answers.test.ts.
 */
const chat = (sent: object) => ({ choices: [{ message: { content: 'a' } }], usage: sent })
test.each<[vendor: string, UpstreamName, answer: object, Partial<TokenUsage> & { total: number }]>([
  [
    'OpenAI, with a cache that was written',
    'openai',
    chat({
      prompt_tokens: 4020,
      completion_tokens: 4,
      total_tokens: 4024,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 4012 },
    }),
    { total: 4024, cacheWriteTokens: 4012 },
  ],
  [
    'Together and StepFun',
    'openai',
    chat({ prompt_tokens: 10, completion_tokens: 995, total_tokens: 1005, cached_tokens: 8 }),
    { total: 1005, cachedTokens: 8 },
  ],
  [
    'Alibaba',
    'openai',
    chat({
      prompt_tokens: 3019,
      completion_tokens: 104,
      total_tokens: 3123,
      prompt_tokens_details: {
        cached_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 2048 },
        cache_creation_input_tokens: 2048,
      },
    }),
    { total: 3123, cacheWriteTokens: 2048 },
  ],
  [
    'Perplexity, whose citations are beside the total',
    'openai',
    chat({
      prompt_tokens: 33,
      completion_tokens: 7163,
      total_tokens: 7196,
      citation_tokens: 20016,
      reasoning_tokens: 73997,
    }),
    { total: 7196 },
  ],
  [
    'Baidu',
    'baidu',
    { result: 'a', usage: { prompt_tokens: 7, completion_tokens: 67, total_tokens: 74 } },
    { total: 74 },
  ],
  [
    'Spark',
    'spark',
    {
      header: { code: 0, status: 2 },
      payload: {
        choices: { status: 2, text: [{ content: 'a' }] },
        usage: {
          text: { question_tokens: 4, prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 },
        },
      },
    },
    { total: 14 },
  ],
  [
    'Tencent',
    'tencent',
    {
      Response: {
        Choices: [{ Message: { Content: 'a' } }],
        Usage: { PromptTokens: 3, CompletionTokens: 11, TotalTokens: 14 },
      },
    },
    { total: 14 },
  ],
  [
    'Bedrock',
    'converse',
    {
      output: { message: { content: [{ text: 'a' }] } },
      usage: {
        inputTokens: 3,
        outputTokens: 121,
        cacheReadInputTokens: 1712,
        cacheWriteInputTokens: 236,
        totalTokens: 2072,
      },
    },
    { total: 2072, cachedTokens: 1712, cacheWriteTokens: 236 },
  ],
  [
    'Gemini, with tools and thoughts',
    'gemini',
    {
      candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 257,
        candidatesTokenCount: 170,
        thoughtsTokenCount: 773,
        toolUsePromptTokenCount: 1732,
        cachedContentTokenCount: 200,
        totalTokenCount: 2932,
      },
    },
    { total: 2932, cachedTokens: 200, reasoningTokens: 773 },
  ],
])('%s: the parts add up to the total', (_vendor, name, answer, { total, ...parts }) => {
  const bytes = Buffer.from(JSON.stringify(answer))
  const looked = upstreamDialects[name].readAnswer(bytes)
  const found = looked.kind === 'ok' ? looked.usage.usage : null
  expect(found).toMatchObject({
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    ...parts,
  })
  expect((found?.promptTokens ?? 0) + (found?.completionTokens ?? 0)).toBe(total)
})

const figure = fc.oneof(
  fc.nat({ max: 1000 }),
  fc.constantFrom(null, undefined, -1, 0.5, 'x', Number.NaN, 1e308, TOKENS_MAX),
)
const sentUsage = fc.record(
  {
    input_tokens: figure,
    output_tokens: figure,
    cache_read_input_tokens: figure,
    cache_creation_input_tokens: figure,
    cache_creation: fc.record({
      ephemeral_5m_input_tokens: figure,
      ephemeral_1h_input_tokens: figure,
    }),
    prompt_tokens: figure,
    completion_tokens: figure,
    total_tokens: figure,
    prompt_tokens_details: fc.record({ cached_tokens: figure, cache_write_tokens: figure }),
    completion_tokens_details: fc.record({ reasoning_tokens: figure }),
    promptTokenCount: figure,
    candidatesTokenCount: figure,
    thoughtsTokenCount: figure,
    toolUsePromptTokenCount: figure,
    cachedContentTokenCount: figure,
    totalTokenCount: figure,
  },
  { requiredKeys: [] },
)

test('for any input the parts are non-negative integers and fit into their sums', () => {
  const readers: ((value: unknown, max: number) => UsageReading)[] = [
    readUsage,
    readAnthropicUsage,
    readGeminiUsage,
  ]
  fc.assert(
    fc.property(fc.constantFrom(...readers), sentUsage, (read, sent) => {
      const { usage: found } = read(sent, TOKENS_MAX)
      if (found === null) return
      const { extras: _extras, ...figures } = found
      for (const value of Object.values(figures)) {
        expect(Number.isInteger(value) && value >= 0 && value <= TOKENS_MAX).toBe(true)
      }
      const { cachedTokens, cacheOverlapTokens = 0 } = found
      const written = found.cacheWriteTokens + found.cacheWriteHourTokens
      expect(cachedTokens + written - cacheOverlapTokens).toBeLessThanOrEqual(found.promptTokens)
      expect(found.reasoningTokens).toBeLessThanOrEqual(found.completionTokens)
    }),
    { numRuns: 2000 },
  )
})

test('reads what it has written in every dialect', () => {
  const part = fc.nat({ max: 100_000 })
  const parts = fc.tuple(fc.integer({ min: 1, max: 100_000 }), part, part, part, part, part)
  fc.assert(
    fc.property(parts, ([fresh, cached, minutes, hour, answer, thought]) => {
      const all = usage({
        promptTokens: fresh + cached + minutes + hour,
        cachedTokens: cached,
        cacheWriteTokens: minutes,
        cacheWriteHourTokens: hour,
        completionTokens: answer + thought,
        reasoningTokens: thought,
      })
      expect(anthropic(writeAnthropicUsage(all)).usage).toEqual(all)
      const ofGemini = usage({
        promptTokens: fresh + cached,
        cachedTokens: cached,
        completionTokens: answer + thought,
        reasoningTokens: thought,
      })
      expect(gemini(writeGeminiUsage(ofGemini)).usage).toEqual(ofGemini)
    }),
  )
})

test('distinguishes audio and images in Gemini’s dialect', () => {
  const extras = {
    audioPromptTokens: 20,
    imagePromptTokens: 5,
    audioCompletionTokens: 3,
    imageCompletionTokens: 10,
  }
  const all = usage({ promptTokens: 100, completionTokens: 30, extras })
  expect(gemini(writeGeminiUsage(all)).usage).toEqual(all)
})
