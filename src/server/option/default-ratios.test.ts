import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  completedWith,
  completionRatio,
  completionRatioByName,
  defaultRatios,
  findRatio,
  ratioMapJson,
} from './default-ratios.ts'

const { ModelRatio, CompletionRatio, GroupRatio, CacheRatio } = defaultRatios()

describe('default ratios', () => {
  test('every ratio is plain decimal text of at most 15 digits, in range', () => {
    const isSound = (ratio: string) =>
      /^(0|[1-9]\d*)(\.\d+)?$/.test(ratio) &&
      ratio.replace('.', '').replace(/^0+/, '').length <= 15 &&
      Number(ratio) <= 2000
    for (const ratios of Object.values(defaultRatios())) {
      expect([...ratios].filter(([, ratio]) => !isSound(ratio))).toEqual([])
      expect(ratios.size).toBeGreaterThan(0)
    }
  })

  test('charge what the recorded server charged', () => {
    const rows = recordedConsumption().filter((row) => ModelRatio.has(row.model_name))
    expect(new Set(rows.map((row) => row.model_name))).toEqual(
      new Set(['gpt-3.5-turbo', 'gpt-4o-mini']),
    )
    for (const row of rows) {
      const model = Number(ModelRatio.get(row.model_name))
      const completion = Number(completionRatio(CompletionRatio, row.model_name, 1))
      const factors = [model, 1, completion].map((factor) => factor.toFixed(2)).join(' × ')
      expect(row.content).toBe(`倍率：${factors}`)
      expect(row.quota).toBe(
        Math.ceil((row.prompt_tokens + row.completion_tokens * completion) * model),
      )
    }
  })

  test.each([
    ['gpt-4o', '1.25', '4'],
    ['o3-mini', '0.55', '4'],
    ['claude-opus-4-5', '2.5', '5'],
    ['gemini-2.5-pro', '0.625', '8'],
    ['gpt-6-sol', '1', '5'],
    ['deepseek-chat', '0.07', '2'],
    ['text-embedding-3-small', '0.01', '1'],
    ['deepseek-ai/DeepSeek-R1', '0.8', '1'],
    ['gpt-3.5-turbo-0613', '0.75', '1.33333333333333'],
    ['whisper-1', '3', '0'],
    ['glm-asr-2512', '4.28571', '0'],
    ['dall-e-3', '20', '1'],
    ['dall-e-2', '8', '1'],
  ])('%s costs %s, completions %s times that', (model, ratio, completion) => {
    expect(findRatio(ModelRatio, model, 1)).toBe(ratio)
    expect(completionRatio(CompletionRatio, model, 1)).toBe(completion)
  })

  test('all default groups have the same ratio', () => {
    expect([...GroupRatio]).toEqual([
      ['default', '1'],
      ['svip', '1'],
      ['vip', '1'],
    ])
    expect(ratioMapJson(GroupRatio)).toBe('{"default":1,"svip":1,"vip":1}')
  })

  test('a cached prompt never costs more than a fresh one', () => {
    expect([...CacheRatio].filter(([, ratio]) => Number(ratio) > 1)).toEqual([])
    expect(CacheRatio.get('gpt-4o')).toBe('0.5')
  })

  test('only free models have a ratio of 0; models without a known price have no ratio', () => {
    const unpriced = ['openrouter/auto', 'sora-2', 'rerank-v3.5', 'step-1x-medium']
    expect(unpriced.filter((model) => ModelRatio.has(model))).toEqual([])
    const notByToken = ['dall-e-2', 'dall-e-3', 'whisper-large-v3', 'wanx-v1']
    expect(notByToken.filter((model) => !(Number(ModelRatio.get(model)) > 0))).toEqual([])
    expect(ModelRatio.get('glm-4-flash')).toBe('0')
  })

  test('the JSON text keeps the decimal text of each ratio', () => {
    const text = ratioMapJson(
      new Map([
        ['a', '2.50'],
        ['say "b"', '0.1000000000001'],
      ]),
    )
    expect(text).toBe('{"a":2.50,"say \\"b\\"":0.1000000000001}')
    expect(Object.keys(JSON.parse(ratioMapJson(ModelRatio)))).toHaveLength(ModelRatio.size)
  })
})

describe('findRatio', () => {
  const ratios = new Map([
    ['llama', '1'],
    ['llama(33)', '2'],
    ['qwen-max', '3'],
    ['qwen-max(49)', '4'],
    ['other-internet', '5'],
  ])

  test.each([
    ['llama', 1, '1'],
    ['llama', 33, '2'],
    ['llama(33)', 1, '2'],
    ['qwen-max-internet', 17, '3'],
    ['qwen-max-internet', 49, '4'],
    ['other-internet', 1, '5'],
    ['other', 1, undefined],
    ['Llama', 1, undefined],
    ['', 1, undefined],
    ['constructor', 1, undefined],
    ['__proto__', 1, undefined],
    ['toString', 1, undefined],
  ])('%s on type %i', (model, type, expected) => {
    expect(findRatio(ratios, model, type)).toBe(expected)
  })

  test('an unknown name has no price', () => {
    for (const model of ['constructor', '__proto__', 'hasOwnProperty', 'gpt-9-unheard-of']) {
      expect(findRatio(ModelRatio, model, 1)).toBeUndefined()
    }
  })

  test('an entry for a channel type takes precedence over the general one', () => {
    expect(findRatio(ModelRatio, 'llama3-8b-8192', 33)).toBe('0.15')
    expect(completionRatio(CompletionRatio, 'llama3-8b-8192', 33)).toBe('2')
  })
})

test('an operator’s entry applies to every channel type and to no other name', () => {
  const builtIn = new Map([
    ['a', '1'],
    ['a(20)', '2'],
    ['b', '3'],
    ['b(20)', '4'],
    ['c(20)', '5'],
  ])
  const own = new Map([
    ['a', '6'],
    ['b(20)', '7'],
  ])
  expect(Object.fromEntries(completedWith(own, builtIn))).toEqual({
    a: '6',
    b: '3',
    'b(20)': '7',
    'c(20)': '5',
  })
})

describe('completionRatioByName', () => {
  test.each([
    ['gpt-3.5-turbo', '3'],
    ['gpt-3.5-turbo-0125', '3'],
    ['gpt-3.5-turbo-1106', '2'],
    ['gpt-3.5-turbo-16k', '1.33333333333333'],
    ['gpt-3.5-turbo-instruct', '1.33333333333333'],
    ['gpt-4o-2024-05-13', '3'],
    ['gpt-4o', '4'],
    ['gpt-4o-mini', '4'],
    ['gpt-4-turbo', '3'],
    ['gpt-4-turbo-2024-04-09', '3'],
    ['gpt-4-1106-preview', '3'],
    ['gpt-4-vision-preview', '3'],
    ['gpt-4', '2'],
    ['gpt-4-32k', '2'],
    ['gpt-4-0613', '2'],
    ['o1', '4'],
    ['o1-mini', '4'],
    ['chatgpt-4o-latest', '3'],
    ['claude-3-opus-20240229', '5'],
    ['claude-2.1', '3'],
    ['claude-instant-1.2', '3'],
    ['mistral-large-latest', '3'],
    ['gemini-1.5-pro', '3'],
    ['deepseek-chat', '2'],
    ['llama2-70b-4096', '1.25'],
    ['llama3-8b-8192', '2'],
    ['llama3-70b-8192', '1.339'],
    ['command', '2'],
    ['command-light', '2'],
    ['command-nightly', '2'],
    ['command-light-nightly', '2'],
    ['command-r', '3'],
    ['command-r-plus', '5'],
    ['command-r-internet', '3'],
    ['grok-beta', '3'],
    ['meta/llama-2-13b-chat', '5'],
    ['meta/llama-2-7b', '5'],
    ['meta/meta-llama-3-8b-instruct', '5'],
    ['meta/llama-2-70b-chat', '4.23076923076923'],
    ['meta/meta-llama-3-70b', '4.23076923076923'],
    ['meta/meta-llama-3.1-405b-instruct', '1'],
    ['mistralai/mistral-7b-v0.1', '5'],
    ['mistralai/mistral-7b-instruct-v0.2', '5'],
    ['mistralai/mixtral-8x7b-instruct-v0.1', '3.33333333333333'],
    ['ibm-granite/granite-3.0-2b-instruct', '8.33333333333333'],
    ['ibm-granite/granite-3.0-8b-instruct', '5'],
    ['ibm-granite/granite-20b-code-instruct-8k', '5'],
    ['ibm-granite/granite-8b-code-instruct-128k', '5'],
    ['openai/gpt-4o', '4'],
    ['anthropic/claude-3-opus', '5'],
    ['o3-mini', '1'],
    ['glm-4', '1'],
    ['qwen-max', '1'],
    ['my-gpt-4', '1'],
    ['command-x', '1'],
    ['constructor', '1'],
    ['', '1'],
  ])('%s: %s', (model, ratio) => {
    expect(completionRatioByName(model)).toBe(ratio)
  })
})

interface ConsumptionRow {
  model_name: string
  quota: number
  prompt_tokens: number
  completion_tokens: number
  content: string
}

/** The recorded server's log rows, but for those made while the operator had set ratios by hand. */
function recordedConsumption(): ConsumptionRow[] {
  const file = new URL('../../../fixtures/recordings/relay.json', import.meta.url)
  // The recordings are our own fixture with this shape; only some steps have rows in `data`.
  const { steps } = JSON.parse(readFileSync(file, 'utf8')) as {
    steps: { answer: { body: { data?: unknown } | null } }[]
  }
  const isRow = (row: unknown): row is ConsumptionRow =>
    typeof row === 'object' && row !== null && 'completion_tokens' in row
  return steps
    .flatMap((step) => (Array.isArray(step.answer.body?.data) ? step.answer.body.data : []))
    .filter(isRow)
    .filter((row) => !row.content.startsWith('倍率：1.00'))
}
