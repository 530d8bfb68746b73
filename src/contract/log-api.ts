import { z } from 'zod'
import { del, get } from './endpoint.ts'
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
  user_id: z.int().describe('Whose call it was; 0: nobody’s.'),
  created_at: EpochSeconds.describe('When it was written, in seconds.'),
  type: z.int().describe('1 top-up, 2 consumption, 3 management, 4 system, 5 channel test.'),
  content: NullableText.describe('What happened, in a sentence.'),
  username: NullableText.describe('The user’s name when the row was written.'),
  token_name: NullableText.describe('The token’s name when the row was written.'),
  model_name: NullableText.describe('The model that was sent upstream, after mapping.'),
  quota: NullableWholeNumber.describe('Points.'),
  prompt_tokens: NullableWholeNumber.describe('Prompt tokens.'),
  completion_tokens: NullableWholeNumber.describe('Completion tokens.'),
  channel: NullableWholeNumber.describe('Id of the channel; 0: none.'),
  request_id: NullableText.describe('Request id of the call.'),
  elapsed_time: NullableWholeNumber.describe('Milliseconds that the call took.'),
  is_stream: NullableFlag.describe('The answer came as a stream.'),
  system_prompt_reset: NullableFlag.describe('The channel’s system prompt replaced the call’s.'),
}
const bodyless = 'Empty in lists; the row alone carries what was captured.'
const listed = {
  ...row,
  request: NullableText.describe(`The request as it was captured. ${bodyless}`),
  response: NullableText.describe(`The answer as it was captured. ${bodyless}`),
  has_body: z.boolean().describe('Whether a request or answer was captured.'),
}

export const Log = z
  .object(listed)
  .meta({ id: 'Log', description: 'A usage or management record shown to users.' })
export type Log = z.infer<typeof Log>

const decimal = (description: string, example: string) =>
  z.string().meta({ description: `${description} A decimal as text.`, example: example })

const PriceLine = z
  .object({
    kind: z.string().meta({
      description:
        '`prompt`, `cached`, `audio_cached`, `cache_write`, `cache_write_hour`, `audio_prompt`, `image_prompt`, `completion`, `audio_completion`, `image_completion` count tokens; `picture`, `second`, `call` and `tool` what they say.',
      example: 'prompt',
    }),
    name: z.string().optional().meta({
      description: 'The tool’s name, or the picture’s quality and size.',
      example: 'web_search',
    }),
    count: z.int().meta({ description: 'How many of the kind.', example: 1200 }),
    ratios: z
      .array(z.string())
      .meta({ description: 'Decimals as texts.', example: ['0.075', '0.5'] }),
    per: z.int().meta({ description: 'How many the ratios are for.', example: 1 }),
  })
  .meta({
    id: 'PriceLine',
    description: 'One term of a cost: `count × ratios ÷ per` points, before the group’s ratio.',
  })

export const PriceFactors = z
  .object({
    priced_as: z.string().describe('Name the price was looked up under.'),
    requested_model: z.string().describe('Name the client asked for.'),
    group: z.string().describe('The group that paid.'),
    model_ratio: decimal('Ratio of the model.', '0.075'),
    completion_ratio: decimal('Ratio of completion tokens against prompt tokens.', '4'),
    group_ratio: decimal('Ratio of the group.', '1'),
    cache_ratio: decimal('Ratio of cached tokens against the others.', '0.5'),
    prompt_tokens: z.int().describe('Prompt tokens, cached ones included.'),
    cached_tokens: z.int().describe('Prompt tokens read from a cache.'),
    completion_tokens: z.int().describe('Completion tokens.'),
    reasoning_tokens: z.int().optional().describe('Of these, what the model thought; left out: 0.'),
    model_price: decimal('Dollars a call, where the model is sold by the call.', '0.1').optional(),
    tier_above: z.int().optional().meta({
      description:
        'The prompt had more tokens than this, and the ratios are those of long prompts.',
      example: 200_000,
    }),
    lines: z
      .array(PriceLine)
      .optional()
      .describe('All terms, where there are others than text tokens and cached ones.'),
    usage_source: z
      .enum(['upstream', 'counted', 'estimated'])
      .describe('Where the token figures come from: the upstream or our own count.'),
    price_version: z.union([z.string(), z.int()]).optional().meta({
      description:
        'Digest of all prices at that time: equal texts, equal prices. The oldest rows have a number, which says nothing.',
      example: '9f86d081884c7d65',
    }),
    output_limit: z.int().optional().meta({
      description:
        'The most tokens of each reply that the balance covered; left out: all that client and model allow.',
      example: 2048,
    }),
    dropped: z
      .array(z.string())
      .optional()
      .meta({
        description: 'Parameters that the upstream does not have and that were left out.',
        example: ['seed', 'stop'],
      }),
    adjusted: z
      .array(z.string())
      .optional()
      .meta({
        description: 'Parameters that were sent with another value or in words.',
        example: ['tool_choice'],
      }),
    debt: z
      .int()
      .describe('Points of the cost that the balance did not cover; the next credit pays them.'),
  })
  .meta({
    id: 'PriceFactors',
    description: 'How a consumption was priced; ratios exactly as they were applied.',
  })
export type PriceFactors = z.infer<typeof PriceFactors>

const detail = {
  ...listed,
  price: PriceFactors.nullable().describe('How it was priced; null: it was not, or long ago.'),
}
const LogDetail = z
  .object(detail)
  .meta({ id: 'LogDetail', description: 'A log row with all that belongs to it.' })
const LogDetailOfAll = z
  .object({
    ...detail,
    token_id: z
      .int()
      .describe('Of the call’s token, by which `/api/limit/token/:id` knows it; 0: none is known.'),
    route: RouteTrace.nullable().describe(
      'How the call came to its channel; null: the first choice answered, as mostly.',
    ),
  })
  .meta({ id: 'LogDetailOfAll', description: 'A log row with all that administrators may know.' })

const LogFileRow = z
  .object({
    ...row,
    cost_usd: z.number().nullable().meta({
      description: 'Dollars at today’s `QuotaPerUnit`; null: the row is no call.',
      example: 0.2506,
    }),
    price: PriceFactors.nullable().describe('How it was priced; null: it was not, or long ago.'),
    request: z.string().optional().describe('The request as it was captured; with `bodies=true`.'),
    response: z.string().optional().describe('The answer as it was captured; with `bodies=true`.'),
  })
  .meta({
    id: 'LogFileRow',
    description: 'A row of an export. In CSV `price` is a column for each factor.',
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
  start_timestamp: LenientNumber.describe('Seconds, inclusive; 0: from the first on.'),
  end_timestamp: LenientNumber.describe('Seconds, inclusive; 0: up to the last.'),
  request_id: z
    .string()
    .max(64)
    .default('')
    .describe('Request id, exact; empty: all. Gatehouse only.'),
}
/** Case-sensitive substrings of captured requests and responses. */
const BodyFilter = {
  request: Exact.describe('What a captured request contains, case as written. Gatehouse only.'),
  response: Exact.describe('What a captured answer contains, case as written. Gatehouse only.'),
}
const Paging = {
  p: Page,
  before: z.string().max(40).default('').meta({
    description:
      '`<created_at>-<id>` of the last row seen: the page after it; beats `p`. Gatehouse only.',
    example: '1790003600-4711',
  }),
}
const AdminFilter = {
  ...OwnFilter,
  username: Exact.describe('The name that the user had then, exact; empty: all.'),
  user_id: LenientFilter.describe(
    'One person, whatever the name was when the row was written; 0: all. Gatehouse only.',
  ),
  channel: LenientFilter.describe('Id of a channel; 0: all.'),
}

const Sums = z
  .object({
    quota: z.int().describe('Points consumed.'),
    prompt_token: z.int().describe('Prompt tokens.'),
    completion_token: z.int().describe('Completion tokens.'),
    token: z.int().describe('Prompt and completion together.'),
  })
  .meta({ id: 'LogSums', description: 'Sums of the consumption that a filter finds.' })

const Searched = z.object({
  searched_from: EpochSeconds.optional().describe(
    'Only beside rows found by `request` or `response`, when the search stopped before its end: everything from this second on has been searched. `before=<searched_from>-0` goes on.',
  ),
})

const Format = {
  format: z.enum(['json', 'csv', 'ndjson']).catch('json').describe('Of the file; else `json`.'),
  tz: z.string().max(64).default('').meta({
    description: 'Time zone of the times in CSV; empty: UTC.',
    example: 'Asia/Shanghai',
  }),
  bodies: z.string().default('').meta({
    description: '`true`: captured requests and answers are in the file.',
    example: 'true',
  }),
}

const Cleanup = z
  .object({
    running: z.boolean().describe('Whether it goes on.'),
    target_timestamp: EpochSeconds.describe(
      'Seconds; rows before this are deleted. 0: there was no run yet.',
    ),
    deleted: z.int().describe('Rows deleted so far.'),
  })
  .meta({ id: 'LogCleanup', description: 'How far deleting rows is.' })
export type Cleanup = z.infer<typeof Cleanup>

const file = {
  answer: 'stream',
  data: LogFileRow,
  refusals: ['log_time_zone_unknown', 'log_export_running', 'log_export_busy'],
} as const

const ById = byId('Id of the row.')

export const logApi = {
  list: get('/api/log/', {
    name: 'listLogs',
    summary: 'Rows of all users, a page of ten at a time, newest first.',
    access: 'admin',
    query: z.object({ ...AdminFilter, ...BodyFilter, ...Paging }),
    data: z.array(Log),
    extra: Searched,
  }),
  listSelf: get('/api/log/self', {
    name: 'listOwnLogs',
    summary: 'Own rows, a page of ten at a time, newest first.',
    access: 'user',
    query: z.object({ ...OwnFilter, ...BodyFilter, ...Paging }),
    data: z.array(Log),
    extra: Searched,
  }),
  search: get('/api/log/search', {
    name: 'searchLogs',
    summary: 'The newest rows of a type number, with a request id, or whose content begins so.',
    access: 'admin',
    query: keyword('A type number, a request id, or what the content begins with.', '倍率'),
    data: z.array(Log),
  }),
  searchSelf: get('/api/log/self/search', {
    name: 'searchOwnLogs',
    summary: 'The newest own rows of a type number or with a request id.',
    access: 'user',
    query: keyword('A type number or a request id.', '2'),
    data: z.array(Log),
  }),
  export: get('/api/log/export/', {
    name: 'exportLogs',
    summary: 'All rows of a filter as a file, newest first.',
    access: 'admin',
    query: z.object({ ...AdminFilter, ...BodyFilter, ...Format }),
    ...file,
  }),
  exportSelf: get('/api/log/self/export/', {
    name: 'exportOwnLogs',
    summary: 'All own rows of a filter as a file, newest first.',
    access: 'user',
    query: z.object({ ...OwnFilter, ...BodyFilter, ...Format }),
    ...file,
  }),
  remove: del('/api/log/', {
    name: 'deleteLogs',
    summary: 'Deletes the rows of all users before a second.',
    access: 'admin',
    query: z.object({
      target_timestamp: LenientNumber.describe('Seconds; rows before this are deleted.'),
    }),
    data: z.int().meta({ description: 'Rows deleted so far.', example: 1200 }),
    extra: z.object({
      running: z
        .boolean()
        .optional()
        .describe(
          'The run takes longer than a call may; `GET /api/log/cleanup` tells how far it is.',
        ),
    }),
  }),
  cleanup: get('/api/log/cleanup', {
    name: 'getLogCleanup',
    summary: 'How far deleting rows is.',
    access: 'admin',
    data: Cleanup,
  }),
  stat: get('/api/log/stat', {
    name: 'getLogSums',
    summary: 'Sums of the consumption of all users that a filter finds.',
    access: 'admin',
    query: z.object(AdminFilter),
    data: Sums,
  }),
  statSelf: get('/api/log/self/stat', {
    name: 'getOwnLogSums',
    summary: 'Sums of the own consumption that a filter finds.',
    access: 'user',
    query: z.object(OwnFilter),
    data: Sums,
  }),
  find: get('/api/log/:id', {
    name: 'getLog',
    summary: 'One row with its price, its route and what was captured.',
    access: 'admin',
    params: ById,
    data: LogDetailOfAll,
  }),
  findSelf: get('/api/log/self/:id', {
    name: 'getOwnLog',
    summary: 'One of the own rows with its price and what was captured.',
    access: 'user',
    params: ById,
    data: LogDetail,
  }),
}
