import { z } from 'zod'
import { DASHBOARD_DIMENSIONS, DASHBOARD_UNITS, type UsageFileColumn } from './dashboard.ts'
import { get } from './endpoint.ts'
import { EpochSeconds, LenientFilter, LenientNumber, Page, Quota } from './wire.ts'

const DayOfModel = z
  .object({
    Day: z.string().meta({ description: 'Day in UTC.', example: '2027-01-15' }),
    ModelName: z.string().meta({ description: 'The model.', example: 'gpt-4o-mini' }),
    RequestCount: z.int().meta({ description: 'Billed calls.', example: 318 }),
    Quota: Quota.meta({ description: 'Points consumed.', example: 125_300 }),
    PromptTokens: z.int().meta({ description: 'Prompt tokens.', example: 120_000 }),
    CompletionTokens: z.int().meta({ description: 'Completion tokens.', example: 35_000 }),
  })
  .meta({
    id: 'DayOfModel',
    description: 'Own consumption of a day by a model, as the One API family names it.',
  })

const figures = {
  requests: z.int().meta({ description: 'Billed calls.', example: 318 }),
  quota: Quota.describe('Points consumed.'),
  prompt_tokens: z.int().describe('Prompt tokens.'),
  completion_tokens: z.int().describe('Completion tokens.'),
}
const failures = z.int().describe('Calls that came to nothing; they are no part of `requests`.')

const Sums = z.object(figures).meta({ id: 'UsageSums', description: 'What was used.' })
const SumsWithFailures = z
  .object({ ...figures, failures })
  .meta({ id: 'UsageTotals', description: 'What was used, and what failed.' })

const Bucket = z
  .object({
    start: EpochSeconds.meta({
      description: 'First second of the viewer’s day or of the hour.',
      example: 1_789_948_800,
    }),
    ...figures,
    failures,
  })
  .meta({ id: 'UsageBucket', description: 'What was used in a day or an hour.' })

const Named = z
  .object({
    name: z.string().meta({
      description: 'Model, token or user name, or a channel’s id.',
      example: 'gpt-4o-mini',
    }),
    user_id: z
      .int()
      .optional()
      .describe('Whose it is; only of everybody’s figures by token and by user.'),
    username: z.string().optional().describe('The name that this user has now.'),
    ...figures,
    series: z
      .array(Sums)
      .describe(
        'One for each bucket; empty for names far down and for dimensions that are only summed.',
      ),
  })
  .meta({ id: 'UsageByName', description: 'What was used under one name.' })

const Overview = z
  .object({
    buckets: z.array(Bucket).describe('Days or hours of the range, in order.'),
    totals: SumsWithFailures.describe('Sums of the range.'),
    previous: SumsWithFailures.describe('Sums of the same length of time before.'),
    names: z
      .array(Named)
      .describe('By quota, most first; what is not among them is the rest of the totals.'),
  })
  .meta({ id: 'Dashboard', description: 'What was used in a range.' })
export type Overview = z.infer<typeof Overview>

const FailedCall = z
  .object({
    request_id: z.string().describe('As the answer carried it.'),
    created_at: EpochSeconds.describe('When it was made, in seconds.'),
    user_id: z.int().describe('Who made it.'),
    username: z.string().describe('The name that this user has now.'),
    token_name: z.string().describe('The token it was made with.'),
    model_name: z
      .string()
      .describe(
        'Empty: nobody serves what was asked for, or the call was refused before that was looked at.',
      ),
    channel: z.int().describe('Id of the channel, for administrators; 0: none had been chosen.'),
    status: z.int().meta({ description: 'HTTP status that the client was told.', example: 429 }),
    code: z
      .string()
      .meta({ description: 'Code that the client was told.', example: 'limit_requests' }),
    message: z
      .string()
      .meta({ description: 'Sentence that the client was told.', example: '请求过于频繁' }),
  })
  .meta({ id: 'FailedCall', description: 'A call that came to nothing.' })
export type FailedCall = z.infer<typeof FailedCall>

const Exact = z.string().max(256).default('')

const FailureFilter = z.object({
  p: Page,
  start_timestamp: LenientNumber.describe('Seconds, inclusive; 0: from the first on.'),
  end_timestamp: LenientNumber.describe('Seconds, exclusive; 0: up to the last.'),
  request_id: z
    .string()
    .max(64)
    .default('')
    .describe('As every answer carries it, exact; empty: all.'),
  token_name: Exact.describe('Exact; empty: all.'),
  model_name: Exact.describe('Exact; empty: all.'),
  username: Exact.describe('The name that the user has now, exact; administrators only.'),
  user_id: LenientFilter.describe('Administrators only; 0: all.'),
  channel: LenientFilter.describe('Id of a channel; administrators only; 0: all.'),
})

/** What one user used of one model. */
const UsageFileRow = z.object({
  user_id: z
    .int()
    .meta({ description: 'Who made the calls; `total` in the last line.', example: 7 }),
  username: z.string().meta({ description: 'The name that this user has now.', example: 'alice' }),
  model_name: z.string().meta({ description: 'The model.', example: 'gpt-4o-mini' }),
  requests: figures.requests,
  prompt_tokens: figures.prompt_tokens,
  completion_tokens: figures.completion_tokens,
  quota: figures.quota,
  cost_usd: z.number().meta({ description: 'Dollars at today’s `QuotaPerUnit`.', example: 0.2506 }),
} satisfies Record<UsageFileColumn, z.ZodType>)

const Range = z.object({
  start_timestamp: LenientNumber.describe('Seconds, inclusive; whole hours are summed.'),
  end_timestamp: LenientNumber.describe('Seconds, exclusive.'),
  tz: z.string().max(64).catch('').meta({
    description: 'The viewer’s time zone; days begin at its midnight.',
    example: 'Europe/Berlin',
  }),
  offset_minutes: z.coerce.number().int().min(-840).max(840).catch(0).meta({
    description: 'Where no zone is named: how far the viewer’s clock is ahead of UTC, in minutes.',
    example: 0,
  }),
  unit: z.enum(DASHBOARD_UNITS).catch('day').describe('What a bucket is; else `day`.'),
  by: z
    .enum(DASHBOARD_DIMENSIONS)
    .catch('model')
    .describe('What names are told apart by; channels and users for administrators only.'),
})

export const dashboardApi = {
  week: get('/api/user/dashboard', {
    name: 'getOwnWeek',
    summary: 'Own consumption of the last seven days (UTC) by day and model.',
    access: 'user',
    data: z.array(DayOfModel),
  }),
  overview: get('/api/dashboard', {
    name: 'getDashboard',
    summary: 'Sums of a range by hour or day and by name: own ones, for admins those of all.',
    access: 'user',
    query: Range,
    data: Overview,
  }),
  failures: get('/api/dashboard/failures', {
    name: 'listFailedCalls',
    summary: 'Calls of two weeks that came to nothing, newest first: own ones, for admins all.',
    access: 'user',
    query: FailureFilter,
    data: z.array(FailedCall),
  }),
  export: get('/api/dashboard/export', {
    name: 'exportUsage',
    summary: 'What each user has used of each model in a range, as a CSV file with totals.',
    access: 'admin',
    query: z.object({
      start_timestamp: LenientNumber.describe(
        'Seconds, inclusive; whole hours are summed, one that is cut through with what follows it.',
      ),
      end_timestamp: LenientNumber.describe('Seconds, exclusive; at most 366 days later.'),
    }),
    answer: 'stream',
    isTable: true,
    data: UsageFileRow,
    refusals: ['dashboard_range_invalid', 'log_export_running', 'log_export_busy'],
  }),
}
