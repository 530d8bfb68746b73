import { z } from 'zod'
import { get, post, put } from './endpoint.ts'
import { ById, EpochSeconds, optional, Quota, Text, WholeNumber } from './wire.ts'

/** Which channel a call goes to, which it went to and why, and how the keys of channels fare. */

/**
 * Why a channel was or would not be asked. `asked`: it was; `open`: it could have been (another one
 * of its priority was drawn, or would be); `lower`: a higher priority answers first; `circuit`: too
 * many calls failed there lately; `throttled`: the upstream asked to be left alone until `until`;
 * `keys`: none of its keys may be used now; `price`: the model has no price on it; `balance`: it
 * is dearer than what was asked before, and the balance does not cover that; `protocol`: it cannot
 * answer such a call, or says too little of where it is; `disabled` by a person,
 * `auto_disabled` by the program; `group`: it serves the model to other groups only.
 */
const RouteState = z.enum([
  'asked',
  'open',
  'lower',
  'circuit',
  'throttled',
  'keys',
  'price',
  'balance',
  'protocol',
  'disabled',
  'auto_disabled',
  'group',
])
export type RouteState = z.infer<typeof RouteState>

const RouteCandidate = z.object({
  channel_id: z.int(),
  /** As it was then. */
  name: z.string(),
  /** 1: its priority is tried first; 0: it does not serve the call at all. */
  tier: z.int(),
  priority: z.int(),
  weight: z.int(),
  state: RouteState,
  /** Seconds; 0: no time is known. */
  until: EpochSeconds,
})
export type RouteCandidate = z.infer<typeof RouteCandidate>

/**
 * How asking one channel ended: `answered`, `broken` off in the middle, `abandoned` by the client;
 * or, before any answer, by the `network`, a `timeout`, a bad `status`, an unreadable `answer`, or
 * `ended` by us.
 */
const RouteAttempt = z.object({
  channel_id: z.int(),
  name: z.string(),
  /** End of the key that was used, where the channel has several; else empty. */
  key: z.string(),
  /** The channel or its key was out of use, and this call was to find out whether it still is. */
  is_trial: z.boolean(),
  /** The conversation was served there last. */
  stays: z.boolean().optional(),
  result: z.enum([
    'answered',
    'broken',
    'abandoned',
    'network',
    'timeout',
    'status',
    'answer',
    'ended',
  ]),
  /** What the upstream answered; 0: nothing. */
  status: z.int(),
  /** The upstream's own name for what was wrong; or empty. */
  code: z.string(),
  /** Milliseconds. */
  elapsed_ms: z.int(),
})
export type RouteAttempt = z.infer<typeof RouteAttempt>

/** How a call went that the first choice did not simply answer. */
export const RouteTrace = z.object({
  created_at: EpochSeconds,
  /** `answered`: a channel did; `failed`: none did; `no_channel`: there was none to ask. */
  outcome: z.enum(['answered', 'failed', 'no_channel']),
  username: z.string(),
  token_name: z.string(),
  /** As the client named it. */
  model: z.string(),
  /** The group whose channels were asked. */
  group: z.string(),
  attempts: z.array(RouteAttempt),
  channels: z.array(RouteCandidate),
  /** Further channels that are not listed. */
  omitted: z.int(),
})
export type RouteTrace = z.infer<typeof RouteTrace>

/** What a call would cost; ratios as decimal text. */
const ForecastPrice = z.object({
  /** Name the price is looked up under. */
  priced_as: z.string(),
  model_ratio: z.string(),
  completion_ratio: z.string(),
  group_ratio: z.string(),
  /** Dollars a call, where the model is sold by the call. */
  model_price: z.string().optional(),
  /** Points for the tokens that were asked about. */
  cost: Quota,
})

export const RouteForecast = z.object({
  /** Why the call would be refused before any channel is asked; null: it would not. */
  refusal: z.object({ code: z.string(), message: z.string() }).nullable(),
  model: z.string(),
  /** The group whose channels would be asked; empty: none has one. */
  group: z.string(),
  /** All groups of the caller, in the order they are tried. */
  groups: z.array(z.string()),
  channels: z.array(
    RouteCandidate.extend({
      /** Share of such calls that would be sent to it first, 0 to 1. */
      probability: z.number(),
      /** It gets the first attempt because the conversation was served there last. */
      stays: z.boolean(),
      /** The model's name as the channel's upstream would be told. */
      sent_model: z.string(),
      /** Null: it has none on this channel. */
      price: ForecastPrice.nullable(),
    }),
  ),
  omitted: z.int(),
  /** Attempts that the call may make. */
  attempts_max: z.int(),
})
export type RouteForecast = z.infer<typeof RouteForecast>

const RouteQuestion = z.object({
  /** Name or id of the user who would call; empty: anybody of `group`. */
  user: optional(Text),
  /** Name or id of one of the user's tokens, whose limits count; an id may stand alone. */
  token: optional(Text),
  /** Comma list of groups; empty: that of the token, those of the user, or `default`. */
  group: optional(Text),
  model: Text,
  /** Path of the call; empty: `/v1/chat/completions`. */
  path: optional(Text),
  /**
   * What the call names its conversation: `prompt_cache_key`, or `user_id` of Anthropic's
   * `metadata`. It is looked for among those of the user.
   */
  conversation: optional(Text),
  /** How long a prompt and an answer the price is told for. */
  prompt_tokens: optional(z.int().min(0).max(1_000_000_000)),
  completion_tokens: optional(z.int().min(0).max(1_000_000_000)),
})
export type RouteQuestion = z.infer<typeof RouteQuestion>

const ChannelKey = z.object({
  /** Names the key; it says nothing of it. */
  id: z.string(),
  /** The key's last characters. */
  tail: z.string(),
  /**
   * `in_use`; `throttled`: the upstream wants it left alone; `circuit`: too many calls with it
   * failed lately; `paused`: the upstream refused it, and it is tried again by and by; `off`: a
   * person has paused it, until a person resumes it.
   */
  state: z.enum(['in_use', 'throttled', 'circuit', 'paused', 'off']),
  /** What the upstream answered when it refused the key; 0: it did not. */
  status: z.int(),
  cause: z.string(),
  /** Seconds; 0: it is in use. */
  since: EpochSeconds,
  /** When it is next tried, or may be used again; seconds, 0: now. */
  until: EpochSeconds,
})
export type ChannelKey = z.infer<typeof ChannelKey>

const KeyChange = z.object({
  id: WholeNumber,
  /** `id` of one of its keys; of no account where the action is about all. */
  key_id: optional(Text),
  /**
   * `resume`: it is used again at once; `pause`: it is not used until it is resumed; `remove`: the
   * channel no longer holds it; `resume_all`; `remove_refused`: those that the upstream has
   * refused.
   */
  action: z.enum(['resume', 'pause', 'remove', 'resume_all', 'remove_refused']),
})
export type KeyChange = z.infer<typeof KeyChange>

export const routeApi = {
  forecast: post('/api/channel/route', {
    access: 'admin',
    body: RouteQuestion,
    data: RouteForecast,
    summary: 'Where a call would go, what it would cost, and why not elsewhere. Nothing is sent.',
  }),
  trace: get('/api/channel/route/:request_id', {
    access: 'admin',
    params: z.object({ request_id: z.string().max(64) }),
    data: RouteTrace,
    summary: 'How a call went that the first choice did not simply answer, served or not.',
  }),
  keys: get('/api/channel/key/:id', {
    access: 'admin',
    params: ById,
    data: z.array(ChannelKey),
    summary: 'How the keys of a channel fare. The keys themselves are not told.',
  }),
  changeKey: put('/api/channel/key/', {
    access: 'admin',
    body: KeyChange,
    data: z.array(ChannelKey),
    summary: 'Pauses, resumes or removes one of several keys, or all that were set aside.',
  }),
}
