import { z } from 'zod'
import { del, get } from './endpoint.ts'
import { RouteTrace } from './route-api.ts'
import {
  ById,
  EpochSeconds,
  Keyword,
  LenientFilter,
  LenientNumber,
  NullableNumber,
  NullableText,
} from './wire.ts'

/** Flag that may be NULL in an adopted database. */
const NullableFlag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false)
  .pipe(z.boolean())

export const Log = z.object({
  id: z.int(),
  user_id: z.int(),
  created_at: EpochSeconds,
  /** 1 top-up, 2 consumption, 3 management, 4 system, 5 channel test. */
  type: z.int(),
  content: NullableText,
  /** As it was when the row was written. */
  username: NullableText,
  token_name: NullableText,
  /** The model that was sent upstream, after mapping. */
  model_name: NullableText,
  /** Points. */
  quota: NullableNumber,
  prompt_tokens: NullableNumber,
  completion_tokens: NullableNumber,
  /** Channel id; 0 none. */
  channel: NullableNumber,
  request_id: NullableText,
  /** Milliseconds. */
  elapsed_time: NullableNumber,
  is_stream: NullableFlag,
  system_prompt_reset: NullableFlag,
  /** `""` in lists; the row alone carries what was captured. */
  request: NullableText,
  response: NullableText,
  /** Whether a request or response was captured. */
  has_body: z.boolean(),
})
export type Log = z.infer<typeof Log>

/**
 * One term of a cost: `count × ratios ÷ per` points, before the group's ratio. Kinds: `prompt`,
 * `cached`, `audio_cached`, `cache_write`, `cache_write_hour`, `audio_prompt`, `image_prompt`,
 * `completion`, `audio_completion`, `image_completion` count tokens; `picture`, `second`, `call`
 * and `tool` what they say.
 */
const PriceLine = z.object({
  kind: z.string(),
  /** The tool's name, or the picture's quality and size. */
  name: z.string().optional(),
  count: z.int(),
  ratios: z.array(z.string()),
  per: z.int(),
})

/** How a consumption was priced; decimal ratios as text, exactly as they were applied. */
export const PriceFactors = z.object({
  /** Name the price was looked up under. */
  priced_as: z.string(),
  /** Name the client asked for. */
  requested_model: z.string(),
  group: z.string(),
  model_ratio: z.string(),
  completion_ratio: z.string(),
  group_ratio: z.string(),
  cache_ratio: z.string(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  completion_tokens: z.int(),
  /** Dollars a call, where the model is sold by the call. */
  model_price: z.string().optional(),
  /** The prompt had more tokens than this, and the ratios are those of long prompts. */
  tier_above: z.int().optional(),
  /** All terms, where there are others than text tokens and cached ones. */
  lines: z.array(PriceLine).optional(),
  /** Where the token figures come from: the upstream or our own count. */
  usage_source: z.enum(['upstream', 'counted', 'estimated']),
  /** Points that the balance could not cover. */
  debt: z.int(),
})
export type PriceFactors = z.infer<typeof PriceFactors>

const LogDetail = Log.extend({ price: PriceFactors.nullable() })
const LogDetailOfAll = LogDetail.extend({
  /** Of the call's token, by which `/api/limit/token/:id` knows it; 0: none is known. */
  token_id: z.int(),
  /** How the call came to its channel; null: the first choice answered, as mostly. */
  route: RouteTrace.nullable(),
})

const ModelText = z.string().max(256).default('')

/** Exact matches, joined by "and"; empty or 0 means no filter. */
const OwnFilter = {
  type: LenientFilter,
  token_name: ModelText,
  model_name: ModelText,
  /** Seconds, inclusive. */
  start_timestamp: LenientNumber,
  /** Seconds, inclusive. */
  end_timestamp: LenientNumber,
  /** Request id, exact. Ours. */
  request_id: z.string().max(64).default(''),
}
/** Texts that a captured request or answer contains, case as written. */
const BodyFilter = {
  request: z.string().max(256).default(''),
  response: z.string().max(256).default(''),
}
const Paging = {
  p: LenientNumber,
  /** `<created_at>-<id>` of the last row seen: the page after it. Ours; beats `p`. */
  before: z.string().max(40).default(''),
}
const AdminFilter = {
  ...OwnFilter,
  username: ModelText,
  /** One person, whatever the name was when the row was written. Ours. */
  user_id: LenientFilter,
  channel: LenientFilter,
}

const Sums = z.object({
  /** Points. */
  quota: z.int(),
  prompt_token: z.int(),
  completion_token: z.int(),
  /** Prompt and completion together. */
  token: z.int(),
})

const Searched = z.object({
  /**
   * Only beside rows found by `request` or `response`, when the search stopped before its end:
   * everything from this second on has been searched. `before=<searched_from>-0` goes on.
   */
  searched_from: EpochSeconds.optional(),
})

const Format = {
  format: z.enum(['json', 'csv', 'ndjson']).catch('json'),
  /** Time zone of the times in CSV, such as `Asia/Shanghai`; empty: UTC. */
  tz: z.string().max(64).default(''),
  /** `true`: captured requests and answers are in the file. */
  bodies: z.string().default(''),
}

const Cleanup = z.object({
  running: z.boolean(),
  /** Seconds; rows before this are deleted. 0: there was no run yet. */
  target_timestamp: EpochSeconds,
  /** Rows deleted so far. */
  deleted: z.int(),
})
export type Cleanup = z.infer<typeof Cleanup>

export const logApi = {
  list: get('/api/log/', {
    access: 'admin',
    query: z.object({ ...AdminFilter, ...BodyFilter, ...Paging }),
    data: z.array(Log),
    extra: Searched,
  }),
  listSelf: get('/api/log/self', {
    access: 'user',
    query: z.object({ ...OwnFilter, ...BodyFilter, ...Paging }),
    data: z.array(Log),
    extra: Searched,
  }),
  search: get('/api/log/search', {
    access: 'admin',
    query: Keyword,
    data: z.array(Log),
    summary: 'The newest rows of a type number, with a request id, or whose content begins so.',
  }),
  searchSelf: get('/api/log/self/search', {
    access: 'user',
    query: Keyword,
    data: z.array(Log),
    summary: 'The newest own rows of a type number or with a request id.',
  }),
  export: get('/api/log/export/', {
    access: 'admin',
    query: z.object({ ...AdminFilter, ...BodyFilter, ...Format }),
    answer: 'stream',
    summary: 'All rows of a filter as a file, newest first.',
  }),
  exportSelf: get('/api/log/self/export/', {
    access: 'user',
    query: z.object({ ...OwnFilter, ...BodyFilter, ...Format }),
    answer: 'stream',
    summary: 'All own rows of a filter as a file, newest first.',
  }),
  remove: del('/api/log/', {
    access: 'admin',
    query: z.object({ target_timestamp: LenientNumber }),
    /** Rows deleted so far. */
    data: z.int(),
    extra: z.object({
      /** The run takes longer than a call may; `GET /api/log/cleanup` tells how far it is. */
      running: z.boolean().optional(),
    }),
    summary: 'Deletes the rows of all users before a second.',
  }),
  cleanup: get('/api/log/cleanup', { access: 'admin', data: Cleanup }),
  stat: get('/api/log/stat', { access: 'admin', query: z.object(AdminFilter), data: Sums }),
  statSelf: get('/api/log/self/stat', {
    access: 'user',
    query: z.object(OwnFilter),
    data: Sums,
  }),
  find: get('/api/log/:id', { access: 'admin', params: ById, data: LogDetailOfAll }),
  findSelf: get('/api/log/self/:id', { access: 'user', params: ById, data: LogDetail }),
}
