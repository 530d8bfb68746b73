import { z } from 'zod'
import { get, put } from './endpoint.ts'
import { LIMIT_COUNT_MAX } from './limit.ts'
import { QUOTA_MAX } from './quota.ts'
import { byId, EpochSeconds, optional, Quota } from './wire.ts'

const count = optional(z.int().min(0).max(LIMIT_COUNT_MAX))
const budget = optional(Quota.min(0).max(QUOTA_MAX))

const requests = 'Maximum number of calls that start within any 60 seconds.'
const tokens =
  'Maximum prompt and completion tokens: those settled within the last 60 seconds and those that running calls may still use.'
const calls = 'Maximum number of concurrent calls.'
const points = (period: string) => `Points per ${period}, in the time zone of \`LimitTimeZone\`.`
const day = points('day')
const week = points('week, starting on Monday')
const month = points('month')

const LimitFields = z.object({
  requests_per_minute: count.describe(requests),
  tokens_per_minute: count.describe(tokens),
  calls_at_once: count.describe(calls),
  quota_per_day: budget.describe(day),
  quota_per_week: budget.describe(week),
  quota_per_month: budget.describe(month),
})

/**
 * Also accepts limits in the shape of a response: scripts read a token, change one member and send
 * everything back.
 */
export const LimitInput = z
  .preprocess((value) => {
    const limits: unknown = Object(value).limits
    return typeof limits === 'object' && limits !== null ? limits : value
  }, LimitFields)
  .meta({
    id: 'LimitInput',
    description:
      'Limits of a user or token. 0 or omitted: no limit of this kind; the whole set is replaced. A `LimitStanding` from a response is accepted too.',
  })
export type LimitInput = z.infer<typeof LimitInput>

const Limits = z
  .object({
    requests_per_minute: z.int().describe(requests),
    tokens_per_minute: z.int().describe(tokens),
    calls_at_once: z.int().describe(calls),
    quota_per_day: Quota.describe(day),
    quota_per_week: Quota.describe(week),
    quota_per_month: Quota.describe(month),
  })
  .meta({
    id: 'Limits',
    description: 'All six limits or their usage; 0: no limit of this kind, or no usage.',
  })
export type Limits = z.infer<typeof Limits>

export const LimitStanding = z
  .object({
    limits: Limits.describe('The limits; 0: no limit of this kind.'),
    used: Limits.describe('Current usage of each, including running calls.'),
    day_ends_at: EpochSeconds.describe('End of the current day, in epoch seconds.'),
    week_ends_at: EpochSeconds.describe('End of the current week, in epoch seconds.'),
    month_ends_at: EpochSeconds.describe('End of the current month, in epoch seconds.'),
    time_zone: z.string().describe('Time zone of days and periods; an IANA name.'),
  })
  .meta({ id: 'LimitStanding', description: 'Limits with their usage.' })
export type LimitStanding = z.infer<typeof LimitStanding>

const ById = byId('Id of the token.')

export const limitApi = {
  self: get('/api/limit/self', {
    name: 'getOwnLimits',
    summary: 'Limits that administrators have set for the caller, with their usage.',
    access: 'user',
    data: LimitStanding,
  }),
  token: get('/api/limit/token/:id', {
    name: 'getTokenLimits',
    summary: 'Limits of a token whose owner has a lower role than the caller.',
    access: 'admin',
    scope: 'tokens',
    params: ById,
    data: LimitStanding,
  }),
  setToken: put('/api/limit/token/:id', {
    name: 'setTokenLimits',
    summary: 'Replaces the limits of a token whose owner has a lower role than the caller.',
    access: 'admin',
    scope: 'tokens',
    params: ById,
    body: LimitInput,
    data: LimitStanding,
  }),
}
