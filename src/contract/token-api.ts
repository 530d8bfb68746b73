import { z } from 'zod'
import { del, get, post, put } from './endpoint.ts'
import { LimitInput, LimitStanding } from './limit-api.ts'
import { CAPTURE_MODES } from './log.ts'
import { QUOTA_MAX } from './quota.ts'
import {
  GRACE_HOURS_MAX,
  NEVER_EXPIRES,
  TOKEN_KEY_LENGTH,
  TOKEN_NAME_LENGTH_MAX,
  TOKEN_ORDERS,
} from './token.ts'
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

const TOKEN_NAME = 'Display name.'
const MODELS = 'Comma-separated list of allowed models; empty: all.'
const SUBNET = 'Comma-separated list of CIDR blocks from which it can be used; empty: all.'
const TOKEN_STATUS = '1 enabled, 2 disabled, 3 expired, 4 exhausted.'

const TokenId = z.int().describe('Id of the token.')

export const Token = z
  .object({
    id: TokenId,
    user_id: z.int().describe('Id of the owner.'),
    key: z.string().meta({
      description: `${TOKEN_KEY_LENGTH} letters and digits, returned to the owner only. Clients put \`sk-\` in front.`,
      example: 'yLz0pVq3TtWc8RkXn5uHb2aGdM9eJs7fQ1wZ6iKoCxYvBrNl',
    }),
    status: z.int().describe(TOKEN_STATUS),
    name: NullableText.describe(TOKEN_NAME),
    created_time: EpochSeconds.describe('Time of creation, in epoch seconds.'),
    accessed_time: EpochSeconds.describe(
      'Time of the last charged call, in epoch seconds; before the first one, time of creation.',
    ),
    expired_time: EpochSeconds.describe('Expiry, in epoch seconds; -1: never.'),
    remain_quota: Quota.describe('Remaining points; meaningless with `unlimited_quota`.'),
    unlimited_quota: z.boolean().describe('Whether only the owner’s balance limits it.'),
    used_quota: Quota.describe('Points consumed.'),
    models: NullableText.describe(MODELS),
    subnet: NullableText.describe(SUBNET),
    key_shown_once: z
      .boolean()
      .describe(
        'The server stores only a hash of the key: `key` is masked, except in the response that creates it. Gatehouse only.',
      ),
    last_ip: z.string().meta({
      description: 'Client address of the last charged call; empty if unknown. Gatehouse only.',
      example: '192.0.2.7',
    }),
    previous_key_until: EpochSeconds.describe(
      'Time until which the previous key works, in epoch seconds; 0: it does not. Gatehouse only.',
    ),
    capture: z
      .enum(CAPTURE_MODES)
      .describe('How much of the requests and responses of its calls is captured. Gatehouse only.'),
    group: z.string().meta({
      description: 'Group of its calls; empty: the owner’s groups. Gatehouse only.',
      example: '',
    }),
    limits: LimitStanding.optional().describe(
      'Limits with their usage; absent in lists. Gatehouse only.',
    ),
  })
  .meta({ id: 'Token', description: 'A credential of a user for calling models.' })
export type Token = z.infer<typeof Token>

export const TokenInput = z
  .object({
    name: optional(Text).meta({ description: TOKEN_NAME, maxLength: TOKEN_NAME_LENGTH_MAX }),
    expired_time: optional(EpochSeconds).meta({
      description: 'Expiry, in epoch seconds; -1: never. On creation, 0 and omitted mean never.',
      minimum: NEVER_EXPIRES,
    }),
    remain_quota: optional(Quota).meta({
      description: 'Remaining points; -1 is accepted for unlimited tokens.',
      minimum: -1,
      maximum: QUOTA_MAX,
    }),
    unlimited_quota: optional(z.boolean()).describe('Whether only the owner’s balance limits it.'),
    models: optional(Text).describe(MODELS),
    subnet: optional(Text).describe(SUBNET),
    capture: optional(z.enum(CAPTURE_MODES)).describe(
      'How much of the requests and responses of its calls is captured: nothing, settings and sizes, text without likely secrets, or everything. If omitted: unchanged, on creation `off`. Gatehouse only.',
    ),
    limits: optional(LimitInput).describe(
      'Replaces all limits; if omitted: unchanged. Gatehouse only.',
    ),
    group: optional(Text).describe(
      'One of `/api/user/self/groups`, or empty; if omitted: unchanged, on creation the owner’s groups. Gatehouse only.',
    ),
  })
  .meta({
    id: 'TokenInput',
    description: 'A new token.',
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
      `${TOKEN_NAME} At most ${TOKEN_NAME_LENGTH_MAX} characters, unless unchanged.`,
    ),
    expired_time: expired_time.meta({
      [NEEDED]: true,
      description: 'Expiry, in epoch seconds; -1: never; 0: it has expired.',
    }),
    remain_quota: needed(Quota).describe(`Remaining points, 0 to ${QUOTA_MAX}, unless unchanged.`),
    unlimited_quota: unlimited_quota.meta({ [NEEDED]: true }),
    models: models.meta({ [NEEDED]: true }),
    subnet: subnet.meta({ [NEEDED]: true }),
    status: optional(WholeNumber).describe(
      'Not written; 1 is rejected if the stored token could not be used.',
    ),
    remain_quota_was: optional(Quota).describe(
      'The `remain_quota` that the caller read before; the difference is booked, so that points spent meanwhile are counted. Gatehouse only.',
    ),
  })
  .meta({
    id: 'TokenUpdate',
    description:
      'Full update of a token. Name, expiry, quota, models and subnet are all written: an omitted one as zero or empty. The status is unchanged.',
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
    status: WholeNumber.describe('1 enables the token, any other value disables it.'),
    name: optional(Text).describe('Rejected if a full update would reject it; otherwise ignored.'),
    subnet: optional(Text).describe(
      'Rejected if a full update would reject it; otherwise ignored.',
    ),
  })
  .meta({
    id: 'TokenStatusChange',
    description: 'New status of a token; nothing else is written.',
    example: { id: 7, status: 2 },
  })

const ChoosableGroup = z
  .object({
    ratio: z.number().meta({ description: 'Factor on the models’ prices.', example: 0.8 }),
    desc: z.string().describe('Description by the administrators, or empty.'),
    own: z.boolean().describe('Whether the user belongs to this group.'),
  })
  .meta({ id: 'ChoosableGroup', description: 'A group that can be assigned to a token.' })
export type ChoosableGroup = z.infer<typeof ChoosableGroup>

const TokenPage = z.object({
  p: Page,
  order: z
    .enum(TOKEN_ORDERS)
    .catch('')
    .describe('Sort order, highest first; any other value: newest first.'),
})

const ById = byId('Id of the token.')

export const tokenApi = {
  list: get('/api/token/', {
    name: 'listTokens',
    summary: 'The caller’s tokens, in pages.',
    access: 'user',
    givesSecrets: true,
    scope: 'tokens',
    query: TokenPage,
    data: z.array(Token),
    counted: true,
  }),
  search: get('/api/token/search', {
    name: 'searchTokens',
    summary:
      'Finds the caller’s tokens by part of the name, either end of the key, or group; newest first.',
    access: 'user',
    givesSecrets: true,
    scope: 'tokens',
    query: keyword(
      'Part of the name, at least four characters at either end of the key, or a complete group name; empty: all.',
    ),
    data: z.array(Token),
    counted: true,
  }),
  find: get('/api/token/:id', {
    name: 'getToken',
    summary: 'One token of the caller, with its limits.',
    access: 'user',
    givesSecrets: true,
    scope: 'tokens',
    params: ById,
    data: Token,
  }),
  create: post('/api/token/', {
    name: 'createToken',
    summary: 'Creates a token; returns it with its key.',
    access: 'user',
    scope: 'tokens',
    body: TokenInput,
    data: Token,
  }),
  setStatus: put('/api/token/', {
    name: 'setTokenStatus',
    summary: 'Enables or disables a token.',
    access: 'user',
    scope: 'tokens',
    whenQuery: 'status_only',
    query: z.object({
      status_only: z.string().meta({
        description: 'Any non-empty value, even `false`: only the status is written.',
        example: 'true',
      }),
    }),
    body: TokenStatusChange,
    data: Token,
  }),
  update: put('/api/token/', {
    name: 'updateToken',
    summary: 'Replaces all fields of a token except its status.',
    access: 'user',
    scope: 'tokens',
    body: TokenUpdate,
    data: Token,
  }),
  rotate: post('/api/token/:id/rotate', {
    name: 'rotateTokenKey',
    summary: 'Replaces the key of a token; returns it with the new key.',
    access: 'user',
    params: ById,
    body: z
      .object({
        grace_hours: z.int().min(0).max(GRACE_HOURS_MAX).default(0).meta({
          description:
            'Hours for which the previous key still works; 0: it stops working immediately.',
          example: 24,
        }),
      })
      .meta({ id: 'TokenRotation', description: 'Options of the replacement of a key.' }),
    data: Token,
  }),
  endPreviousKey: del('/api/token/:id/previous_key', {
    name: 'endPreviousTokenKey',
    summary: 'Ends the previous key of a token.',
    access: 'user',
    params: ById,
    data: Token,
  }),
  remove: del('/api/token/:id', {
    name: 'deleteToken',
    summary: 'Deletes a token permanently.',
    access: 'user',
    scope: 'tokens',
    params: ById,
  }),
  groups: get('/api/user/self/groups', {
    name: 'listTokenGroups',
    summary: 'Groups that the user can assign to tokens, by name.',
    access: 'user',
    scope: 'tokens',
    data: z.record(z.string().meta({ example: 'vip' }), ChoosableGroup),
  }),
}
