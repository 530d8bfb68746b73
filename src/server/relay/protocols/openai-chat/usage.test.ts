import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readUsage, usageOfChunk, writeCompletionDetails, writePromptDetails } from './usage.ts'
import type { TokenUsage, UsageFault } from '../canonical/token-usage.ts'

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
const read = (value: unknown) => readUsage(value, TOKENS_MAX)

describe('vendors’ names of the figures', () => {
  const cases: [string, object, Partial<TokenUsage>][] = [
    [
      'OpenAI chat',
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 64, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 0 },
      },
      { promptTokens: 100, cachedTokens: 64, completionTokens: 50, reasoningTokens: 20 },
    ],
    [
      'input and output spelling',
      {
        input_tokens: 9,
        output_tokens: 4,
        total_tokens: 13,
        input_tokens_details: { cached_tokens: 8 },
        output_tokens_details: { reasoning_tokens: 3 },
      },
      { promptTokens: 9, cachedTokens: 8, completionTokens: 4, reasoningTokens: 3 },
    ],
    ['embeddings', { prompt_tokens: 6, total_tokens: 6 }, { promptTokens: 6 }],
    [
      'DeepSeek',
      {
        prompt_tokens: 30,
        completion_tokens: 5,
        total_tokens: 35,
        prompt_cache_hit_tokens: 20,
        prompt_cache_miss_tokens: 10,
      },
      { promptTokens: 30, cachedTokens: 20, completionTokens: 5 },
    ],
    [
      'Moonshot',
      { prompt_tokens: 30, completion_tokens: 5, total_tokens: 35, cached_tokens: 12 },
      { promptTokens: 30, cachedTokens: 12, completionTokens: 5 },
    ],
    [
      'Qwen with an explicit cache',
      {
        prompt_tokens: 3_000,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 2_048 },
      },
      { promptTokens: 3_000, cacheWriteTokens: 2_048, completionTokens: 5 },
    ],
    [
      'LiteLLM with Claude’s cache',
      {
        prompt_tokens: 100,
        completion_tokens: 20,
        prompt_tokens_details: {
          cached_tokens: 40,
          cache_creation_tokens: 30,
          cache_creation_token_details: { ephemeral_1h_input_tokens: 10 },
        },
        cache_creation_input_tokens: 30,
      },
      {
        promptTokens: 100,
        cachedTokens: 40,
        cacheWriteTokens: 20,
        cacheWriteHourTokens: 10,
        completionTokens: 20,
      },
    ],
    [
      'New API with Claude’s cache',
      {
        prompt_tokens: 100,
        completion_tokens: 20,
        prompt_tokens_details: { cached_creation_tokens: 30 },
        claude_cache_creation_5_m_tokens: 20,
        claude_cache_creation_1_h_tokens: 10,
      },
      { promptTokens: 100, cacheWriteTokens: 20, cacheWriteHourTokens: 10, completionTokens: 20 },
    ],
    [
      'a cache written for an hour, and nothing said of the whole',
      { prompt_tokens: 9, completion_tokens: 2, claude_cache_creation_1_h_tokens: 5 },
      { promptTokens: 9, cacheWriteHourTokens: 5, completionTokens: 2 },
    ],
    [
      'without a total',
      { prompt_tokens: 1, completion_tokens: 2 },
      { promptTokens: 1, completionTokens: 2 },
    ],
    [
      'a total of zero, which means none',
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 0 },
      { promptTokens: 1, completionTokens: 2 },
    ],
    [
      'without a completion',
      { prompt_tokens: 1, total_tokens: 8 },
      { promptTokens: 1, completionTokens: 7 },
    ],
    [
      'null details',
      {
        prompt_tokens: 1,
        completion_tokens: 2,
        prompt_tokens_details: null,
        completion_tokens_details: { reasoning_tokens: null },
      },
      { promptTokens: 1, completionTokens: 2 },
    ],
  ]
  test.each(cases)('%s', (_, value, expected) => {
    expect(read(value)).toEqual({ usage: usage(expected), fault: null, notes: [] })
  })
})

describe('figures that need interpretation', () => {
  test('xAI: the total includes reasoning that the completion excludes', () => {
    expect(
      read({
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 115,
        completion_tokens_details: { reasoning_tokens: 100 },
      }),
    ).toEqual({
      usage: usage({ promptTokens: 10, completionTokens: 105, reasoningTokens: 100 }),
      fault: null,
      notes: ['completion-from-total'],
    })
  })

  test('more cached than prompt: the prompt was reported without its cache', () => {
    const expected = usage({ promptTokens: 110, cachedTokens: 100, completionTokens: 5 })
    const value = {
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 100 },
    }
    for (const total of [undefined, 15, 115]) {
      const reading = read({ ...value, total_tokens: total })
      expect(reading).toEqual({ usage: expected, fault: null, notes: ['cache-exclusive'] })
    }
  })

  test('a total that exceeds its parts by exactly the cache means the same', () => {
    expect(
      read({ prompt_tokens: 50, completion_tokens: 5, total_tokens: 75, cached_tokens: 20 }),
    ).toEqual({
      usage: usage({ promptTokens: 70, cachedTokens: 20, completionTokens: 5 }),
      fault: null,
      notes: ['cache-exclusive'],
    })
  })

  test('OpenRouter: tokens both read and written count once in the prompt, as the total shows', () => {
    const sent = {
      prompt_tokens: 2168,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 2161, cache_write_tokens: 2161 },
    }
    const parts = { cachedTokens: 2161, cacheWriteTokens: 2161, completionTokens: 100 }
    expect(read({ ...sent, total_tokens: 2268 })).toEqual({
      usage: usage({ promptTokens: 2168, cacheOverlapTokens: 2161, ...parts }),
      fault: null,
      notes: ['cache-overlap'],
    })
    // Without a total, or with one that covers both, the prompt was reported without its cache.
    for (const total_tokens of [undefined, 2168 + 2 * 2161 + 100]) {
      expect(read({ ...sent, total_tokens })).toEqual({
        usage: usage({ promptTokens: 2168 + 2 * 2161, ...parts }),
        fault: null,
        notes: ['cache-exclusive'],
      })
    }
  })

  test('more reasoning than completion is cut down to it', () => {
    const reading = read({
      prompt_tokens: 1,
      completion_tokens: 5,
      total_tokens: 6,
      completion_tokens_details: { reasoning_tokens: 9 },
    })
    expect(reading.usage?.reasoningTokens).toBe(5)
    expect(reading.notes).toEqual(['reasoning-clamped'])
  })

  test('a total alone counts as the prompt, as for rerankers', () => {
    expect(read({ total_tokens: 31 })).toEqual({
      usage: usage({ promptTokens: 31 }),
      fault: null,
      notes: ['prompt-from-total'],
    })
  })

  test('a completion without a prompt is noted', () => {
    expect(read({ prompt_tokens: 0, completion_tokens: 5 }).notes).toEqual(['prompt-zero'])
  })
})

/** Each of these would be free or absurdly expensive if it were accepted. */
describe('refused, so that the caller counts', () => {
  const fine = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const cases: [string, unknown, UsageFault][] = [
    ['nothing', undefined, 'absent'],
    ['null', null, 'absent'],
    ['text', 'lots', 'shape'],
    ['an array', [1, 2], 'shape'],
    ['an empty object', {}, 'shape'],
    ['a duration instead of tokens', { type: 'duration', seconds: 7 }, 'shape'],
    ['a completion alone', { completion_tokens: 5 }, 'shape'],
    ['a negative prompt', { ...fine, prompt_tokens: -10 }, 'out-of-range'],
    ['a negative completion', { ...fine, completion_tokens: -1 }, 'out-of-range'],
    ['a fraction', { ...fine, completion_tokens: 5.5 }, 'not-integer'],
    ['text for a number', { ...fine, prompt_tokens: '10' }, 'not-integer'],
    ['the text NaN', { ...fine, prompt_tokens: 'NaN' }, 'not-integer'],
    ['an object for a number', { ...fine, prompt_tokens: { n: 1 } }, 'not-integer'],
    ['true for a number', { ...fine, prompt_tokens: true }, 'not-integer'],
    ['1e308', JSON.parse('{"prompt_tokens":1e308,"completion_tokens":1}'), 'out-of-range'],
    ['1e400, which parses to Infinity', JSON.parse('{"prompt_tokens":1e400}'), 'not-integer'],
    ['2^53', { ...fine, completion_tokens: 2 ** 53 }, 'out-of-range'],
    [
      'one above the bound',
      { ...fine, total_tokens: null, prompt_tokens: TOKENS_MAX + 1 },
      'out-of-range',
    ],
    [
      'a total beyond the bound',
      { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2e6 },
      'out-of-range',
    ],
    ['a total below its parts', { ...fine, total_tokens: 14 }, 'inconsistent'],
    ['a total below the prompt', { prompt_tokens: 9, total_tokens: 8 }, 'inconsistent'],
    [
      'a negative detail',
      { ...fine, prompt_tokens_details: { cached_tokens: -1 } },
      'out-of-range',
    ],
    [
      'a detail as text',
      { ...fine, completion_tokens_details: { reasoning_tokens: '1' } },
      'not-integer',
    ],
    ['zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, 'empty'],
  ]
  test.each(cases)('%s', (_, value, fault) => {
    expect(read(value)).toMatchObject({ usage: null, fault })
  })
})

test('accepts only whole, bounded and consistent figures', () => {
  const figure = fc.oneof(
    fc.integer({ min: -2, max: 40 }),
    fc.constantFrom(undefined, null, TOKENS_MAX, TOKENS_MAX + 1, 0.5, '3', 1e300),
  )
  const value = fc.record({
    prompt_tokens: figure,
    completion_tokens: figure,
    total_tokens: figure,
    cached_tokens: figure,
    prompt_tokens_details: fc.option(
      fc.record({
        cache_write_tokens: figure,
        cache_creation: fc.option(fc.record({ ephemeral_1h_input_tokens: figure })),
      }),
    ),
    completion_tokens_details: fc.option(fc.record({ reasoning_tokens: figure })),
  })
  fc.assert(
    fc.property(fc.oneof(value, fc.jsonValue()), (sent) => {
      const reading = read(sent)
      if (reading.usage === null) return
      for (const tokens of Object.values(reading.usage)) {
        expect(Number.isInteger(tokens) && tokens >= 0 && tokens <= TOKENS_MAX).toBe(true)
      }
      const { promptTokens, cachedTokens, cacheWriteTokens, cacheWriteHourTokens } = reading.usage
      const written =
        cacheWriteTokens + cacheWriteHourTokens - (reading.usage.cacheOverlapTokens ?? 0)
      expect(written).toBeGreaterThanOrEqual(0)
      expect(cachedTokens + written).toBeLessThanOrEqual(promptTokens)
      expect(reading.usage.reasoningTokens).toBeLessThanOrEqual(reading.usage.completionTokens)
    }),
    { numRuns: 5_000 },
  )
})

test('reads the parts of the usage that it has written', () => {
  const tokens = fc.nat({ max: 50 })
  const part = fc.integer({ min: 1, max: 50 })
  const parts = fc.record({ read: tokens, minutes: tokens, hour: tokens, thought: tokens })
  const extras = fc.record(
    {
      audioPromptTokens: part,
      imagePromptTokens: part,
      audioCompletionTokens: part,
      imageCompletionTokens: part,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(parts, extras, ({ read: cachedTokens, minutes, hour, thought }, sent) => {
      const used = usage({
        promptTokens: 300,
        cachedTokens,
        cacheWriteTokens: minutes,
        cacheWriteHourTokens: hour,
        completionTokens: 200,
        reasoningTokens: thought,
        ...(Object.keys(sent).length === 0 ? {} : { extras: sent }),
      })
      const told = {
        prompt_tokens: 300,
        completion_tokens: 200,
        prompt_tokens_details: writePromptDetails(used),
        completion_tokens_details: writeCompletionDetails(used),
      }
      expect(read(told).usage).toEqual(used)
    }),
  )
})

describe('usageOfChunk', () => {
  const sent = { prompt_tokens: 1 }
  test.each([
    ['beside the choices', { choices: [], usage: sent }, sent],
    ['Groq’s', { choices: [{}], usage: null, x_groq: { id: 'x', usage: sent } }, sent],
    ['Moonshot’s, in the first choice', { choices: [{ index: 0, usage: sent }] }, sent],
    ['none', { choices: [{ index: 0 }], usage: null }, undefined],
    ['none, with odd choices', { choices: 'x', x_groq: 1 }, undefined],
    ['no object, which readUsage then refuses', { usage: 'lots' }, 'lots'],
  ])('%s', (_, chunk, expected) => {
    expect(usageOfChunk(chunk)).toEqual(expected)
  })
})
