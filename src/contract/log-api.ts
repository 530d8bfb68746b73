import { z } from 'zod'
import { del, get } from './endpoint.ts'
import { LOG_FILE_COLUMNS, LOG_FILE_PRICE_COLUMNS } from './log-file.ts'
import { RouteTrace } from './route-api.ts'
import {
  byId,
  EpochSeconds,
  keyword,
  LenientFilter,
  LenientNumber,
  NullableText,
  NullableWholeNumber,
  Page,
} from './wire.ts'

/** Flag that may be NULL in an adopted database. */
const NullableFlag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false)
  .pipe(z.boolean())

const row = {
  id: z.int().describe('Id of the row.'),
  user_id: z.int().describe('Id of the user; 0: none.'),
  created_at: EpochSeconds.describe('Time of the row, in epoch seconds.'),
  type: z.int().describe('1 top-up, 2 consumption, 3 management, 4 system, 5 channel test.'),
  content: NullableText.describe('Description of the event.'),
  username: NullableText.describe('Name of the user when the row was written.'),
  token_name: NullableText.describe('Name of the token when the row was written.'),
  model_name: NullableText.describe('Model that was sent upstream, after mapping.'),
  quota: NullableWholeNumber.describe('Points.'),
  prompt_tokens: NullableWholeNumber.describe('Prompt tokens.'),
  completion_tokens: NullableWholeNumber.describe('Completion tokens.'),
  channel: NullableWholeNumber.describe('Id of the channel; 0: none.'),
  request_id: NullableText.describe('Request id of the call.'),
  elapsed_time: NullableWholeNumber.describe('Duration of the call in milliseconds.'),
  is_stream: NullableFlag.describe('Whether the response was streamed.'),
  system_prompt_reset: NullableFlag.describe(
    'Whether the channel’s system prompt replaced that of the call.',
  ),
}
const bodyless = 'Empty in lists; only a single row contains captured bodies.'
const listed = {
  ...row,
  request: NullableText.describe(`Captured request. ${bodyless}`),
  response: NullableText.describe(`Captured response. ${bodyless}`),
  has_body: z.boolean().describe('Whether a request or response was captured.'),
}

export const Log = z
  .object(listed)
  .meta({ id: 'Log', description: 'A usage or management record shown to users.' })
export type Log = z.infer<typeof Log>

const decimal = (description: string, example: string) =>
  z.string().meta({ description: `${description} A decimal as a string.`, example: example })

const PriceLine = z
  .object({
    kind: z.string().meta({
      description:
        '`prompt`, `cached`, `audio_cached`, `cache_write`, `cache_write_hour`, `audio_prompt`, `image_prompt`, `completion`, `audio_completion` and `image_completion` count tokens; `picture` counts images, `second` seconds of audio, `call` calls and `tool` tool calls.',
      example: 'prompt',
    }),
    name: z.string().optional().meta({
      description: 'Name of the tool, or quality and size of the image.',
      example: 'web_search',
    }),
    count: z.int().meta({ description: 'Quantity.', example: 1200 }),
    ratios: z
      .array(z.string())
      .meta({ description: 'Decimals as strings.', example: ['0.075', '0.5'] }),
    per: z
      .int()
      .meta({ description: 'Divisor: the quantity to which the ratios apply.', example: 1 }),
  })
  .meta({
    id: 'PriceLine',
    description: 'One term of a cost: `count × ratios ÷ per` points, before the group’s ratio.',
  })

export const PriceFactors = z
  .object({
    priced_as: z.string().describe('Name under which the price was found.'),
    requested_model: z.string().describe('Model name in the request.'),
    group: z.string().describe('Group that was charged.'),
    model_ratio: decimal('Ratio of the model.', '0.075'),
    completion_ratio: decimal('Ratio of completion tokens to prompt tokens.', '4'),
    group_ratio: decimal('Ratio of the group.', '1'),
    cache_ratio: decimal('Ratio of cached prompt tokens to other prompt tokens.', '0.5'),
    prompt_tokens: z.int().describe('Prompt tokens, including cached ones.'),
    cached_tokens: z.int().describe('Prompt tokens read from a cache.'),
    completion_tokens: z.int().describe('Completion tokens.'),
    reasoning_tokens: z
      .int()
      .optional()
      .describe('Reasoning tokens among the completion tokens; omitted: 0.'),
    model_price: decimal('Dollars per call, for models priced per call.', '0.1').optional(),
    tier_above: z.int().optional().meta({
      description:
        'Threshold of prompt tokens that was exceeded, so that the long-context ratios apply.',
      example: 200_000,
    }),
    lines: z
      .array(PriceLine)
      .optional()
      .describe('All terms of the cost, if there are others than text tokens and cached ones.'),
    usage_source: z
      .enum(['upstream', 'counted', 'estimated'])
      .describe('Source of the token counts: the upstream, or Gatehouse’s own count.'),
    price_version: z.union([z.string(), z.int()]).optional().meta({
      description:
        'Digest of all prices at that time: equal digests mean equal prices. The oldest rows contain a meaningless number.',
      example: '9f86d081884c7d65',
    }),
    output_limit: z.int().optional().meta({
      description:
        'Output limit per reply that the balance allowed; omitted: only the limits of client and model applied.',
      example: 2048,
    }),
    dropped: z
      .array(z.string())
      .optional()
      .meta({
        description: 'Parameters that the upstream does not support and that were dropped.',
        example: ['seed', 'stop'],
      }),
    adjusted: z
      .array(z.string())
      .optional()
      .meta({
        description: 'Parameters that were sent with another value or as text.',
        example: ['tool_choice'],
      }),
    debt: z
      .int()
      .describe('Points of the cost that the balance did not cover; the next top-up pays them.'),
  })
  .meta({
    id: 'PriceFactors',
    description: 'Pricing of a call; ratios exactly as they were applied.',
  })
export type PriceFactors = z.infer<typeof PriceFactors>

const detail = {
  ...listed,
  price: PriceFactors.nullable().describe(
    'Pricing of the call; null if it was not priced, or for old rows.',
  ),
}
const LogDetail = z
  .object(detail)
  .meta({ id: 'LogDetail', description: 'A log row with its details.' })
const LogDetailOfAll = z
  .object({
    ...detail,
    token_id: z.int().describe('Id of the call’s token, for `/api/limit/token/:id`; 0 if unknown.'),
    route: RouteTrace.nullable().describe(
      'How the call was routed; null if the first choice succeeded, as in most cases.',
    ),
  })
  .meta({ id: 'LogDetailOfAll', description: 'A log row with all details for administrators.' })

const LogFileRow = z
  .object({
    ...row,
    cost_usd: z.number().nullable().meta({
      description: 'Dollars with the current `QuotaPerUnit`; null if the row is not a call.',
      example: 0.2506,
    }),
    price: PriceFactors.nullable().describe(
      'Pricing of the call; null if it was not priced, or for old rows.',
    ),
    request: z.string().optional().describe('Captured request; only with `bodies=true`.'),
    response: z.string().optional().describe('Captured response; only with `bodies=true`.'),
  })
  .meta({
    id: 'LogFileRow',
    description: 'A row of an export. In CSV, each member of `price` is a column.',
  })

const Exact = z.string().max(256).default('')

/** Exact matches, combined with "and"; empty or 0 means no filter. */
const OwnFilter = {
  type: LenientFilter.meta({
    description:
      '1 top-up, 2 consumption, 3 management, 4 system, 5 channel test; 0 and anything else: all.',
    example: 2,
  }),
  token_name: Exact.describe('Name of a token, exact; empty: all.'),
  model_name: Exact.describe('Name of a model, exact; empty: all.'),
  start_timestamp: LenientNumber.describe('Epoch seconds, inclusive; 0: no lower limit.'),
  end_timestamp: LenientNumber.describe('Epoch seconds, inclusive; 0: no upper limit.'),
  request_id: z
    .string()
    .max(64)
    .default('')
    .describe('Request id, exact; empty: all. Gatehouse only.'),
}
/** Case-sensitive substrings of captured requests and responses. */
const BodyFilter = {
  request: Exact.describe('Text in a captured request, case-sensitive. Gatehouse only.'),
  response: Exact.describe('Text in a captured response, case-sensitive. Gatehouse only.'),
}
const Paging = {
  p: Page,
  before: z.string().max(40).default('').meta({
    description:
      '`<created_at>-<id>` of the last row received: returns the page after it; overrides `p`. Gatehouse only.',
    example: '1790003600-4711',
  }),
}
const AdminFilter = {
  ...OwnFilter,
  username: Exact.describe('Name of the user at that time, exact; empty: all.'),
  user_id: LenientFilter.describe(
    'Id of a user, independent of the name when the row was written; 0: all. Gatehouse only.',
  ),
  channel: LenientFilter.describe('Id of a channel; 0: all.'),
}

const Sums = z
  .object({
    quota: z.int().describe('Points consumed.'),
    prompt_token: z.int().describe('Prompt tokens.'),
    completion_token: z.int().describe('Completion tokens.'),
    token: z.int().describe('Prompt and completion tokens.'),
  })
  .meta({ id: 'LogSums', description: 'Total consumption that matches a filter.' })

const Searched = z.object({
  searched_from: EpochSeconds.optional().describe(
    'Only with `request` or `response`, if the search stopped early: rows from this second on have been searched. Continue with `before=<searched_from>-0`.',
  ),
})

const Format = {
  format: z
    .enum(['json', 'csv', 'ndjson'])
    .catch('json')
    .describe('File format; `json` if omitted.'),
  tz: z.string().max(64).default('').meta({
    description: 'Time zone of times in CSV; empty: UTC.',
    example: 'Asia/Shanghai',
  }),
  bodies: z.string().default('').meta({
    description:
      '`true`: includes captured requests and responses, in CSV as the columns `request` and `response`.',
    example: 'true',
  }),
}

const Cleanup = z
  .object({
    running: z.boolean().describe('Whether the run is in progress.'),
    target_timestamp: EpochSeconds.describe(
      'Rows before this time, in epoch seconds, are deleted. 0: no run yet.',
    ),
    deleted: z.int().describe('Number of rows deleted so far.'),
  })
  .meta({ id: 'LogCleanup', description: 'Progress of the log cleanup.' })
export type Cleanup = z.infer<typeof Cleanup>

const file = {
  answer: 'stream',
  columns: [...LOG_FILE_COLUMNS, ...LOG_FILE_PRICE_COLUMNS],
  data: LogFileRow,
  refusals: [
    'log_time_zone_unknown',
    'log_export_running',
    'log_export_busy',
    'log_store_unavailable',
  ],
} as const

/** Reads the log, which may have a store of its own (`LOG_DSN`). */
const reads = { refusals: ['log_store_unavailable'] } as const

const ById = byId('Id of the row.')

export const logApi = {
  list: get('/api/log/', {
    name: 'listLogs',
    summary: 'Rows of all users, in pages of ten, newest first.',
    ...reads,
    access: 'admin',
    scope: 'logs',
    query: z.object({ ...AdminFilter, ...BodyFilter, ...Paging }),
    data: z.array(Log),
    extra: Searched,
  }),
  listSelf: get('/api/log/self', {
    name: 'listOwnLogs',
    summary: 'The caller’s rows, in pages of ten, newest first.',
    ...reads,
    access: 'user',
    scope: 'logs',
    query: z.object({ ...OwnFilter, ...BodyFilter, ...Paging }),
    data: z.array(Log),
    extra: Searched,
  }),
  search: get('/api/log/search', {
    name: 'searchLogs',
    summary: 'The newest rows with a type number, a request id, or a prefix of the content.',
    ...reads,
    access: 'admin',
    scope: 'logs',
    query: keyword('A type number, a request id, or a prefix of the content.', '倍率'),
    data: z.array(Log),
  }),
  searchSelf: get('/api/log/self/search', {
    name: 'searchOwnLogs',
    summary: 'The caller’s newest rows with a type number or a request id.',
    ...reads,
    access: 'user',
    scope: 'logs',
    query: keyword('A type number or a request id.', '2'),
    data: z.array(Log),
  }),
  export: get('/api/log/export/', {
    name: 'exportLogs',
    summary: 'All rows that match a filter as a file, newest first.',
    access: 'admin',
    needsProof: ({ query }) => query['bodies'] === 'true',
    scope: 'logs',
    query: z.object({ ...AdminFilter, ...BodyFilter, ...Format }),
    ...file,
  }),
  exportSelf: get('/api/log/self/export/', {
    name: 'exportOwnLogs',
    summary: 'All rows of the caller that match a filter as a file, newest first.',
    access: 'user',
    needsProof: ({ query }) => query['bodies'] === 'true',
    scope: 'logs',
    query: z.object({ ...OwnFilter, ...BodyFilter, ...Format }),
    ...file,
  }),
  remove: del('/api/log/', {
    name: 'deleteLogs',
    summary: 'Deletes the rows of all users before a given time.',
    access: 'admin',
    needsProof: true,
    query: z.object({
      target_timestamp: LenientNumber.describe('Epoch seconds; rows before this time are deleted.'),
    }),
    data: z.int().meta({ description: 'Number of rows deleted so far.', example: 1200 }),
    extra: z.object({
      running: z
        .boolean()
        .optional()
        .describe(
          'The run continues in the background; `GET /api/log/cleanup` returns its progress.',
        ),
    }),
  }),
  cleanup: get('/api/log/cleanup', {
    name: 'getLogCleanup',
    summary: 'Progress of the log cleanup.',
    access: 'admin',
    data: Cleanup,
  }),
  stat: get('/api/log/stat', {
    name: 'getLogSums',
    summary: 'Total consumption of all users that matches a filter.',
    ...reads,
    access: 'admin',
    scope: 'logs',
    query: z.object(AdminFilter),
    data: Sums,
  }),
  statSelf: get('/api/log/self/stat', {
    name: 'getOwnLogSums',
    summary: 'Total consumption of the caller that matches a filter.',
    ...reads,
    access: 'user',
    scope: 'logs',
    query: z.object(OwnFilter),
    data: Sums,
  }),
  find: get('/api/log/:id', {
    name: 'getLog',
    summary: 'One row with its price, its route and its captured bodies.',
    ...reads,
    access: 'admin',
    scope: 'logs',
    params: ById,
    data: LogDetailOfAll,
  }),
  findSelf: get('/api/log/self/:id', {
    name: 'getOwnLog',
    summary: 'One row of the caller with its price and captured bodies.',
    ...reads,
    access: 'user',
    scope: 'logs',
    params: ById,
    data: LogDetail,
  }),
}
