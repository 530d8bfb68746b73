import { z } from 'zod'
import { DASHBOARD_DIMENSIONS, DASHBOARD_UNITS } from './dashboard.ts'
import { get } from './endpoint.ts'
import { EpochSeconds, LenientFilter, LenientNumber, Quota } from './wire.ts'

/** A week of one's own consumption, as the One API family names it. */
const DayOfModel = z.object({
  /** `2027-01-15`, UTC. */
  Day: z.string(),
  ModelName: z.string(),
  RequestCount: z.int(),
  /** Points. */
  Quota,
  PromptTokens: z.int(),
  CompletionTokens: z.int(),
})

const Figures = {
  requests: z.int(),
  /** Points. */
  quota: Quota,
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
}
const Sums = z.object(Figures)

const Bucket = z.object({
  /** First second of the viewer's day or of the hour. */
  start: EpochSeconds,
  ...Figures,
  /** Calls that came to nothing; they are no part of `requests`. */
  failures: z.int(),
})

const Named = z.object({
  /** Model, token or user name, or a channel's id. */
  name: z.string(),
  /** Whose it is, with the name that the user has now: of everybody's, by token and by user. */
  user_id: z.int().optional(),
  username: z.string().optional(),
  ...Figures,
  /** One for each bucket; empty for names far down and for dimensions that are only summed. */
  series: z.array(Sums),
})

const Overview = z.object({
  buckets: z.array(Bucket),
  totals: z.object({ ...Figures, failures: z.int() }),
  /** The same length of time before. */
  previous: z.object({ ...Figures, failures: z.int() }),
  /** By quota, most first; what is not among them is the rest of the totals. */
  names: z.array(Named),
})
export type Overview = z.infer<typeof Overview>

const FailedCall = z.object({
  request_id: z.string(),
  created_at: EpochSeconds,
  user_id: z.int(),
  /** As it is now. */
  username: z.string(),
  token_name: z.string(),
  /** Empty: nobody serves what was asked for, or the call was refused before that was looked at. */
  model_name: z.string(),
  /** For administrators; 0: none had been chosen. */
  channel: z.int(),
  /** What the client was told: the status of HTTP, the error's code and its sentence. */
  status: z.int(),
  code: z.string(),
  message: z.string(),
})
export type FailedCall = z.infer<typeof FailedCall>

const FailureFilter = z.object({
  p: LenientNumber,
  /** Seconds, inclusive; 0: from the first on. */
  start_timestamp: LenientNumber,
  /** Seconds, exclusive; 0: up to the last. */
  end_timestamp: LenientNumber,
  /** As every answer carries it. */
  request_id: z.string().max(64).default(''),
  token_name: z.string().max(256).default(''),
  model_name: z.string().max(256).default(''),
  /** The next three: administrators only. The name that the user has now. */
  username: z.string().max(256).default(''),
  user_id: LenientFilter,
  channel: LenientFilter,
})

const Range = z.object({
  /** Seconds, inclusive; whole hours are summed. */
  start_timestamp: LenientNumber,
  /** Seconds, exclusive. */
  end_timestamp: LenientNumber,
  /** The viewer's time zone, such as `Europe/Berlin`; days begin at its midnight. */
  tz: z.string().max(64).catch(''),
  /** Where no zone is named: how far the viewer's clock is ahead of UTC, minutes. */
  offset_minutes: z.coerce.number().int().min(-840).max(840).catch(0),
  unit: z.enum(DASHBOARD_UNITS).catch('day'),
  by: z.enum(DASHBOARD_DIMENSIONS).catch('model'),
})

export const dashboardApi = {
  week: get('/api/user/dashboard', {
    access: 'user',
    data: z.array(DayOfModel),
    summary: 'Own consumption of the last seven days (UTC) by day and model.',
  }),
  overview: get('/api/dashboard', {
    access: 'user',
    query: Range,
    data: Overview,
    summary: 'Sums of a range by hour or day and by name: own ones, for admins those of all.',
  }),
  failures: get('/api/dashboard/failures', {
    access: 'user',
    query: FailureFilter,
    data: z.array(FailedCall),
    summary: 'Calls of two weeks that came to nothing, newest first: own ones, for admins all.',
  }),
}
