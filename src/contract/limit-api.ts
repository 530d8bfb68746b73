import { z } from 'zod'
import { get, put } from './endpoint.ts'
import { LIMIT_COUNT_MAX } from './limit.ts'
import { QUOTA_MAX } from './quota.ts'
import { ById, EpochSeconds, optional, Quota } from './wire.ts'

const count = optional(z.int().min(0).max(LIMIT_COUNT_MAX))
const budget = optional(Quota.min(0).max(QUOTA_MAX))

const LimitFields = z.object({
  /** Calls that begin within any 60 seconds. */
  requests_per_minute: count,
  /**
   * Prompt and completion tokens: those settled within the last 60 seconds and what running calls
   * may still use.
   */
  tokens_per_minute: count,
  /** Calls under way. */
  calls_at_once: count,
  /** Points per day, week from Monday, and month, in the time zone of `LimitTimeZone`. */
  quota_per_day: budget,
  quota_per_week: budget,
  quota_per_month: budget,
})

/**
 * What a user or a token may use. 0 or absent: no limit of this kind; the whole set is replaced at
 * once. Also in the shape of `LimitStanding`, as it was read: scripts of the family change one
 * member of a token and send all of it back, which must not take its limits away.
 */
export const LimitInput = z.preprocess((value) => {
  const limits: unknown = Object(value).limits
  return typeof limits === 'object' && limits !== null ? limits : value
}, LimitFields)
export type LimitInput = z.infer<typeof LimitInput>

const Limits = z.object({
  requests_per_minute: z.int(),
  tokens_per_minute: z.int(),
  calls_at_once: z.int(),
  quota_per_day: Quota,
  quota_per_week: Quota,
  quota_per_month: Quota,
})
/** All six; 0: no limit of this kind. */
export type Limits = z.infer<typeof Limits>

/** The limits, and what is used of each at this moment, running calls included. */
export const LimitStanding = z.object({
  limits: Limits,
  used: Limits,
  /** When the current day, week and month end. */
  day_ends_at: EpochSeconds,
  week_ends_at: EpochSeconds,
  month_ends_at: EpochSeconds,
  /** IANA name. */
  time_zone: z.string(),
})
export type LimitStanding = z.infer<typeof LimitStanding>

export const limitApi = {
  self: get('/api/limit/self', {
    access: 'user',
    data: LimitStanding,
    summary: 'The limits that administrators have set for the caller, and what is used of them.',
  }),
  token: get('/api/limit/token/:id', {
    access: 'admin',
    params: ById,
    data: LimitStanding,
    summary: 'The limits of anybody’s token below the caller’s role.',
  }),
  setToken: put('/api/limit/token/:id', {
    access: 'admin',
    params: ById,
    body: LimitInput,
    data: LimitStanding,
    summary: 'Replaces the limits of anybody’s token below the caller’s role.',
  }),
}
