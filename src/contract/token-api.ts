import { z } from 'zod'
import { del, get, post, put } from './endpoint.ts'
import { LimitInput, LimitStanding } from './limit-api.ts'
import { CAPTURE_MODES } from './log.ts'
import { QUOTA_MAX } from './quota.ts'
import { NEVER_EXPIRES, TOKEN_KEY_LENGTH, TOKEN_NAME_LENGTH_MAX, TOKEN_ORDERS } from './token.ts'
import {
  byId,
  EpochSeconds,
  keyword,
  NEEDED,
  needed,
  NullableText,
  optional,
  Page,
  Quota,
  Text,
  WholeNumber,
} from './wire.ts'

const TOKEN_NAME = 'Name, for people alone.'
const MODELS = 'Comma list of models the token may use; empty: all.'
const SUBNET = 'Comma list of CIDR blocks it may be used from; empty: everywhere.'
const TOKEN_STATUS = '1 enabled, 2 disabled, 3 expired, 4 exhausted.'

const TokenId = z.int().describe('Id of the token.')

export const Token = z
  .object({
    id: TokenId,
    user_id: z.int().describe('Whose it is.'),
    key: z.string().meta({
      description: `${TOKEN_KEY_LENGTH} letters and digits, shown to the owner only. Clients put \`sk-\` in front.`,
      example: 'yLz0pVq3TtWc8RkXn5uHb2aGdM9eJs7fQ1wZ6iKoCxYvBrNl',
    }),
    status: z.int().describe(TOKEN_STATUS),
    name: NullableText.describe(TOKEN_NAME),
    created_time: EpochSeconds.describe('When it was made, in seconds.'),
    accessed_time: EpochSeconds.describe('When its quota last moved, in seconds.'),
    expired_time: EpochSeconds.describe('Until when it is valid, in seconds; -1: for ever.'),
    remain_quota: Quota.describe('Points left; without meaning when `unlimited_quota`.'),
    unlimited_quota: z.boolean().describe('Only the balance of its owner limits it.'),
    used_quota: Quota.describe('Points consumed.'),
    models: NullableText.describe(MODELS),
    subnet: NullableText.describe(SUBNET),
    capture: z
      .enum(CAPTURE_MODES)
      .optional()
      .describe(
        'What is kept of the requests and answers of its calls; only where one token is looked at. Gatehouse only.',
      ),
    limits: LimitStanding.optional().describe(
      'Its limits and what is used of them; only where one token is looked at. Gatehouse only.',
    ),
    group: z.string().optional().meta({
      description:
        'The group that its calls belong to; empty: those of its owner. Absent where a token is made or changed. Gatehouse only.',
      example: '',
    }),
  })
  .meta({ id: 'Token', description: 'A credential for calling models, made by a user.' })
export type Token = z.infer<typeof Token>

export const TokenInput = z
  .object({
    name: optional(Text).meta({ description: TOKEN_NAME, maxLength: TOKEN_NAME_LENGTH_MAX }),
    expired_time: optional(EpochSeconds).meta({
      description:
        'Until when it is valid, in seconds; -1: for ever. On creation 0 and nothing mean the same.',
      minimum: NEVER_EXPIRES,
    }),
    remain_quota: optional(Quota).meta({
      description: 'Points that it may still consume; -1 is taken from unlimited tokens.',
      minimum: -1,
      maximum: QUOTA_MAX,
    }),
    unlimited_quota: optional(z.boolean()).describe('Only the balance of its owner limits it.'),
    models: optional(Text).describe(MODELS),
    subnet: optional(Text).describe(SUBNET),
    capture: optional(z.enum(CAPTURE_MODES)).describe(
      'What is kept of its calls beside their log rows: nothing, settings and sizes, the words without what looks like a secret, or all. Absent: as it is, on creation `off`. Gatehouse only.',
    ),
    limits: optional(LimitInput).describe(
      'Replaces all of its limits; absent: as they are. Gatehouse only.',
    ),
    group: optional(Text).describe(
      'One of `/api/user/self/groups`, or empty; absent: as it is, on creation the owner’s groups. Gatehouse only.',
    ),
  })
  .meta({
    id: 'TokenInput',
    description: 'What a new token is to be.',
    example: { name: '编辑器插件', remain_quota: 500_000, models: 'gpt-4o-mini,gpt-4o' },
  })
export type TokenInput = z.infer<typeof TokenInput>

/** A full update sets these fields to zero or empty if the body omits them. */
const { expired_time, unlimited_quota, models, subnet } = TokenInput.shape

const TokenUpdate = z
  .object({
    id: WholeNumber.describe('Id of the token.'),
    ...TokenInput.shape,
    name: needed(Text).describe(
      `${TOKEN_NAME} At most ${TOKEN_NAME_LENGTH_MAX} characters, unless it is what there is.`,
    ),
    expired_time: expired_time.meta({
      [NEEDED]: true,
      description: 'Until when it is valid, in seconds; -1: for ever; 0: it has expired.',
    }),
    remain_quota: needed(Quota).describe(
      `Points that it may still consume, 0 to ${QUOTA_MAX}, unless it is what there is.`,
    ),
    unlimited_quota: unlimited_quota.meta({ [NEEDED]: true }),
    models: models.meta({ [NEEDED]: true }),
    subnet: subnet.meta({ [NEEDED]: true }),
    status: optional(WholeNumber).describe(
      'Not written. 1 is refused where the token, as it is stored, could not work.',
    ),
    remain_quota_was: optional(Quota).describe(
      'The `remain_quota` that the caller saw; with it the difference is booked, so that what was spent since stays spent. Gatehouse only.',
    ),
  })
  .meta({
    id: 'TokenUpdate',
    description:
      'What a token is to be. Name, expiry, quota, models and subnet are all written: one that is left out as zero or empty. The status stays.',
    example: {
      id: 7,
      name: '编辑器插件',
      expired_time: NEVER_EXPIRES,
      remain_quota: 500_000,
      unlimited_quota: false,
      models: 'gpt-4o-mini,gpt-4o',
      subnet: '',
      remain_quota_was: 450_000,
    },
  })
export type TokenUpdate = z.infer<typeof TokenUpdate>

const TokenStatusChange = z
  .object({
    id: TokenId,
    status: WholeNumber.describe('1 enables the token, any other stops it.'),
    name: optional(Text).describe('Refused where a full update refuses it; otherwise not read.'),
    subnet: optional(Text).describe('Refused where a full update refuses it; otherwise not read.'),
  })
  .meta({
    id: 'TokenStatusChange',
    description: 'Which status a token is to have; nothing else is written.',
    example: { id: 7, status: 2 },
  })

const ChoosableGroup = z
  .object({
    ratio: z
      .number()
      .meta({ description: 'What its calls cost, times the models’ prices.', example: 0.8 }),
    desc: z.string().describe('What the administrators say of it, or empty.'),
    own: z.boolean().describe('One of the groups that the user is in.'),
  })
  .meta({ id: 'ChoosableGroup', description: 'A group that a token may be given.' })
export type ChoosableGroup = z.infer<typeof ChoosableGroup>

const TokenPage = z.object({
  p: Page,
  order: z
    .enum(TOKEN_ORDERS)
    .catch('')
    .describe('Most first; empty and anything else: newest first.'),
})

const ById = byId('Id of the token.')

export const tokenApi = {
  list: get('/api/token/', {
    name: 'listTokens',
    summary: 'Own tokens, a page at a time.',
    access: 'user',
    query: TokenPage,
    data: z.array(Token),
    counted: true,
  }),
  search: get('/api/token/search', {
    name: 'searchTokens',
    summary:
      'Own tokens by a part of the name, by an end of the key, or by the group; newest first.',
    access: 'user',
    query: keyword(
      'A part of the name, at least four letters at an end of the key, or a whole group; empty: all.',
    ),
    data: z.array(Token),
    counted: true,
  }),
  find: get('/api/token/:id', {
    name: 'getToken',
    summary: 'One of the own tokens, with its limits.',
    access: 'user',
    params: ById,
    data: Token,
  }),
  create: post('/api/token/', {
    name: 'createToken',
    summary: 'Makes a token; answers it with its key.',
    access: 'user',
    body: TokenInput,
    data: Token,
  }),
  setStatus: put('/api/token/', {
    name: 'setTokenStatus',
    summary: 'Enables or disables a token.',
    access: 'user',
    whenQuery: 'status_only',
    query: z.object({
      status_only: z.string().meta({
        description: 'Anything but empty, even `false`: only the status is written.',
        example: 'true',
      }),
    }),
    body: TokenStatusChange,
    data: Token,
  }),
  update: put('/api/token/', {
    name: 'updateToken',
    summary: 'Writes a token anew, all but its status.',
    access: 'user',
    body: TokenUpdate,
    data: Token,
  }),
  remove: del('/api/token/:id', {
    name: 'deleteToken',
    summary: 'Deletes a token for good.',
    access: 'user',
    params: ById,
  }),
  groups: get('/api/user/self/groups', {
    name: 'listTokenGroups',
    summary: 'The groups that the user may give to tokens, by name.',
    access: 'user',
    data: z.record(z.string().meta({ example: 'vip' }), ChoosableGroup),
  }),
}
