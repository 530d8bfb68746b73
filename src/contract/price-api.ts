import { z } from 'zod'
import { get, put } from './endpoint.ts'

/** A decimal without sign or exponent. */
const Ratio = z
  .string()
  .max(40)
  .regex(/^\d+(\.\d+)?$/)
  .meta({ examples: ['1.25'] })

/** What a model costs; null: nobody says. */
const Ratios = z.object({
  /** Of prompt tokens: 1 is two dollars a million. */
  model_ratio: Ratio,
  /** Of the others against prompt tokens. */
  completion_ratio: Ratio.nullable(),
  cache_ratio: Ratio.nullable(),
  create_cache_ratio: Ratio.nullable(),
})
export type ListedRatios = z.infer<typeof Ratios>

const ModelName = z.string().meta({ examples: ['gpt-4o'] })

const PublishedPrice = z.object({
  name: ModelName,
  /** What it costs here; null: it has no price. */
  now: Ratios.nullable(),
  /** What the list says. */
  listed: Ratios,
  /** Whether an enabled channel serves a model of this name. */
  is_served: z.boolean(),
})
export type PublishedPrice = z.infer<typeof PublishedPrice>

/** Prices that are read and set at once; more rows than any list has. */
export const PRICE_ROWS_MAX = 20_000

export const priceApi = {
  published: get('/api/prices/published', {
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    /** `http:` or `https:` address of a list; without one it is that of the built-in prices. */
    query: z.object({ address: z.string().max(2048).default('') }),
    data: z.object({
      /** Models whose price in the list is another one than here. */
      rows: z.array(PublishedPrice),
      /** Models that cost the same here. */
      same: z.int(),
      /** Entries with a price that ratios cannot say, and models that are sold by the call here. */
      left_out: z.int(),
    }),
    summary:
      'Compares prices with a public list (models.dev, OpenRouter, LiteLLM) or another gateway. Changes nothing.',
  }),
  set: put('/api/prices/', {
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    body: z.object({
      rows: z.array(z.object({ name: ModelName, ...Ratios.shape })).max(PRICE_ROWS_MAX),
    }),
    summary:
      'Sets the ratios of these models in ModelRatio, CompletionRatio, CacheRatio and CreateCacheRatio, all or none; null leaves what there is.',
  }),
  unpriced: get('/api/prices/unpriced', {
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: z.array(ModelName),
    summary: 'Models of enabled channels whose calls are refused because nobody has set a price.',
  }),
  builtIn: get('/api/prices/built-in', {
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    /** Model → ratio as a JSON text. */
    data: z.object({ model_ratio: z.string() }),
    summary: 'The model ratios that this version brings along, whatever the settings are.',
  }),
}
