import { describe, expect, test } from 'vitest'
import { decimalText, fixedText } from '../../../contract/decimal.ts'
import { cutToRatio, divided, readDecimal, readJsonNumber } from './decimal.ts'
import {
  figureOf,
  modelPrices,
  type PriceContext,
  type PriceField,
  type PriceTexts,
  withoutModel,
  withPrice,
} from './model-price.ts'
import {
  overSavedRatios,
  readableRatios,
  readRatioText,
  sentRatios,
  withRatio,
} from './ratio-text.ts'

const decimal = (text: string) => {
  const value = readDecimal(text)
  if (value === null) throw new Error(`not a decimal: ${text}`)
  return value
}

describe('decimals', () => {
  test.each([
    ['0.1', '0.1'],
    ['1.2500', '1.25'],
    ['.5', '0.5'],
    ['3.', '3'],
    ['$1,250.00', '1250'],
    ['12,345,678', '12345678'],
    ['0.000000000000000001', '0.000000000000000001'],
  ])('%s is %s', (text, expected) => {
    expect(decimalText(decimal(text))).toBe(expected)
  })

  test.each(['', '.', '-1', '1e3', 'abc', '1.2.3', '１２', 'NaN'])('%j is invalid', (text) => {
    expect(readDecimal(text)).toBeNull()
  })

  test.each(['0,5', '1,5', '0,075', '1,25', '1250,000', '1,,000', ',5'])(
    '%j is invalid: the comma may be a decimal one',
    (text) => {
      expect(readDecimal(text)).toBeNull()
    },
  )

  test.each([
    ['1e3', '1000'],
    ['7.5e-2', '0.075'],
    ['1.5E+1', '15'],
    ['0.10', '0.1'],
  ])('in JSON, %s is %s', (source, expected) => {
    const value = readJsonNumber(source)
    expect(value === null ? null : decimalText(value)).toBe(expected)
  })

  test.each([
    ['1', '3', '0.333333333333333', false],
    ['2', '3', '0.666666666666666', false],
    ['0.7', '0.2', '3.5', true],
    ['1000000', '7', '142857.142857142', false],
  ])('%s / %s is cut, never rounded up', (a, b, expected, isExact) => {
    const quotient = divided(decimal(a), decimal(b))
    expect(quotient && decimalText(quotient.value)).toBe(expected)
    expect(quotient?.isExact).toBe(isExact)
  })

  test('division by zero has no result', () => {
    expect(divided(decimal('1'), decimal('0'))).toBeNull()
  })

  test('cuts digits beyond what the server stores', () => {
    expect(decimalText(cutToRatio(decimal('0.12345678901234567')).value)).toBe('0.123456789012345')
  })

  test.each([
    ['0.66666666', 4, '0.6667'],
    ['0.00005', 4, '0.0001'],
    ['0.00004999', 4, '0.0000'],
    ['15', 4, '15.0000'],
    ['2.5', 0, '3'],
  ])('%s with %d places is %s', (text, places, expected) => {
    expect(fixedText(decimal(text), places)).toBe(expected)
  })
})

describe('ratio texts', () => {
  test('keep their spelling in both directions', () => {
    const text = '{"a":1.250,"b\\"c":0.075,"d":7.5e-2}'
    expect(readableRatios(text)).toBe('{\n  "a": 1.250,\n  "b\\"c": 0.075,\n  "d": 0.075\n}')
    expect(sentRatios(readableRatios(text))).toBe('{"a":1.250,"b\\"c":0.075,"d":0.075}')
  })

  test.each(['', '[]', 'null', '{"a":"1"}', '{"a":-1}', '{"a":{"b":1}}', '{"a":1'])(
    '%j is invalid',
    (text) => {
      expect(readRatioText(text)).toBeNull()
      expect(withRatio(text, 'b', '1')).toBe(text)
    },
  )

  test('detects repeated names and keeps them', () => {
    const text = '{"a":1,"a":2}'
    expect(readRatioText(text)).toEqual({ ratios: new Map([['a', '2']]), repeated: ['a'] })
    expect(readableRatios(text)).toBe(text)
    expect(sentRatios(text)).toBe(text)
  })

  test('names of object properties are ordinary names', () => {
    expect(readRatioText('{"__proto__":1,"constructor":2}')?.ratios).toEqual(
      new Map([
        ['__proto__', '1'],
        ['constructor', '2'],
      ]),
    )
  })
})

/** Only the texts apply. */
const ALONE: PriceContext = { builtIn: new Map(), hasDefault: false, unpriced: [] }

describe('model prices', () => {
  const texts: PriceTexts = { model: '{"a":1.5,"b":0}', completion: '{"a":3,"c":2}', cache: '{}' }
  const figures = (from: PriceTexts, name: string) => {
    const row = modelPrices(from, ALONE)?.find((one) => one.name === name)
    const fields: PriceField[] = ['model', 'promptPrice', 'completion', 'completionPrice', 'cache']
    return row === undefined ? null : fields.map((field) => figureOf(row, field))
  }
  const set = (name: string, field: PriceField, text: string) => {
    const edit = withPrice(texts, name, { field, text })
    return edit.texts === undefined ? edit.problem : figures(edit.texts, name)
  }

  test('a row has ratios and prices', () => {
    expect(figures(texts, 'a')).toEqual(['1.5', '3', '3', '9', ''])
    expect(figures(texts, 'c')).toEqual(['', '', '2', '', ''])
  })

  test.each<[PriceField, string, string[]]>([
    ['model', '2', ['2', '4', '3', '12', '']],
    ['promptPrice', '0.15', ['0.075', '0.15', '3', '0.45', '']],
    ['completion', '4', ['1.5', '3', '4', '12', '']],
    ['completionPrice', '4.5', ['1.5', '3', '1.5', '4.5', '']],
    ['cache', '0.1', ['1.5', '3', '3', '9', '0.1']],
    ['completion', '', ['1.5', '3', '', '', '']],
  ])('%s set to %j', (field, text, expected) => {
    expect(set('a', field, text)).toEqual(expected)
  })

  test('a ratio without an exact decimal is cut and reported', () => {
    const edit = withPrice(texts, 'a', { field: 'completionPrice', text: '1' })
    expect(edit).toMatchObject({ isCut: true })
    expect(edit.texts && figures(edit.texts, 'a')?.[2]).toBe('0.333333333333333')
  })

  test.each<[string, PriceField, string, string]>([
    ['a', 'model', '-1', '需要 0 到 1000000 之间的数，例如 1.25'],
    ['a', 'model', '1000000.1', '需要 0 到 1000000 之间的数，例如 1.25'],
    ['a', 'promptPrice', 'x', '需要 0 到 1000000 之间的数，例如 1.25'],
    ['b', 'completionPrice', '1', '请先填写大于 0 的模型倍率'],
    ['c', 'completionPrice', '1', '请先填写大于 0 的模型倍率'],
  ])('%s: %s cannot be %s', (name, field, text, problem) => {
    expect(set(name, field, text)).toBe(problem)
  })

  test('removing a model removes it from all maps', () => {
    expect(figures(withoutModel(texts, 'a'), 'a')).toBeNull()
  })

  test('an invalid text has no table', () => {
    expect(modelPrices({ ...texts, completion: '{' }, ALONE)).toBeNull()
  })

  test('warns about repeated entries and entries without effect', () => {
    const rows = modelPrices({ model: '{"A":1,"A":2,"B":1}', completion: '{"c":2}' }, ALONE)
    const conflicts = rows?.map(({ name, conflicts: found }) => [name, found.length])
    expect(conflicts).toEqual([
      ['A', 1],
      ['B', 0],
      ['c', 1],
    ])
  })

  test('an entry for channels of one type is valid if the model has a ratio', () => {
    const ofTypes = {
      model: '{"A":1,"B":1}',
      completion: '{"A(20)":3,"c(20)":2,"d":2,"B":1}',
    }
    const conflicting = (context: PriceContext) =>
      modelPrices(ofTypes, context)?.flatMap(({ name, conflicts }) =>
        conflicts.length > 0 ? [name] : [],
      )
    expect(conflicting(ALONE)).toEqual(['c(20)', 'd'])
    expect(conflicting({ ...ALONE, builtIn: new Map([['d', '1']]) })).toEqual(['c(20)'])
    expect(conflicting({ ...ALONE, hasDefault: true })).toEqual([])
  })

  test('warns about a ratio twenty times or a twentieth of the built-in one', () => {
    const builtIn = new Map([
      ['a', '1'],
      ['b', '1'],
      ['c', '1'],
    ])
    const rows = modelPrices(
      { model: '{"a":20,"b":21,"c":0.04,"d":99}', completion: '{}' },
      {
        ...ALONE,
        builtIn,
      },
    )
    expect(rows?.filter((row) => row.isFarFromBuiltIn).map(({ name }) => name)).toEqual(['b', 'c'])
  })

  test('served models without a price have a row until they have one', () => {
    const unpriced = (model: string) =>
      modelPrices({ model, completion: '{"new":2}' }, { ...ALONE, unpriced: ['new'] })?.map(
        (row) => [row.name, row.isUnpriced, row.conflicts.length],
      )
    expect(unpriced('{"a":1}')).toEqual([
      ['a', false, 0],
      ['new', true, 0],
    ])
    expect(unpriced('{"a":1,"new":1}')).toEqual([
      ['a', false, 0],
      ['new', false, 0],
    ])
  })

  test('detects the same name in another case with another price', () => {
    const rows = modelPrices({ model: '{"A":1,"a":2,"B":1,"b":1}', completion: '{}' }, ALONE)
    expect(rows?.filter(({ hasNamesake }) => hasNamesake).map(({ name }) => name)).toEqual([
      'A',
      'a',
    ])
    expect(rows?.flatMap(({ conflicts }) => conflicts)).toEqual([])
  })
})

describe('an edit after another administrator has saved', () => {
  const seen = '{"a":1,"b":2,"c":3}'

  test.each([
    ['{"a":1.5,"b":2,"c":3}', '{"a":1,"b":9,"c":3,"d":4}', '{"a":1.5,"b":9,"c":3,"d":4}'],
    ['{"a":1,"c":3}', '{"a":7,"b":2,"c":3}', '{"a":7,"c":3}'],
    ['{"a":1,"b":2,"c":3,"e":5}', '{"a":1}', '{"a":1,"e":5}'],
    ['{"a":1,"b":8,"c":3}', '{"a":1,"b":9,"c":3}', '{"a":1,"b":8,"c":3}'],
  ])('%s over %s', (edited, saved, sent) => {
    expect(overSavedRatios(edited, seen, saved)).toBe(sent)
  })

  test('invalid text and text with repeated names is sent as entered', () => {
    expect(overSavedRatios('{"a":1', seen, '{"b":1}')).toBe('{"a":1')
    expect(overSavedRatios('{"a":1}', seen, 'none')).toBe('{"a":1}')
    expect(overSavedRatios('{"a":1,"a":2}', seen, '{"b":1}')).toBe('{"a":1,"a":2}')
  })
})
