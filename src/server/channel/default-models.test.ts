import { describe, expect, test } from 'vitest'
import { ChannelTypeNumber } from '../../contract/channel-type-number.ts'
import { defaultRatios } from '../option/default-ratios.ts'
import { defaultModels, defaultModelsByType } from './default-models.ts'

const allTypes: readonly number[] = Object.values(ChannelTypeNumber)

describe('defaultModels', () => {
  test('every type has models, except bots and the raw proxy', () => {
    for (const type of allTypes.filter((known) => known !== 34 && known !== 43)) {
      const models = defaultModels(type)
      expect(models?.length, `type ${type}`).toBeGreaterThan(0)
      expect(new Set(models).size, `type ${type}`).toBe(models?.length)
      // The channel stores them in a comma-separated list.
      for (const model of models ?? []) expect(model).toMatch(/^[^\s,]+$/)
    }
    expect(defaultModels(34)).toEqual([])
    expect(defaultModels(43)).toBeNull()
  })

  test('an unknown type has no models', () => {
    for (const type of [0, -1, 9999, 1.5, NaN]) expect(defaultModels(type)).toBeNull()
  })

  test('resellers and compatible services of OpenAI have OpenAI’s models', () => {
    for (const type of [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 21, 22, 50]) {
      expect(defaultModels(type)).toEqual(defaultModels(1))
    }
    expect(defaultModels(51)).toEqual(defaultModels(24))
    expect(defaultModels(52)).toEqual(defaultModels(14))
  })

  test('current names come before older ones', () => {
    const openai = defaultModels(1) ?? []
    expect(openai).toEqual(expect.arrayContaining(['gpt-6-sol', 'gpt-4o-mini', 'gpt-3.5-turbo']))
    expect(openai.indexOf('gpt-6-sol')).toBeLessThan(openai.indexOf('gpt-3.5-turbo'))
    expect(defaultModels(38)).toEqual(['deepl-zh', 'deepl-en', 'deepl-ja'])
    expect(defaultModels(36)).toEqual(
      expect.arrayContaining(['deepseek-flash', 'deepseek-v4-flash', 'deepseek-v4-pro']),
    )
  })

  test('Ark has only ids that it accepts, each with a price', () => {
    const models = defaultModels(40) ?? []
    expect(models.filter((model) => !/^[a-z\d-]+-\d{6}$/.test(model))).toEqual([])
    expect(models.filter((model) => !defaultRatios().ModelRatio.has(model))).toEqual([])
  })

  test('most default models have a price', () => {
    const { ModelRatio } = defaultRatios()
    const offered = [...new Set(Object.values(defaultModelsByType()).flatMap((list) => list ?? []))]
    const priced = offered.filter((model) => ModelRatio.has(model))
    expect(priced.length / offered.length).toBeGreaterThan(0.95)
  })
})

test('GET /api/models returns every type with its number as text', () => {
  const answer = defaultModelsByType()
  expect(Object.keys(answer)).toEqual(allTypes.map(String))
  expect(answer['34']).toEqual([])
  expect(answer['43']).toBeNull()
  expect(answer['1']).toContain('gpt-4o')
})
