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
      'Why a channel was or would not be asked. `asked`: it was; `open`: it could have been (another one of its priority was drawn, or would be); `lower`: a higher priority answers first; `circuit`: too many calls failed there lately; `throttled`: the upstream asked to be left alone until `until`; `keys`: none of its keys may be used now; `price`: the model has no price on it; `balance`: it is dearer than what was asked before, and the balance does not cover that; `protocol`: it cannot answer such a call, or says too little of where it is; `disabled` by a person, `auto_disabled` by the program; `group`: it serves the model to other groups only.',
  })
export type RouteState = z.infer<typeof RouteState>

const channelName = { description: 'Its name as it was then.', example: '主渠道' }
const channel_id = z.int().meta({ description: 'Id of the channel.', example: 4 })

const candidate = {
  channel_id,
  name: z.string().meta(channelName),
  tier: z.int().meta({
    description: '1: its priority is tried first; 0: it does not serve the call at all.',
    example: 1,
  }),
  priority: z.int().describe('Its priority.'),
  weight: z.int().describe('Its weight.'),
  state: RouteState,
  until: EpochSeconds.meta({ description: 'Seconds; 0: no time is known.', example: 0 }),
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
      description: 'End of the key that was used, where the channel has several; else empty.',
      example: '…x7Kq',
    }),
    is_trial: z
      .boolean()
      .describe(
        'The channel or its key was out of use, and this call was to find out whether it still is.',
      ),
    stays: z.boolean().optional().describe('The conversation was served there last.'),
    result: z
      .enum(['answered', 'broken', 'abandoned', 'network', 'timeout', 'status', 'answer', 'ended'])
      .describe(
        '`answered`, `broken` off in the middle, `abandoned` by the client; or, before any answer, by the `network`, a `timeout`, a bad `status`, an unreadable `answer`, or `ended` by us.',
      ),
    status: z.int().meta({
      description: 'HTTP status that the upstream answered; 0: nothing.',
      example: 200,
    }),
    code: z.string().meta({
      description: 'The upstream’s own name for what was wrong; or empty.',
      example: '',
    }),
    message: z.string().optional().meta({
      description: 'The upstream’s own words for it, without secrets; absent: there were none.',
      example: 'Insufficient Balance',
    }),
    elapsed_ms: z.int().meta({ description: 'Milliseconds.', example: 1240 }),
  })
  .meta({ id: 'RouteAttempt', description: 'How asking one channel ended.' })
export type RouteAttempt = z.infer<typeof RouteAttempt>

const omitted = z.int().describe('How many further channels are not listed.')

export const RouteTrace = z
  .object({
    created_at: EpochSeconds.describe('When the call was made, in seconds.'),
    outcome: z
      .enum(['answered', 'failed', 'no_channel'])
      .describe(
        '`answered`: a channel did; `failed`: none did; `no_channel`: there was none to ask.',
      ),
    username: z.string().describe('Who called.'),
    token_name: z.string().describe('The token it was made with.'),
    model: z.string().describe('The model as the client named it.'),
    group: z.string().describe('The group whose channels were asked.'),
    attempts: z.array(RouteAttempt).describe('Channels that were asked, in order.'),
    channels: z.array(RouteCandidate).describe('Channels that serve the model.'),
    omitted,
  })
  .meta({
    id: 'RouteTrace',
    description: 'How a call went that the first choice did not simply answer.',
  })
export type RouteTrace = z.infer<typeof RouteTrace>

const decimal = (description: string, example: string) =>
  z.string().meta({ description: `${description} A decimal as text.`, example: example })

const ForecastPrice = z
  .object({
    priced_as: z.string().describe('Name the price is looked up under.'),
    model_ratio: decimal('Ratio of the model.', '0.075'),
    completion_ratio: decimal('Ratio of completion tokens against prompt tokens.', '4'),
    group_ratio: decimal('Ratio of the group.', '1'),
    model_price: decimal('Dollars a call, where the model is sold by the call.', '0.1').optional(),
    cost: Quota.meta({
      description: 'Points for the tokens that were asked about.',
      example: 195,
    }),
  })
  .meta({ id: 'ForecastPrice', description: 'What a call would cost.' })

const ForecastCandidate = z
  .object({
    ...candidate,
    probability: z.number().meta({
      description: 'Share of such calls that would be sent to it first, 0 to 1.',
      example: 0.5,
    }),
    stays: z
      .boolean()
      .describe('It gets the first attempt because the conversation was served there last.'),
    sent_model: z.string().meta({
      description: 'The model’s name as the channel’s upstream would be told.',
      example: 'gpt-4o-mini',
    }),
    price: ForecastPrice.nullable().describe('Null: the model has no price on this channel.'),
  })
  .meta({ id: 'ForecastCandidate', description: 'A channel that a call could go to.' })

export const RouteForecast = z
  .object({
    refusal: z
      .object({
        code: z.string().describe('Code of the refusal.'),
        message: z.string().describe('Its sentence.'),
      })
      .nullable()
      .meta({
        description:
          'Why the call would be refused before any channel is asked; null: it would not.',
        example: null,
      }),
    model: z.string().describe('The model that was asked about.'),
    group: z.string().describe('The group whose channels would be asked; empty: none has one.'),
    groups: z.array(z.string()).meta({
      description: 'All groups of the caller, in the order they are tried.',
      example: ['vip', 'default'],
    }),
    channels: z.array(ForecastCandidate).describe('Channels that serve the model.'),
    omitted,
    attempts_max: z.int().meta({ description: 'Attempts that the call may make.', example: 3 }),
  })
  .meta({ id: 'RouteForecast', description: 'Where a call would go.' })
export type RouteForecast = z.infer<typeof RouteForecast>

const tokens = optional(z.int().min(0).max(1_000_000_000))

const RouteQuestion = z
  .object({
    user: optional(Text).meta({
      description: 'Name or id of the user who would call; empty: anybody of `group`.',
      example: 'li.ming',
    }),
    token: optional(Text).meta({
      description:
        'Name or id of one of the user’s tokens, whose limits count; an id may stand alone.',
      example: '7',
    }),
    group: optional(Text).describe(
      'Comma list of groups; empty: that of the token, those of the user, or `default`.',
    ),
    model: Text.describe('The model, as the client would name it.'),
    path: optional(Text).meta({
      description: 'Path of the call; empty: `/v1/chat/completions`.',
      example: '/v1/chat/completions',
    }),
    conversation: optional(Text).describe(
      'What the call names its conversation: `prompt_cache_key`, or `user_id` of Anthropic’s `metadata`. It is looked for among those of the user.',
    ),
    prompt_tokens: tokens.describe('How long a prompt the price is told for.'),
    completion_tokens: tokens.describe('How long an answer the price is told for.'),
  })
  .meta({
    id: 'RouteQuestion',
    description: 'A call that somebody would make.',
    example: { group: 'default', model: 'gpt-4o-mini', prompt_tokens: 1200 },
  })
export type RouteQuestion = z.infer<typeof RouteQuestion>

const keyId = { example: '5d41402abc4b2a76' }

const ChannelKey = z
  .object({
    id: z.string().meta({ ...keyId, description: 'Names the key; it says nothing of it.' }),
    tail: z.string().meta({ description: 'The key’s last characters.', example: '…x7Kq' }),
    state: z
      .enum(['in_use', 'throttled', 'circuit', 'paused', 'off'])
      .describe(
        '`in_use`; `throttled`: the upstream wants it left alone; `circuit`: too many calls with it failed lately; `paused`: the upstream refused it, and it is tried again by and by; `off`: a person has paused it, until a person resumes it.',
      ),
    status: z.int().meta({
      description: 'HTTP status of the upstream when it refused the key; 0: it did not.',
      example: 0,
    }),
    cause: z.string().describe('What the upstream said when it refused the key; or empty.'),
    since: EpochSeconds.meta({ description: 'Seconds; 0: it is in use.', example: 0 }),
    until: EpochSeconds.meta({
      description: 'When it is next tried, or may be used again; seconds, 0: now.',
      example: 0,
    }),
  })
  .meta({ id: 'ChannelKey', description: 'How a key of a channel fares.' })
export type ChannelKey = z.infer<typeof ChannelKey>

const KeyChange = z
  .object({
    id: WholeNumber.meta({ description: 'Id of the channel.', example: 4 }),
    key_id: optional(Text).meta({
      ...keyId,
      description: '`id` of one of its keys; of no account where the action is about all.',
    }),
    action: z
      .enum(['resume', 'pause', 'remove', 'resume_all', 'remove_refused'])
      .describe(
        '`resume`: it is used again at once; `pause`: it is not used until it is resumed; `remove`: the channel no longer holds it; `resume_all`; `remove_refused`: those that the upstream has refused.',
      ),
  })
  .meta({ id: 'KeyChange', description: 'What to do with a key of a channel.' })
export type KeyChange = z.infer<typeof KeyChange>

export const routeApi = {
  forecast: post('/api/channel/route', {
    name: 'forecastRoute',
    summary: 'Where a call would go, what it would cost, and why not elsewhere. Nothing is sent.',
    access: 'admin',
    body: RouteQuestion,
    data: RouteForecast,
  }),
  trace: get('/api/channel/route/:request_id', {
    name: 'getRouteTrace',
    summary: 'How a call went that the first choice did not simply answer, served or not.',
    access: 'admin',
    params: z.object({ request_id: z.string().max(64).describe('Request id of the call.') }),
    data: RouteTrace,
  }),
  keys: get('/api/channel/key/:id', {
    name: 'listChannelKeys',
    summary: 'How the keys of a channel fare. The keys themselves are not told.',
    access: 'admin',
    params: byId('Id of the channel.', 4),
    data: z.array(ChannelKey),
  }),
  changeKey: put('/api/channel/key/', {
    name: 'changeChannelKey',
    summary: 'Pauses, resumes or removes one of several keys, or all that were set aside.',
    access: 'admin',
    body: KeyChange,
    data: z.array(ChannelKey),
  }),
}
