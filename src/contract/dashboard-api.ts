import { z } from 'zod'
import { DASHBOARD_DIMENSIONS, DASHBOARD_UNITS, type UsageFileColumn } from './dashboard.ts'
import { get } from './endpoint.ts'
import { EpochSeconds, LenientFilter, LenientNumber, Page, Quota } from './wire.ts'

const DayOfModel = z
  .object({
    Day: z.string().meta({ description: 'Day in UTC.', example: '2027-01-15' }),
    ModelName: z.string().meta({ description: 'Name of the model.', example: 'gpt-4o-mini' }),
    RequestCount: z.int().meta({ description: 'Number of billed calls.', example: 318 }),
    Quota: Quota.meta({ description: 'Points consumed.', example: 125_300 }),
    PromptTokens: z.int().meta({ description: 'Prompt tokens.', example: 120_000 }),
    CompletionTokens: z.int().meta({ description: 'Completion tokens.', example: 35_000 }),
  })
  .meta({
    id: 'DayOfModel',
    description: 'The caller’s consumption of a model on one day, with One API’s names.',
  })

const figures = {
  requests: z.int().meta({ description: 'Number of billed calls.', example: 318 }),
  quota: Quota.describe('Points consumed.'),
  prompt_tokens: z.int().describe('Prompt tokens.'),
  completion_tokens: z.int().describe('Completion tokens.'),
}
const failures = z.int().describe('Number of failed calls, which are not included in `requests`.')

const Sums = z.object(figures).meta({ id: 'UsageSums', description: 'Sums of usage.' })
const SumsWithFailures = z
  .object({ ...figures, failures })
  .meta({ id: 'UsageTotals', description: 'Sums of usage, with the number of failed calls.' })

const Bucket = z
  .object({
    start: EpochSeconds.meta({
      description: 'Start of the hour or of the viewer’s day, in epoch seconds.',
      example: 1_789_948_800,
    }),
    ...figures,
    failures,
  })
  .meta({ id: 'UsageBucket', description: 'Usage in a day or an hour.' })

const Named = z
  .object({
    name: z.string().meta({
      description: 'Name of the model, token or user, or id of the channel.',
      example: 'gpt-4o-mini',
    }),
    user_id: z
      .int()
      .optional()
      .describe('Id of the user; only in statistics of all users by token and by user.'),
    username: z.string().optional().describe('Current name of the user.'),
    ...figures,
    series: z
      .array(Sums)
      .describe(
        'One value per bucket; empty for names with less usage, and for dimensions that only have totals.',
      ),
  })
  .meta({ id: 'UsageByName', description: 'Usage of one name.' })

const Overview = z
  .object({
    buckets: z.array(Bucket).describe('Days or hours of the range, in order.'),
    totals: SumsWithFailures.describe('Totals of the range.'),
    previous: SumsWithFailures.describe('Totals of the preceding range of the same length.'),
    names: z
      .array(Named)
      .describe(
        'Names by quota, highest first. The rest of the totals belongs to names that are not listed.',
      ),
  })
  .meta({ id: 'Dashboard', description: 'Usage in a range.' })
export type Overview = z.infer<typeof Overview>

const FailedCall = z
  .object({
    request_id: z.string().describe('Request id of the call.'),
    created_at: EpochSeconds.describe('Time of the call, in epoch seconds.'),
    user_id: z.int().describe('Id of the user.'),
    username: z.string().describe('Current name of the user.'),
    token_name: z.string().describe('Name of the token.'),
    model_name: z
      .string()
      .describe(
        'Requested model; empty if no channel serves it, or the call was rejected before the group was determined.',
      ),
    channel: z.int().describe('Id of the channel, for administrators; 0: none was selected.'),
    status: z.int().meta({ description: 'HTTP status that the client received.', example: 429 }),
    code: z
      .string()
      .meta({ description: 'Error code that the client received.', example: 'limit_requests' }),
    message: z
      .string()
      .meta({ description: 'Error message that the client received.', example: '请求过于频繁' }),
  })
  .meta({ id: 'FailedCall', description: 'A failed call.' })
export type FailedCall = z.infer<typeof FailedCall>

const Exact = z.string().max(256).default('')

const FailureFilter = z.object({
  p: Page,
  start_timestamp: LenientNumber.describe('Epoch seconds, inclusive; 0: no lower limit.'),
  end_timestamp: LenientNumber.describe('Epoch seconds, exclusive; 0: no upper limit.'),
  request_id: z.string().max(64).default('').describe('Request id, exact; empty: all.'),
  token_name: Exact.describe('Name of a token, exact; empty: all.'),
  model_name: Exact.describe('Name of a model, exact; empty: all.'),
  username: Exact.describe('Current name of the user, exact; administrators only.'),
  user_id: LenientFilter.describe('Id of a user; administrators only; 0: all.'),
  channel: LenientFilter.describe('Id of a channel; administrators only; 0: all.'),
})

/** Usage of one model by one user. */
const UsageFileRow = z.object({
  user_id: z.int().meta({ description: 'Id of the user; `total` in the last row.', example: 7 }),
  username: z.string().meta({ description: 'Current name of the user.', example: 'alice' }),
  model_name: z.string().meta({ description: 'Name of the model.', example: 'gpt-4o-mini' }),
  requests: figures.requests,
  prompt_tokens: figures.prompt_tokens,
  completion_tokens: figures.completion_tokens,
  quota: figures.quota,
  cost_usd: z
    .number()
    .meta({ description: 'Dollars with the current `QuotaPerUnit`.', example: 0.2506 }),
} satisfies Record<UsageFileColumn, z.ZodType>)

const Range = z.object({
  start_timestamp: LenientNumber.describe('Epoch seconds, inclusive; rounded down to the hour.'),
  end_timestamp: LenientNumber.describe('Epoch seconds, exclusive; rounded up to the hour.'),
  tz: z.string().max(64).catch('').meta({
    description: 'Time zone of the viewer, in which days begin.',
    example: 'Europe/Berlin',
  }),
  offset_minutes: z.coerce.number().int().min(-840).max(840).catch(0).meta({
    description: 'Offset from UTC in minutes, positive to the east; used if no time zone is given.',
    example: 0,
  }),
  unit: z.enum(DASHBOARD_UNITS).catch('day').describe('Length of a bucket; `day` if omitted.'),
  by: z
    .enum(DASHBOARD_DIMENSIONS)
    .catch('model')
    .describe('Breakdown of the figures; channels and users for administrators only.'),
})

export const dashboardApi = {
  week: get('/api/user/dashboard', {
    name: 'getOwnWeek',
    summary: 'The caller’s consumption of the last seven days (UTC) by day and model.',
    access: 'user',
    scope: 'logs',
    data: z.array(DayOfModel),
  }),
  overview: get('/api/dashboard', {
    name: 'getDashboard',
    summary:
      'Statistics of a range by hour or day and by name: the caller’s own, for administrators those of all users.',
    access: 'user',
    scope: 'logs',
    query: Range,
    data: Overview,
  }),
  failures: get('/api/dashboard/failures', {
    name: 'listFailedCalls',
    summary:
      'Failed calls of the last two weeks, newest first: the caller’s own, for administrators those of all users.',
    access: 'user',
    scope: 'logs',
    query: FailureFilter,
    data: z.array(FailedCall),
  }),
  export: get('/api/dashboard/export', {
    name: 'exportUsage',
    summary: 'Consumption of all users by model in a range, as a CSV file with totals.',
    access: 'admin',
    scope: 'logs',
    query: z.object({
      start_timestamp: LenientNumber.describe(
        'Epoch seconds, inclusive; rounded down to the hour.',
      ),
      end_timestamp: LenientNumber.describe(
        'Epoch seconds, exclusive; rounded down to the hour, at most 366 days after the start.',
      ),
    }),
    answer: 'stream',
    isTable: true,
    data: UsageFileRow,
    refusals: ['dashboard_range_invalid', 'log_export_running', 'log_export_busy'],
  }),
}
