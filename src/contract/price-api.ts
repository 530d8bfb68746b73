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
  model_ratio: Ratio.describe('Of prompt tokens, as a decimal: 1 is two dollars a million.'),
  completion_ratio: Ratio.nullable().describe(
    'Of completion tokens against prompt tokens; null: nobody says.',
  ),
  cache_ratio: Ratio.nullable().describe(
    'Of prompt tokens read from a cache against the others; null: nobody says.',
  ),
  create_cache_ratio: Ratio.nullable().describe(
    'Of prompt tokens written to a cache against the others; null: nobody says.',
  ),
}
const Ratios = z.object(ratios).meta({ id: 'ModelRatios', description: 'What a model costs.' })
export type ListedRatios = z.infer<typeof Ratios>

const PublishedPrice = z
  .object({
    name: ModelName,
    now: Ratios.nullable().describe('What it costs here; null: it has no price.'),
    listed: Ratios.describe('What the list says.'),
    is_served: z.boolean().meta({
      description: 'Whether an enabled channel serves a model of this name.',
      example: true,
    }),
  })
  .meta({ id: 'PublishedPrice', description: 'A model whose price in the list is another one.' })
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
        description:
          '`http:` or `https:` address of a list; without one it is that of the built-in prices.',
        example: 'https://models.dev/api.json',
      }),
    }),
    data: z
      .object({
        rows: z
          .array(PublishedPrice)
          .describe('Models whose price in the list is another one than here.'),
        same: z.int().describe('How many models cost the same here.'),
        left_out: z
          .int()
          .describe(
            'Entries with a price that ratios cannot say, and models that are sold by the call here.',
          ),
      })
      .meta({ id: 'PriceComparison', description: 'How prices here differ from those of a list.' }),
  }),
  set: put('/api/prices/', {
    name: 'setPrices',
    summary:
      'Sets the ratios of these models in ModelRatio, CompletionRatio, CacheRatio and CreateCacheRatio, all or none; null leaves what there is.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    bodyClass: 'bulk',
    body: z
      .object({
        rows: z
          .array(
            z
              .object({ name: ModelName, ...ratios })
              .meta({ id: 'NewPrice', description: 'What a model is to cost.' }),
          )
          .max(PRICE_ROWS_MAX)
          .describe('One for each model.'),
      })
      .meta({ id: 'NewPrices', description: 'What models are to cost.' }),
  }),
  unpriced: get('/api/prices/unpriced', {
    name: 'listUnpricedModels',
    summary: 'Models of enabled channels whose calls are refused because nobody has set a price.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: z.array(ModelName),
  }),
  builtIn: get('/api/prices/built-in', {
    name: 'getBuiltInPrices',
    summary: 'The model ratios that this version brings along, whatever the settings are.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: z
      .object({
        model_ratio: z.string().meta({
          description: 'Model → ratio, as a JSON text.',
          example: '{"gpt-4o-mini":0.075}',
        }),
      })
      .meta({ id: 'BuiltInPrices', description: 'Prices of this version.' }),
  }),
}
