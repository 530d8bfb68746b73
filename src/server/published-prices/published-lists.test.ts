import { describe, expect, test } from 'vitest'
import { builtInPrices } from './built-in-prices.ts'
import { readPriceList } from './published-lists.ts'

const row = (
  name: string,
  model: string,
  [completion, cache, create]: (string | null)[] = [null, null, null],
) => ({
  name,
  model_ratio: model,
  completion_ratio: completion ?? null,
  cache_ratio: cache ?? null,
  create_cache_ratio: create ?? null,
})

describe('models.dev', () => {
  const cost = (input: number, output: number, more = {}) => ({ cost: { input, output, ...more } })

  test('dollars per million tokens become ratios', () => {
    const list = {
      anthropic: {
        id: 'anthropic',
        models: { 'claude-a': cost(3, 15, { cache_read: 0.3, cache_write: 3.75 }) },
      },
      deepseek: { models: { 'deepseek-b': cost(0.435, 0.87, { cache_read: 0.003625 }) } },
    }
    expect(readPriceList(list)).toEqual({
      rows: [
        row('claude-a', '1.5', ['5', '0.1', '1.25']),
        row('deepseek-b', '0.2175', ['2', '0.008333333333333']),
      ],
      leftOut: 0,
    })
  })

  test('a maker takes precedence over a host, and sellers of subscriptions are ignored', () => {
    const list = {
      'github-copilot': { models: { 'gpt-a': cost(0, 0), 'gpt-b': cost(0, 0) } },
      groq: { models: { 'gpt-a': cost(9, 9), 'llama-c': cost(0.6, 0.8) } },
      openai: { models: { 'gpt-a': cost(2, 8) } },
    }
    expect(readPriceList(list)?.rows).toEqual([
      row('gpt-a', '1', ['4']),
      row('llama-c', '0.3', ['1.333333333333']),
    ])
  })

  test('prices that ratios cannot express and missing prices are omitted', () => {
    const list = {
      openai: {
        models: {
          speech: cost(0, 12),
          negative: cost(-1, 1),
          free: cost(0, 0),
          'no cost': { id: 'no cost' },
          broken: { cost: { input: 'much' } },
        },
      },
    }
    expect(readPriceList(list)).toEqual({ rows: [row('free', '0')], leftOut: 3 })
  })
})

test('OpenRouter: texts, in dollars per token', () => {
  const list = {
    data: [
      {
        id: 'openai/gpt-4o',
        pricing: {
          prompt: '0.0000025',
          completion: '0.00001',
          input_cache_read: '0.00000125',
          request: '0',
        },
      },
      { id: 'openrouter/auto', pricing: { prompt: '-1', completion: '-1' } },
      { id: 'x/free:free', pricing: { prompt: '0', completion: '0' } },
    ],
  }
  expect(readPriceList(list)).toEqual({
    rows: [row('openai/gpt-4o', '1.25', ['4', '0.5']), row('x/free:free', '0')],
    leftOut: 1,
  })
})

test('LiteLLM: names without the seller, and only models billed by text tokens', () => {
  const chat = (input: number, output: number, more = {}) => ({
    mode: 'chat',
    input_cost_per_token: input,
    output_cost_per_token: output,
    ...more,
  })
  const list = {
    sample_spec: { mode: 'one of: chat, embedding', input_cost_per_token: 0 },
    'xai/grok-a': chat(2e-6, 6e-6, { litellm_provider: 'xai' }),
    'openrouter/openai/gpt-a': chat(2e-6, 8e-6, { litellm_provider: 'openrouter' }),
    'azure/gpt-a': chat(9e-6, 9e-6, { litellm_provider: 'azure' }),
    'gpt-a': chat(2e-6, 8e-6, { litellm_provider: 'openai', cache_read_input_token_cost: 5e-7 }),
    'dall-e': { mode: 'image_generation', input_cost_per_token: 1 },
    'text-embed': { mode: 'embedding', input_cost_per_token: 2e-8, output_cost_per_token: 0 },
  }
  expect(readPriceList(list)?.rows).toEqual([
    row('gpt-a', '1', ['4', '0.25']),
    row('text-embed', '0.01', ['0']),
    row('grok-a', '1', ['3']),
    row('openai/gpt-a', '1', ['4']),
  ])
})

describe('another gateway', () => {
  test('New API returns its models', () => {
    const list = {
      success: true,
      data: [
        {
          model_name: 'm',
          quota_type: 0,
          model_ratio: 1.25,
          completion_ratio: 4,
          cache_ratio: 0.5,
        },
        { model_name: 'by-call', quota_type: 1, model_price: 0.1, model_ratio: 0 },
      ],
    }
    expect(readPriceList(list)).toEqual({ rows: [row('m', '1.25', ['4', '0.5'])], leftOut: 1 })
  })

  test('New API returns its maps', () => {
    const data = { model_ratio: { m: 0.075 }, completion_ratio: { m: 4 }, cache_ratio: {} }
    expect(readPriceList({ success: true, data })?.rows).toEqual([row('m', '0.075', ['4'])])
  })

  test('Gatehouse returns its maps as texts', () => {
    const data = { model_ratio: '{"m":0.075}', completion_ratio: '{"m":4}', group_ratio: '{}' }
    expect(readPriceList({ success: true, data })?.rows).toEqual([row('m', '0.075', ['4'])])
  })
})

test.each([
  [null],
  [{}],
  [{ data: [] }],
  [{ data: {} }],
  [{ data: [null, 7, { id: 'x' }] }],
  [{ success: false, message: 'no' }],
  [{ openai: { models: [] } }],
  [{ openai: { models: { __proto__: null, x: null } } }],
])('%j is not a price list', (list) => {
  expect(readPriceList(list)).toBeNull()
})

test('the built-in prices are such a list', () => {
  const { rows } = builtInPrices()
  expect(rows.length).toBeGreaterThan(1000)
  expect(rows.find(({ name }) => name === 'gpt-4o')).toEqual(row('gpt-4o', '1.25', ['4', '0.5']))
  expect(rows.filter(({ completion_ratio: ratio }) => ratio === null)).toEqual([])
})
