import { expect, test } from 'vitest'
import { readSnapshot } from './snapshot.ts'
import { isReachedVendor } from './vendors.ts'

const read = (json: Record<string, unknown>) => readSnapshot(json, 'test', isReachedVendor)

test('a maker describes the model; hosts raise its limits and add differences', () => {
  const model = { reasoning: true, tool_call: true, limit: { context: 100, output: 10 } }
  const hosted = { ...model, tool_call: false, limit: { context: 200, output: 5 } }
  const list = { groq: { models: { 'acme/M.1': hosted } }, openai: { models: { 'm.1': model } } }
  expect(read(list)).toEqual({
    source: 'test',
    models: {
      'm.1': { reasoning: true, tool_call: true, limit: { context: 200, output: 10 } },
    },
    vendors: { groq: { 'm.1': { tool_call: false } } },
  })
})

test('a model inherits from its base model, without the omitted members', () => {
  const base = { reasoning: true, structured_output: true, limit: { context: 9, output: 5 } }
  const model = { base_model: 'a/b', base_model_omit: ['structured_output'], limit: { output: 7 } }
  const list = { providers: { openai: { models: { b: model } } }, models: { 'a/b': base } }
  expect(read(list)?.models).toEqual({ b: { reasoning: true, limit: { context: 9, output: 7 } } })
})

test('invalid members are omitted', () => {
  const odd = {
    reasoning: 'yes',
    reasoning_options: [{ type: 'other' }, null, { type: 'effort', values: ['low', 3] }],
    interleaved: { field: 'reasoning_details' },
    limit: { output: 'much', context: -1 },
    modalities: 'text',
  }
  expect(read({ openai: { models: { odd, none: null } } })?.models).toEqual({
    odd: { reasoning_options: [{ type: 'effort', values: ['low', '3'] }] },
  })
})

test.each([[{}], [{ openai: [] }], [{ data: [] }], [{ unknown: { models: { m: {} } } }]])(
  '%j is no snapshot',
  (list) => {
    expect(read(list)).toBeNull()
  },
)
