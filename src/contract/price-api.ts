import { z } from 'zod'
import { get, put } from './endpoint.ts'

/** A decimal without sign or exponent. */
const Ratio = z
  .string()
  .max(40)
  .regex(/^\d+(\.\d+)?$/)
  .meta({ example: '1.25' })

const ModelName = z.string().meta({ description: 'Name of the model.', example: 'gpt-4o' })

const ratios = {
  model_ratio: Ratio.describe(
    'Ratio of prompt tokens, as a decimal: 1 is two dollars per million.',
  ),
  completion_ratio: Ratio.nullable().describe(
    'Ratio of completion tokens to prompt tokens; null if not set.',
  ),
  cache_ratio: Ratio.nullable().describe(
    'Ratio of cached prompt tokens to others; null if not set.',
  ),
  create_cache_ratio: Ratio.nullable().describe(
    'Ratio of prompt tokens written to a cache to others; null if not set.',
  ),
}
const Ratios = z.object(ratios).meta({ id: 'ModelRatios', description: 'Ratios of a model.' })
export type ListedRatios = z.infer<typeof Ratios>

const PublishedPrice = z
  .object({
    name: ModelName,
    now: Ratios.nullable().describe('Current price; null if not set.'),
    listed: Ratios.describe('Price in the list.'),
    is_served: z.boolean().meta({
      description: 'Whether an enabled channel serves a model of this name.',
      example: true,
    }),
  })
  .meta({ id: 'PublishedPrice', description: 'A model with a different price in the list.' })
export type PublishedPrice = z.infer<typeof PublishedPrice>

/** Maximum number of prices in one request; no list is longer. */
export const PRICE_ROWS_MAX = 20_000

export const priceApi = {
  published: get('/api/prices/published', {
    name: 'comparePrices',
    summary:
      'Compares prices with a public list (models.dev, OpenRouter, LiteLLM) or another gateway. Changes nothing.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    query: z.object({
      address: z.string().max(2048).default('').meta({
        description: '`http:` or `https:` address of a list; empty: that of the built-in prices.',
        example: 'https://models.dev/api.json',
      }),
    }),
    data: z
      .object({
        rows: z.array(PublishedPrice).describe('Models with a different price in the list.'),
        same: z.int().describe('Number of models with the same price.'),
        left_out: z
          .int()
          .describe(
            'Number of entries whose price cannot be expressed in ratios, and of models priced per call here.',
          ),
      })
      .meta({ id: 'PriceComparison', description: 'Differences of prices from a list.' }),
  }),
  set: put('/api/prices/', {
    name: 'setPrices',
    summary:
      'Sets the ratios of these models in ModelRatio, CompletionRatio, CacheRatio and CreateCacheRatio, all or none; null keeps the stored one.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    bodyClass: 'bulk',
    body: z
      .object({
        rows: z
          .array(
            z
              .object({ name: ModelName, ...ratios })
              .meta({ id: 'NewPrice', description: 'New ratios of a model.' }),
          )
          .max(PRICE_ROWS_MAX)
          .describe('One entry per model.'),
      })
      .meta({ id: 'NewPrices', description: 'New ratios of models.' }),
  }),
  unpriced: get('/api/prices/unpriced', {
    name: 'listUnpricedModels',
    summary: 'Models of enabled channels whose calls are rejected because they have no price.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: z.array(ModelName),
  }),
  builtIn: get('/api/prices/built-in', {
    name: 'getBuiltInPrices',
    summary: 'The built-in model ratios, whatever the settings are.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: z
      .object({
        model_ratio: z.string().meta({
          description: 'Model → ratio. A JSON object as a string.',
          example: '{"gpt-4o-mini":0.075}',
        }),
      })
      .meta({ id: 'BuiltInPrices', description: 'Built-in prices of this version.' }),
  }),
}
