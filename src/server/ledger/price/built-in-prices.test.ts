import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { defaultRatios } from '../../option/default-ratios.ts'
import type { Ratios } from '../../option/live-options.ts'
import { optionSpec } from '../../option/option.ts'
import { tiersInForce } from '../../option/price-tiers.ts'
import { PLAIN_RATIOS } from '../../test/plain-ratios.ts'
import { costOf, findPrice, priceAt, type Price } from '../price.ts'

/**
 * Compares the built-in prices with those of the makers and resellers: see `fixtures/README.md`.
 */

const built = defaultRatios()
const ratios: Ratios = {
  ...PLAIN_RATIOS,
  model: built.ModelRatio,
  completion: built.CompletionRatio,
  cache: built.CacheRatio,
  cacheWrite: built.CreateCacheRatio,
  cacheWriteHour: built.CreateCache1hRatio,
  perCall: built.ModelPrice,
  audio: built.AudioRatio,
  image: built.ImageRatio,
  imageCompletion: built.ImageCompletionRatio,
  picture: built.PictureRatio,
  tool: built.ToolPrice,
  tiers: tiersInForce(optionSpec('PriceTiers').default),
}

function priceOf(model: string, channelType: number): Price {
  const found = findPrice(ratios, {
    requested: model,
    mapped: model,
    channelType,
    group: 'default',
  })
  if (found === null) throw new Error(`no price for ${model}`)
  return found
}

const NOTHING = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }

/** Rows of a table without its header; `-` means that the source has no price. */
const tableOf = (name: string): string[][] =>
  readFileSync(new URL(`../../../../fixtures/prices/${name}.tsv`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))

const numberOr = (text: string | undefined, otherwise: number): number =>
  text === undefined || text === '-' ? otherwise : Number(text)

/** Both lists are cut to six digits; a larger difference is another price. */
const isAlike = (a: number, b: number): boolean => Math.abs(a - b) <= Math.abs(b) * 1e-4

test('a call through OpenRouter costs OpenRouter’s price, even if others sell the same name', () => {
  const rows = tableOf('openrouter')
  expect(rows).toHaveLength(377)
  const used = {
    promptTokens: 1e6,
    cachedTokens: 4e5,
    cacheWriteTokens: 1e5,
    completionTokens: 2e5,
  }
  const wrong = rows.flatMap(([model = '', ratio, completion, read, write]) => {
    const asked =
      Number(ratio) *
      (5e5 + 4e5 * numberOr(read, 1) + 1e5 * numberOr(write, 1.25) + 2e5 * Number(completion))
    const charged = costOf(priceOf(model, 20), used)
    return isAlike(charged, asked) ? [] : [{ model, asked, charged }]
  })
  expect(wrong).toEqual([])
})

test('a long prompt costs its maker’s price, cached or not', () => {
  const rows = tableOf('long-prompts')
  expect(rows).toHaveLength(132)
  const wrong = rows.filter(([type, model = '', above, ratio, completion, read]) => {
    const price = priceOf(model, Number(type))
    const longer = priceAt(price, Number(above) + 1)
    return !(
      priceAt(price, Number(above)).tierAbove !== Number(above) &&
      isAlike(Number(longer.modelRatio), Number(ratio)) &&
      isAlike(Number(longer.completionRatio), Number(completion)) &&
      isAlike(Number(longer.cacheRatio), numberOr(read, 1))
    )
  })
  expect(wrong).toEqual([])
})

test('a reseller’s price for long prompts does not apply to the same name elsewhere', () => {
  expect(priceAt(priceOf('qwen/qwen3-max', 41), 40_000).tierAbove).toBe(32_767)
  expect(priceAt(priceOf('qwen/qwen3-max', 20), 40_000).tierAbove).toBeNull()
})

/**
 * Google, "Gemini Developer API pricing": dollars per million tokens of text, audio, cached text
 * and cached audio.
 */
const audioPrices: [model: string, dollars: number[]][] = [
  ['gemini-2.5-flash', [0.3, 1, 0.03, 0.1]],
  ['gemini-2.5-flash-lite', [0.1, 0.3, 0.01, 0.03]],
  ['gemini-3-flash-preview', [0.5, 1, 0.05, 0.1]],
]

test.each(audioPrices)(
  'audio prompts of %s cost Google’s price, cached or not',
  (model, dollars) => {
    const price = priceOf(model, 24)
    const million = { ...NOTHING, promptTokens: 1e6 }
    const cached = { ...million, cachedTokens: 1e6 }
    const charged = [
      costOf(price, million),
      costOf(price, { ...million, extras: { audioPromptTokens: 1e6 } }),
      costOf(price, cached),
      costOf(price, { ...cached, extras: { audioCachedTokens: 1e6 } }),
    ]
    expect(charged.filter((points, at) => !isAlike(points, Number(dollars[at]) * 500_000))).toEqual(
      [],
    )
  },
)

/** Google, "Gemini Developer API pricing": tokens and dollars of a 1024 × 1024 image. */
const imagePrices: [model: string, tokens: number, dollars: number][] = [
  ['gemini-2.0-flash-image', 1290, 0.039],
  ['gemini-2.5-flash-image', 1290, 0.039],
  ['gemini-2.5-flash-image-preview', 1290, 0.039],
  ['gemini-3-pro-image', 1120, 0.134],
  ['gemini-3-pro-image-preview', 1120, 0.134],
  ['gemini-3.1-flash-image', 1120, 0.067],
  ['gemini-3.1-flash-image-preview', 1120, 0.067],
  ['gemini-3.1-flash-lite-image', 1120, 0.0336],
]

test.each(imagePrices)('an image by %s costs Google’s price', (model, tokens, dollars) => {
  const byToken = {
    ...NOTHING,
    completionTokens: tokens,
    extras: { imageCompletionTokens: tokens },
  }
  const pictures = { count: 1, size: '1024x1024', quality: '' }
  const charged = [
    costOf(priceOf(model, 24), byToken),
    costOf(priceOf(model, 51), { ...NOTHING, extras: { pictures } }),
    ...(built.ModelRatio.has(`google/${model}`)
      ? [costOf(priceOf(`google/${model}`, 20), byToken)]
      : []),
  ]
  // Google publishes and rounds both prices, per token and per image.
  expect(charged.filter((points) => Math.abs(points / (dollars * 500_000) - 1) > 0.01)).toEqual([])
})

/**
 * DeepSeek, "Models & Pricing": dollars per million tokens in its peak hours; outside them the
 * price is half. The older names are served by the present model at its price; other providers that
 * sell them keep their own prices.
 */
const deepseek: [model: string, fresh: number, cached: number, completion: number][] = [
  ['deepseek-flash', 0.3, 0.006, 1.2],
  ['deepseek-v4-flash', 0.3, 0.006, 1.2],
  ['deepseek-v4-flash-vision-exp', 0.3, 0.006, 1.2],
  ['deepseek-v4-pro', 1.32, 0.044, 3.96],
]

test.each(deepseek)('%s and its searches cost DeepSeek’s price', (model, ...dollars) => {
  const price = priceOf(model, 36)
  const million = { ...NOTHING, promptTokens: 1e6 }
  const charged = [
    costOf(price, million),
    costOf(price, { ...million, cachedTokens: 1e6 }),
    costOf(price, { ...NOTHING, completionTokens: 1e6 }),
  ]
  const wrong = charged.filter((points, at) => !isAlike(points, (dollars[at] ?? 0) * 500_000))
  expect(wrong).toEqual([])
  const searched = { ...NOTHING, extras: { tools: { web_search: 1000 } } }
  expect(costOf(price, searched)).toBe(0.75 * 500_000)
  expect(costOf(priceOf(model, 1), searched)).toBe(10 * 500_000)
})

test('Together bills google/gemini-3-pro-image per image', () => {
  const pictures = { count: 2, size: '', quality: '' }
  const used = { ...NOTHING, completionTokens: 2240, extras: { pictures } }
  expect(costOf(priceOf('google/gemini-3-pro-image', 39), used)).toBe(134_000)
})

/**
 * The makers' price lists, in dollars per million tokens: fresh prompt, cached prompt, completion.
 * For Google's three models the higher price, valid from 2027.
 */
const makers: [model: string, fresh: number, cached: number, completion: number][] = [
  ['claude-mythos-5-1', 10, 0.25, 50],
  ['gemini-3.6-flash', 1.5, 0.15, 7.5],
  ['gemini-3.7-flash', 1.5, 0.15, 7.5],
  ['gemini-3.8-flash', 1.5, 0.15, 7.5],
  ['kimi-k3.1-pro', 2, 0.2, 10],
  ['kimi-k3.1-pro-highspeed', 4, 0.2, 20],
  ['MiniMax-M3.1-Flash', 0.15, 0.015, 0.6],
  ['mistral-large-4', 0.7, 0.07, 2.1],
  ['mistral-medium-3-5', 1.5, 0.15, 7.5],
  ['devstral-2512', 0.4, 0.04, 2],
]

test.each(makers)('%s costs its maker’s price', (model, ...dollars) => {
  const price = priceOf(model, 1)
  const million = { ...NOTHING, promptTokens: 1e6 }
  const charged = [
    costOf(price, million),
    costOf(price, { ...million, cachedTokens: 1e6 }),
    costOf(price, { ...NOTHING, completionTokens: 1e6 }),
  ]
  expect(charged).toEqual(dollars.map((asked) => asked * 500_000))
})

/** The same in yuan, at seven yuan per dollar. Sources: price lists of Ark, Alibaba and Zhipu. */
const chinese: [type: number, model: string, fresh: number, cached: number, completion: number][] =
  [
    [16, 'glm-5.3-flash', 0.8, 0.23, 2.8],
    [17, 'qwen3.8-max', 12, 1.5, 36],
    [40, 'doubao-seed-1-6-251015', 0.8, 0.16, 8],
    [40, 'doubao-seed-1-8-251228', 0.8, 0.16, 8],
    [40, 'doubao-seed-2-0-pro-260215', 3.2, 0.64, 16],
    [40, 'doubao-seed-2-0-lite-260428', 0.6, 0.12, 3.6],
    [40, 'doubao-seed-2-0-mini-260428', 0.2, 0.04, 2],
    [40, 'doubao-seed-2-1-pro-260915', 6, 1.2, 30],
    [40, 'doubao-seed-2-1-turbo-260628', 3, 0.6, 15],
    [40, 'doubao-seed-code-preview-251028', 1.2, 0.24, 8],
  ]

test.each(chinese)('type %i: %s costs its maker’s price', (type, model, ...yuan) => {
  const { modelRatio, cacheRatio, completionRatio } = priceOf(model, type)
  const [fresh, cached, completion] = yuan
  // A ratio of 1 is two dollars per million tokens.
  expect(Number(modelRatio) * 14).toBeCloseTo(fresh, 4)
  expect(Number(modelRatio) * Number(cacheRatio) * 14).toBeCloseTo(cached, 4)
  expect(Number(modelRatio) * Number(completionRatio) * 14).toBeCloseTo(completion, 4)
})

/**
 * Zhipu, "GLM-ASR" and "API 定价": ¥0.06 per minute of transcription, ¥2 per ten thousand characters
 * of text-to-speech.
 */
test('transcription and text-to-speech of Zhipu cost Zhipu’s price', () => {
  const yuan = (points: number): number => (points / 500_000) * 7
  const transcript = { ...NOTHING, extras: { seconds: 3000 } }
  expect(yuan(costOf(priceOf('glm-asr-2512', 16), transcript))).toBeCloseTo(50 * 0.06, 4)
  const spoken = { ...NOTHING, promptTokens: 10_000 }
  expect(yuan(costOf(priceOf('glm-tts', 16), spoken))).toBeCloseTo(2, 4)
})

test.each(['kimi-k3', 'kimi-k3.1-pro', 'kimi-k3.1-pro-highspeed'])(
  'cache writes of %s cost the prompt price, and twice it for an hour',
  (model) => {
    const price = priceOf(model, 25)
    const read = { ...NOTHING, promptTokens: 1e6 }
    expect(costOf(price, { ...read, cacheWriteTokens: 1e6 })).toBe(costOf(price, read))
    expect(costOf(price, { ...read, cacheWriteHourTokens: 1e6 })).toBe(2 * costOf(price, read))
  },
)

/** xAI's price list, "Tool Invocation Costs". */
test('the tools of xAI cost xAI’s price', () => {
  const price = priceOf('grok-4.7', 45)
  const dollars = {
    web_search: 5,
    code_interpreter: 5,
    file_search: 2.5,
    attachment_search: 10,
    x_posts: 5,
    x_users: 10,
  }
  const charged = Object.keys(dollars).map((name) => [
    name,
    costOf(price, { ...NOTHING, extras: { tools: { [name]: 1000 } } }) / 500_000,
  ])
  expect(Object.fromEntries(charged)).toEqual(dollars)
})

/** OpenAI's price list: transcription with speakers, and image tokens in prompt and completion. */
test('a transcription with speakers and an image cost OpenAI’s price', () => {
  const transcript = { ...NOTHING, promptTokens: 1e6, extras: { audioPromptTokens: 1e6 } }
  const spoken = priceOf('gpt-4o-transcribe-diarize', 1)
  expect(costOf(spoken, transcript)).toBe(6 * 500_000)
  expect(costOf(spoken, { ...NOTHING, completionTokens: 1e6 })).toBe(10 * 500_000)
  for (const model of ['gpt-image-2.5-flare', 'gpt-image-2.5-sunburst']) {
    const price = priceOf(model, 1)
    const read = { ...NOTHING, promptTokens: 1e6 }
    expect(costOf(price, read)).toBe(5 * 500_000)
    expect(costOf(price, { ...read, extras: { imagePromptTokens: 1e6 } })).toBe(8 * 500_000)
    const drawn = { completionTokens: 1e6, extras: { imageCompletionTokens: 1e6 } }
    expect(costOf(price, { ...NOTHING, ...drawn })).toBe(30 * 500_000)
  }
})
