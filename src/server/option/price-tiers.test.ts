import { describe, expect, test } from 'vitest'
import { defaultRatios } from './default-ratios.ts'
import { optionSpec } from './option.ts'
import { parsePriceTiers, tiersInForce } from './price-tiers.ts'

const spec = optionSpec('PriceTiers')

describe('the option of long-context prices', () => {
  test('accepts valid tiers and keeps the decimal text of each factor', () => {
    const text =
      '{"m":[{"above":100,"prompt":1.50,"completion":0.75},{"above":200,"prompt":3,"cache":0.5}]}'
    expect(spec.check(text)).toBeNull()
    expect(parsePriceTiers(text)).toEqual(
      new Map([
        [
          'm',
          [
            { above: 100, prompt: '1.50', completion: '0.75', cache: '1' },
            { above: 200, prompt: '3', completion: '1', cache: '0.5' },
          ],
        ],
      ]),
    )
  })

  test.each([
    '',
    '[]',
    'null',
    '5',
    '{"m":5}',
    '{"m":[]}',
    '{"m":[5]}',
    '{"m":[{"above":-1,"prompt":2}]}',
    '{"m":[{"above":1.5,"prompt":2}]}',
    '{"m":[{"above":"100","prompt":2}]}',
    '{"m":[{"above":100}]}',
    '{"m":[{"above":100,"prompt":-2}]}',
    '{"m":[{"above":100,"prompt":1e3}]}',
    '{"m":[{"above":100,"prompt":2000}]}',
    '{"m":[{"above":100,"prompt":2,"other":1}]}',
    '{"m":[{"above":100,"prompt":2,"cache":null}]}',
    '{"m":[{"above":200,"prompt":2},{"above":200,"prompt":3}]}',
    '{"":[{"above":200,"prompt":2}]}',
  ])('refuses %s', (text) => {
    expect(spec.check(text)).toMatchObject({ zh: expect.any(String), en: expect.any(String) })
  })

  test('its default applies, and its models have a price', () => {
    expect(spec.check(spec.default)).toBeNull()
    const tiers = tiersInForce(spec.default)
    expect(tiers.get('gpt-5.5')).toEqual([
      { above: 272_000, prompt: '2', completion: '0.75', cache: '1' },
    ])
    const unpriced = [...tiers.keys()].filter((entry) => {
      const model = entry.replace(/\(\d+\)$/, '')
      return !defaultRatios().ModelRatio.has(model)
    })
    expect(unpriced).toEqual([])
  })

  test('an operator’s entry keeps the built-in tiers of other models', () => {
    const tiers = tiersInForce(
      '{"gpt-5.5":[{"above":1,"prompt":1}],"own":[{"above":2,"prompt":2}]}',
    )
    expect(tiers.get('gpt-5.5')).toEqual([{ above: 1, prompt: '1', completion: '1', cache: '1' }])
    expect(tiers.get('own')).toHaveLength(1)
    expect(tiers.get('gemini-2.5-pro')).toHaveLength(1)
    const overruled = tiersInForce('{"qwen/qwen3-max":[{"above":1,"prompt":1}]}')
    expect(overruled.has('qwen/qwen3-max(41)')).toBe(false)
    expect(tiersInForce('nonsense').get('gpt-5.5')).toHaveLength(1)
  })
})

test.each([
  'ModelPrice',
  'AudioRatio',
  'PictureRatio',
  'ToolPrice',
  'ImageCompletionRatio',
] as const)('%s takes decimals and nothing else', (key) => {
  expect(optionSpec(key).check(optionSpec(key).default)).toBeNull()
  expect(optionSpec(key).check('{"m/hd/1024x1024": 0.002}')).toBeNull()
  for (const text of ['{"m":-1}', '{"m":"1"}', '{"m":1e999}', '[]', '{"m":1,"m":2}']) {
    expect(optionSpec(key).check(text)).not.toBeNull()
  }
})
