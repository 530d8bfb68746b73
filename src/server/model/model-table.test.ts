import { expect, test } from 'vitest'
import {
  bundledModels,
  bundledOverrides,
  capabilitiesOf,
  meteringFigures,
  ModelTable,
} from './model-table.ts'
import { operatorEntriesIn } from './operator-entries.ts'

const table = (entries: object) =>
  new ModelTable(bundledModels(), operatorEntriesIn(JSON.stringify(entries)))

const efforts = (...values: string[]) => [{ type: 'effort', values }]

test('finds the exact model on any host and in any spelling', () => {
  for (const model of ['gpt-5.2', 'openai/gpt-5.2', 'gpt-5.2-2031-01-01']) {
    expect(capabilitiesOf({ model })).toMatchObject({
      maker: 'openai',
      temperature: false,
      reasoning_options: efforts('none', 'low', 'medium', 'high', 'xhigh'),
      limit: { output: 128_000 },
    })
  }
  const opus = capabilitiesOf({ model: 'claude-opus-4-7' })
  for (const model of ['anthropic/claude-opus-4.7', 'eu.anthropic.claude-opus-4-7']) {
    expect(capabilitiesOf({ model })).toEqual(opus)
  }
})

test('the channel’s vendor takes precedence over the model’s maker', () => {
  const options = (type?: number) =>
    capabilitiesOf({ model: 'qwen/qwen3-32b', type }).reasoning_options
  expect(options(49)).toContainEqual({ type: 'budget_tokens', max: 38_912 })
  expect(options(29)).toEqual(efforts('none', 'default'))
  expect(options(44)).toContainEqual({ type: 'budget_tokens', min: 128, max: 32_768 })
})

test('a model missing in the snapshot has the capabilities of its family', () => {
  expect(capabilitiesOf({ model: 'gpt-7-mini' })).toMatchObject({
    reasoning: true,
    temperature: false,
    tools_api: 'responses',
  })
  expect(capabilitiesOf({ model: 'our-claude-sonnet-4-5' }).reasoning_options).toEqual([
    { type: 'budget_tokens', min: 1024 },
  ])
  expect(capabilitiesOf({ model: 'glm-4-9b-0414' }).reasoning_options).toBeUndefined()
})

test.each(['my-model', '', '__proto__', 'constructor', '[', '*', 'a'.repeat(10_000)])(
  'nothing is known of "%s"',
  (model) => {
    expect(capabilitiesOf({ model })).toEqual({})
  },
)

test('the operator’s entries take precedence: exact names over patterns, a channel type over all', () => {
  const entries = {
    'acme-1': { limit: { output: 3000 } },
    'acme-*': { reasoning: true, limit: { output: 1000, context: 5000 } },
    'acme-1(50)': { limit: { output: 4000 } },
    'gpt-4o': { temperature: false },
  }
  const of = (model: string, type?: number) => table(entries).capabilitiesOf(model, type)
  expect(of('Acme-2').limit).toEqual({ output: 1000, context: 5000 })
  expect(of('acme-1')).toEqual({ reasoning: true, limit: { output: 3000, context: 5000 } })
  expect(of('acme-1', 50).limit?.output).toBe(4000)
  expect(of('gpt-4o')).toMatchObject({ temperature: false, limit: { output: 16_384 } })
  expect(of('another')).toEqual({})
})

test('an entry inherits from its base model, except for its own members', () => {
  const own = table({ 'house-model': { base_model: 'gpt-5.2', limit: { output: 9000 } } })
  expect(own.capabilitiesOf('house-model')).toMatchObject({
    temperature: false,
    limit: { output: 9000, context: 400_000 },
  })
})

test('a model without reasoning does not inherit reasoning options of its family', () => {
  const own = table({ 'gpt-5.2-plain': { reasoning: false } })
  expect(own.capabilitiesOf('gpt-5.2-plain').reasoning_options).toBeUndefined()
})

test('every override has a source and patterns that can match', () => {
  const { families, corrections } = bundledOverrides()
  for (const { match, source } of [...families, ...corrections]) {
    expect(source).not.toBe('')
    for (const pattern of match) expect(pattern).toMatch(/^[a-z0-9.*[\]-]+$/)
  }
})

test('a cached lookup costs less than a microsecond', () => {
  capabilitiesOf({ model: 'gpt-5.2', type: 1 })
  const before = process.threadCpuUsage()
  for (let call = 0; call < 100_000; call++) capabilitiesOf({ model: 'gpt-5.2', type: 1 })
  const { user, system } = process.threadCpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(1000)
})

/** Prices depend on these. */
test.each([
  ['gpt-4o-mini-tts', { tokenizer: 'o200k_base', speech_characters_max: 4096 }],
  ['gpt-4o-mini-tts', { speech_tokens: { per_character: 1.5, per_wide_character: 5 } }],
  ['tts-1', { speech_characters_max: 4096 }],
  ['qwen-tts-latest', { speech_tokens: { per_character: 3.6, per_wide_character: 12 } }],
  ['qwen3-tts-flash', { han_characters: 2 }],
  ['openai/gpt-4o-transcribe', { heard_tokens_per_second: 10 }],
  ['gpt-4o-search-preview-2025-03-11', { search_tool: 'web_search_preview' }],
  ['gpt-5-search-api', { search_tool: 'web_search' }],
  ['gemini-1.5-pro', { search_charge: 'answer', heard_tokens_per_second: 32 }],
  ['google/gemini-2.5-flash-image', { search_charge: 'answer', image_tokens: [[null, 1290]] }],
  [
    'gemini-3-pro-image',
    {
      image_tokens: [
        [1448, 1120],
        [2896, 1680],
        [null, 2520],
      ],
    },
  ],
  ['x-ai/grok-imagine-image', { image_resolutions: { '1k': '1024x1024' } }],
])('what a call of %s is measured by: %j', (model, figures) => {
  expect(meteringFigures(model)).toMatchObject(figures)
})

test.each(['gpt-4-turbo', 'whisper-1', 'gemini-3-pro', 'grok-4', 'claude-opus-5', 'bge-m3'])(
  '%s has no figures that are not its own',
  (model) => {
    const { search_charge, search_tool, han_characters, image_resolutions } = meteringFigures(model)
    expect([search_charge, search_tool, han_characters, image_resolutions]).toEqual(
      Array.from({ length: 4 }),
    )
  },
)

test('what a model is for', () => {
  const of = (model: string) => {
    const { embeds, writes_text, web_search } = capabilitiesOf({ model })
    return [embeds ?? false, writes_text ?? true, web_search ?? false]
  }
  expect(of('BAAI/bge-m3')).toEqual([true, true, false])
  expect(of('bge-reranker-v2-m3')).toEqual([false, false, false])
  expect(of('dall-e-3')).toEqual([false, false, false])
  expect(of('gemini-2.5-flash-preview-tts')).toEqual([false, true, true])
  expect(of('gemini-1.5-pro')).toEqual([false, true, false])
})

// A token may name as many models, and its owner may list them as often as they like.
test('thousands of unknown names take little time', () => {
  const unused = table({})
  const { user, system } = process.cpuUsage()
  for (let count = 0; count < 13_000; count += 1) unused.capabilitiesOf(`m${count.toString(36)}`)
  for (const name of ['a', '-', 'gpt-']) unused.capabilitiesOf(name.repeat(65_000 / name.length))
  const used = process.cpuUsage({ user, system })
  expect((used.user + used.system) / 1000).toBeLessThan(1500)
})
