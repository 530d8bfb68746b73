import { z } from 'zod'
import { get, post, put } from './endpoint.ts'
import { byId, EpochSeconds, optional, Quota, Text, WholeNumber } from './wire.ts'

/** Which channel a call uses or used and why, and the state of channel keys. */

const RouteState = z
  .enum([
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
  .meta({
    id: 'RouteState',
    description:
      'Why a channel was or was not used. `asked`: it was tried; `open`: it was available (another one of its priority was selected); `lower`: a higher priority is tried first; `circuit`: too many recent failures; `throttled`: rate-limited by the upstream until `until`; `keys`: it has no usable key; `price`: the model has no price on it; `balance`: it is more expensive than earlier attempts, and the balance does not cover that; `protocol`: it does not support this endpoint, or lacks an address; `disabled`: manually; `auto_disabled`: automatically; `group`: it serves the model only to other groups.',
  })
export type RouteState = z.infer<typeof RouteState>

const channelName = { description: 'Name of the channel at that time.', example: '主渠道' }
const channel_id = z.int().meta({ description: 'Id of the channel.', example: 4 })

const candidate = {
  channel_id,
  name: z.string().meta(channelName),
  tier: z.int().meta({
    description: 'Level of the priority, 1 for the highest; 0: it cannot serve the call.',
    example: 1,
  }),
  priority: z.int().describe('Priority of the channel.'),
  weight: z.int().describe('Weight of the channel.'),
  state: RouteState,
  until: EpochSeconds.meta({
    description: 'End of the state, in epoch seconds; 0: unknown.',
    example: 0,
  }),
}
const RouteCandidate = z
  .object(candidate)
  .meta({ id: 'RouteCandidate', description: 'A channel that serves the model.' })
export type RouteCandidate = z.infer<typeof RouteCandidate>

const RouteAttempt = z
  .object({
    channel_id,
    name: z.string().meta(channelName),
    key: z.string().meta({
      description: 'Last characters of the key that was used; empty if the channel has only one.',
      example: '…x7Kq',
    }),
    is_trial: z
      .boolean()
      .describe('Whether the channel or its key was paused and this call tested it again.'),
    stays: z
      .boolean()
      .optional()
      .describe('Whether the previous call of the conversation used this channel.'),
    result: z
      .enum(['answered', 'broken', 'abandoned', 'network', 'timeout', 'status', 'answer', 'ended'])
      .describe(
        '`answered`: complete response; `broken`: the response broke off; `abandoned`: the client disconnected. Failures before a response: `network`; `timeout`; `status`: error status; `answer`: invalid response; `ended`: ended by Gatehouse.',
      ),
    status: z.int().meta({
      description: 'HTTP status of the upstream; 0: no response.',
      example: 200,
    }),
    code: z.string().meta({
      description: 'Error code of the upstream, or empty.',
      example: '',
    }),
    message: z.string().optional().meta({
      description: 'Error message of the upstream, without secrets; omitted if empty.',
      example: 'Insufficient Balance',
    }),
    elapsed_ms: z
      .int()
      .meta({ description: 'Duration of the attempt in milliseconds.', example: 1240 }),
  })
  .meta({ id: 'RouteAttempt', description: 'An attempt on one channel and its result.' })
export type RouteAttempt = z.infer<typeof RouteAttempt>

const omitted = z.int().describe('Number of further channels that are not listed.')

export const RouteTrace = z
  .object({
    created_at: EpochSeconds.describe('Time of the call, in epoch seconds.'),
    outcome: z
      .enum(['answered', 'failed', 'no_channel'])
      .describe(
        '`answered`: a channel served it; `failed`: all attempts failed; `no_channel`: no channel was available.',
      ),
    username: z.string().describe('Name of the user.'),
    token_name: z.string().describe('Name of the token.'),
    model: z.string().describe('Model name in the request.'),
    group: z.string().describe('Group that was charged.'),
    attempts: z.array(RouteAttempt).describe('Channels that were tried, in order.'),
    channels: z.array(RouteCandidate).describe('Channels that serve the model.'),
    omitted,
  })
  .meta({
    id: 'RouteTrace',
    description: 'Route of a call that the first choice did not serve at once.',
  })
export type RouteTrace = z.infer<typeof RouteTrace>

const decimal = (description: string, example: string) =>
  z.string().meta({ description: `${description} A decimal as a string.`, example: example })

const ForecastPrice = z
  .object({
    priced_as: z.string().describe('Name under which the price is found.'),
    model_ratio: decimal('Ratio of the model.', '0.075'),
    completion_ratio: decimal('Ratio of completion tokens to prompt tokens.', '4'),
    group_ratio: decimal('Ratio of the group.', '1'),
    model_price: decimal('Dollars per call, for models priced per call.', '0.1').optional(),
    cost: Quota.meta({
      description: 'Points for the given number of tokens.',
      example: 195,
    }),
  })
  .meta({ id: 'ForecastPrice', description: 'Predicted cost of a call.' })

const ForecastCandidate = z
  .object({
    ...candidate,
    probability: z.number().meta({
      description: 'Share of such calls whose first attempt uses this channel, 0 to 1.',
      example: 0.5,
    }),
    stays: z
      .boolean()
      .describe('Whether it gets the first attempt because the conversation used it last.'),
    sent_model: z.string().meta({
      description: 'Model name sent to the channel’s upstream.',
      example: 'gpt-4o-mini',
    }),
    price: ForecastPrice.nullable().describe(
      'Price on this channel; null if the model has no price.',
    ),
  })
  .meta({ id: 'ForecastCandidate', description: 'A channel that could serve the call.' })

export const RouteForecast = z
  .object({
    refusal: z
      .object({
        code: z.string().describe('Error code.'),
        message: z.string().describe('Error message.'),
      })
      .nullable()
      .meta({
        description:
          'Reason why the call would be rejected before routing; null if it would not be rejected.',
        example: null,
      }),
    model: z.string().describe('Model name in the request.'),
    group: z.string().describe('Group whose channels would be used; empty: no group has one.'),
    groups: z.array(z.string()).meta({
      description: 'All groups of the caller, in the order in which they are tried.',
      example: ['vip', 'default'],
    }),
    channels: z.array(ForecastCandidate).describe('Channels that serve the model.'),
    omitted,
    attempts_max: z.int().meta({ description: 'Maximum number of attempts.', example: 3 }),
  })
  .meta({ id: 'RouteForecast', description: 'Predicted route of a call.' })
export type RouteForecast = z.infer<typeof RouteForecast>

const tokens = optional(z.int().min(0).max(1_000_000_000))

const RouteQuestion = z
  .object({
    user: optional(Text).meta({
      description: 'Name or id of the calling user; empty: any user of `group`.',
      example: 'li.ming',
    }),
    token: optional(Text).meta({
      description: 'Name or id of a token of the user, whose limits apply; an id needs no user.',
      example: '7',
    }),
    group: optional(Text).describe(
      'Comma-separated list of groups; empty: that of the token, those of the user, or `default`.',
    ),
    model: Text.describe('Model name in the request.'),
    path: optional(Text).meta({
      description: 'Path of the request; empty: `/v1/chat/completions`.',
      example: '/v1/chat/completions',
    }),
    conversation: optional(Text).describe(
      'Conversation id of the request: `prompt_cache_key`, or `user_id` of Anthropic’s `metadata`. Looked up among those of the user.',
    ),
    prompt_tokens: tokens.describe('Prompt tokens for the price.'),
    completion_tokens: tokens.describe('Completion tokens for the price.'),
  })
  .meta({
    id: 'RouteQuestion',
    description: 'A hypothetical call.',
    example: { group: 'default', model: 'gpt-4o-mini', prompt_tokens: 1200 },
  })
export type RouteQuestion = z.infer<typeof RouteQuestion>

const keyId = { example: '5d41402abc4b2a76' }

const ChannelKey = z
  .object({
    id: z.string().meta({ ...keyId, description: 'Id of the key, which does not reveal it.' }),
    tail: z.string().meta({ description: 'Last characters of the key.', example: '…x7Kq' }),
    state: z
      .enum(['in_use', 'throttled', 'circuit', 'paused', 'off'])
      .describe(
        '`in_use`; `throttled`: rate-limited by the upstream; `circuit`: too many recent failures; `paused`: refused by the upstream, and retried from time to time; `off`: paused manually, until resumed.',
      ),
    status: z.int().meta({
      description: 'HTTP status with which the upstream refused the key; 0: it did not.',
      example: 0,
    }),
    cause: z.string().describe('Message with which the upstream refused the key, or empty.'),
    since: EpochSeconds.meta({
      description: 'Start of the state, in epoch seconds; 0: in use.',
      example: 0,
    }),
    until: EpochSeconds.meta({
      description: 'Time of the next attempt, in epoch seconds; 0: now.',
      example: 0,
    }),
  })
  .meta({ id: 'ChannelKey', description: 'State of a channel’s key.' })
export type ChannelKey = z.infer<typeof ChannelKey>

const KeyChange = z
  .object({
    id: WholeNumber.meta({ description: 'Id of the channel.', example: 4 }),
    key_id: optional(Text).meta({
      ...keyId,
      description: '`id` of a key of the channel; ignored by actions on all keys.',
    }),
    action: z
      .enum(['resume', 'pause', 'remove', 'resume_all', 'remove_refused'])
      .describe(
        '`resume`: use it again immediately; `pause`: do not use it until resumed; `remove`: remove it from the channel; `resume_all`: resume all keys; `remove_refused`: remove all keys that the upstream refused.',
      ),
  })
  .meta({ id: 'KeyChange', description: 'An action on a channel’s key.' })
export type KeyChange = z.infer<typeof KeyChange>

export const routeApi = {
  forecast: post('/api/channel/route', {
    name: 'forecastRoute',
    summary:
      'Predicts the route of a call, its cost, and why other channels are not used. Sends nothing.',
    access: 'admin',
    scope: 'channels',
    body: RouteQuestion,
    data: RouteForecast,
  }),
  trace: get('/api/channel/route/:request_id', {
    name: 'getRouteTrace',
    summary: 'Route of a call that the first choice did not serve at once, successful or not.',
    access: 'admin',
    scope: 'channels',
    params: z.object({ request_id: z.string().max(64).describe('Request id of the call.') }),
    data: RouteTrace,
    refusals: ['log_store_unavailable'],
  }),
  keys: get('/api/channel/key/:id', {
    name: 'listChannelKeys',
    summary: 'State of a channel’s keys, without the keys themselves.',
    access: 'admin',
    scope: 'channels',
    params: byId('Id of the channel.', 4),
    data: z.array(ChannelKey),
  }),
  changeKey: put('/api/channel/key/', {
    name: 'changeChannelKey',
    summary: 'Pauses, resumes or removes one key, or all paused ones.',
    access: 'admin',
    scope: 'channels',
    body: KeyChange,
    data: z.array(ChannelKey),
  }),
}
