import { expect, test } from 'vitest'
import { bundledModels, bundledOverrides, capabilitiesOf, ModelTable } from './model-table.ts'
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
  const started = performance.now()
  for (let call = 0; call < 100_000; call++) capabilitiesOf({ model: 'gpt-5.2', type: 1 })
  expect(performance.now() - started).toBeLessThan(1000)
})
