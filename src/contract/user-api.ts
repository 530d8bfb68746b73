import { z } from 'zod'
import { del, get, post, put } from './endpoint.ts'
import { LimitInput, LimitStanding } from './limit-api.ts'
import { QUOTA_MAX } from './quota.ts'
import {
  DISPLAY_NAME_LENGTH_MAX,
  EMAIL_LENGTH_MAX,
  GROUP_NAME_LENGTH_MAX,
  MANAGE_ACTIONS,
  PASSWORD_BYTES_MAX,
  PASSWORD_LENGTH_MIN,
  USER_GROUPS_MAX,
  USER_ORDERS,
  USERNAME_LENGTH_MAX,
} from './user.ts'
import {
  byId,
  keyword,
  needed,
  NullableText,
  NullableWholeNumber,
  optional,
  Page,
  Quota,
  Text,
  WholeNumber,
  Withheld,
} from './wire.ts'

const ROLE = '1 ordinary user, 10 administrator, 100 super admin.'
const GROUPS = 'Comma-separated list of groups, tried in this order.'

const binding = (provider: string) =>
  NullableText.meta({ description: `Account at ${provider}, or empty.`, example: '' })

const account = {
  id: z.int().meta({ description: 'Id of the user.', example: 12 }),
  username: z.string().describe('Unique sign-in name.'),
  password: Withheld,
  display_name: NullableText.describe('Display name.'),
  role: z.int().describe(ROLE),
  status: z.int().describe('1 enabled, 2 disabled, 3 deleted.'),
  email: NullableText.describe('Email address, or empty.'),
  github_id: binding('GitHub'),
  wechat_id: binding('WeChat'),
  lark_id: binding('Lark'),
  oidc_id: binding('the OpenID Connect provider'),
  verification_code: Withheld,
  access_token: Withheld,
  quota: NullableWholeNumber.describe('Remaining points.'),
  used_quota: NullableWholeNumber.describe('Points consumed.'),
  request_count: NullableWholeNumber.describe('Number of billed calls.'),
  group: NullableText.describe(GROUPS),
  aff_code: NullableText.meta({
    description: 'Invite code of the user.',
    example: 'x7Kq',
  }),
  inviter_id: NullableWholeNumber.describe('Id of the inviting user; 0: none.'),
}

const User = z
  .object({
    ...account,
    second_factor: z
      .boolean()
      .optional()
      .describe(
        'Whether the account has an authenticator app or a passkey; absent in lists. Gatehouse only.',
      ),
    limits: LimitStanding.optional().describe(
      'Limits with their usage; absent in lists. Gatehouse only.',
    ),
  })
  .meta({ id: 'User', description: 'An account of this installation.' })
export type User = z.infer<typeof User>

const UNFILLED = {
  id: 0,
  username: '',
  password: '',
  display_name: '',
  role: 0,
  status: 0,
  email: '',
  github_id: '',
  wechat_id: '',
  lark_id: '',
  oidc_id: '',
  verification_code: '',
  access_token: '',
  quota: 0,
  used_quota: 0,
  request_count: 0,
  group: '',
  aff_code: '',
  inviter_id: 0,
}

/** A user object of the wire in which only some members are set; the others are zero or empty. */
const partialUser = {
  ...account,
  id: z.int().default(0).meta({ description: 'Id of the user, or 0.', example: 12 }),
  username: z.string().default('').describe('Name of the user, or empty.'),
}
const PartialUser = z.object(partialUser).meta({
  id: 'PartialUser',
  example: { ...UNFILLED, role: 1, status: 2 },
  description: 'A user with only `role` and `status` set; the others are zero or empty.',
})

const must_change_password = z
  .boolean()
  .optional()
  .describe(
    'True while the default password is in use: most other calls are rejected until it is changed.',
  )

const require_2fa = z
  .boolean()
  .optional()
  .describe(
    'True if the account has a second factor: there is no session yet, and `POST /api/user/login/2fa` completes the sign-in.',
  )

const flow_token = z.string().optional().meta({
  description: 'Identifies the sign-in in its second step, for five minutes; also set as a cookie.',
  example: '4Yw0cV1ZrJ9mT8kQd2hXs7LbNf6GpAe3UiRoKtWyMzE',
})

const second_factor_methods = z
  .array(z.enum(['code', 'passkey']))
  .optional()
  .meta({
    description:
      'With `require_2fa`: ways to complete the sign-in, a code or `POST /api/user/passkey/login/begin`. Gatehouse only.',
    example: ['code'],
  })

const must_set_up_second_factor = z
  .boolean()
  .optional()
  .describe(
    'True if the account must have a second factor and lacks it: most other calls are rejected until it is set up. Gatehouse only.',
  )

export const SignedIn = z
  .object({
    ...partialUser,
    must_change_password,
    require_2fa,
    flow_token,
    second_factor_methods,
    must_set_up_second_factor,
  })
  .meta({
    id: 'SignedIn',
    example: {
      ...UNFILLED,
      id: 12,
      username: 'li.ming',
      display_name: '李明',
      role: 1,
      status: 1,
    },
    description:
      'The signed-in user: `id`, `username`, `display_name`, `role` and `status` are set; the others are zero or empty.',
  })
export type SignedIn = z.infer<typeof SignedIn>

const ignored_proxy = z
  .object({
    address: z.string().meta({ example: '127.0.0.1' }).describe('IP address of the proxy.'),
    setting: z
      .string()
      .meta({ example: 'TRUSTED_PROXIES=127.0.0.1' })
      .describe('Setting that makes the server trust its headers.'),
  })
  .optional()
  .describe(
    'For super admins: a proxy whose forwarding headers are ignored; omitted if no proxy was ignored.',
  )

export const Self = z
  .object({
    ...account,
    must_change_password,
    must_set_up_second_factor,
    ignored_proxy,
    access_token_set: z
      .boolean()
      .optional()
      .describe('Whether a system access token exists, which a new one replaces. Gatehouse only.'),
  })
  .meta({ id: 'Self', description: 'The caller’s own account.' })
export type Self = z.infer<typeof Self>

/** Fields of a user, for every endpoint that writes them. */
export const username = { maxLength: USERNAME_LENGTH_MAX }
export const password = {
  description: `At least ${PASSWORD_LENGTH_MIN} characters, at most ${PASSWORD_BYTES_MAX} bytes.`,
  minLength: PASSWORD_LENGTH_MIN,
  maxLength: PASSWORD_BYTES_MAX,
}
/** Kept for clients of One API, which send it. */
export const UnreadEmail = optional(Text).meta({
  description: 'Rejected if too long; otherwise ignored.',
  maxLength: EMAIL_LENGTH_MAX,
})

const unchanged = 'Empty or omitted: unchanged.'
const atMost = (characters: number) => `At most ${characters} characters, unless unchanged.`

const SelfUpdate = z
  .object({
    username: optional(Text).describe(
      `New sign-in name. ${atMost(USERNAME_LENGTH_MAX)} ${unchanged}`,
    ),
    display_name: optional(Text).describe(
      `New display name. ${atMost(DISPLAY_NAME_LENGTH_MAX)} ${unchanged}`,
    ),
    password: optional(Text).describe(`New password. ${password.description} ${unchanged}`),
    old_password: optional(Text).describe(
      'Current password, checked if `password` is set. Required with an access token; optional with a session.',
    ),
    email: UnreadEmail,
  })
  .meta({
    id: 'SelfUpdate',
    description: 'Changes of the caller’s account.',
    example: { display_name: '李明' },
  })

const UserCreate = z
  .object({
    username: needed(Text).meta({ ...username, description: 'Unique sign-in name.' }),
    password: needed(Text).meta(password),
    display_name: optional(Text).meta({
      description: 'Display name; empty or omitted: the username.',
      maxLength: DISPLAY_NAME_LENGTH_MAX,
    }),
    role: optional(WholeNumber).describe(
      'Not written: a new user is an ordinary one. A role that is not below the caller’s is rejected.',
    ),
    email: UnreadEmail,
  })
  .meta({
    id: 'UserCreate',
    description: 'A new user.',
    example: { username: 'li.ming', password: 'correct-horse-9', display_name: '李明' },
  })

const unbinding = (provider: string) =>
  optional(Text).describe(
    `Empty: unlinks the account at ${provider}. Linking is done by the user; other values are ignored.`,
  )

const UserUpdate = z
  .object({
    id: WholeNumber.describe('Id of the user.'),
    username: optional(Text).describe(
      `New sign-in name. ${atMost(USERNAME_LENGTH_MAX)} ${unchanged}`,
    ),
    display_name: optional(Text).describe(
      `Display name; may be empty. ${atMost(DISPLAY_NAME_LENGTH_MAX)}`,
    ),
    password: optional(Text).describe(
      `New password; ends the user’s sessions and access token. ${password.description} ${unchanged}`,
    ),
    role: optional(WholeNumber).describe(`${ROLE} 0 or omitted: unchanged.`),
    status: optional(WholeNumber).describe('1 enables, 2 disables. 0 or omitted: unchanged.'),
    email: optional(Text).describe(`Email address; may be empty. ${atMost(EMAIL_LENGTH_MAX)}`),
    github_id: unbinding('GitHub'),
    wechat_id: unbinding('WeChat'),
    lark_id: unbinding('Lark'),
    oidc_id: unbinding('the OpenID Connect provider'),
    group: optional(Text).describe(
      `${GROUPS} At most ${USER_GROUPS_MAX}, each of at most ${GROUP_NAME_LENGTH_MAX} characters; empty: \`default\`.`,
    ),
    quota: optional(Quota).describe(
      `Remaining points of the user, 0 to ${QUOTA_MAX}, unless unchanged.`,
    ),
    quota_was: optional(Quota).describe(
      'The `quota` that the caller read before; the difference is booked, so that points spent meanwhile are counted. Gatehouse only.',
    ),
    limits: optional(LimitInput).describe(
      'Replaces all limits; if omitted: unchanged. Gatehouse only.',
    ),
  })
  .meta({
    id: 'UserUpdate',
    description: 'Changes of a user; omitted members stay unchanged.',
    example: { id: 12, group: 'vip,default', quota: 750_000, quota_was: 500_000 },
  })

/** Maximum length of the remark of a top-up, in characters. */
const REMARK_LENGTH_MAX = 500

const UserPage = z.object({
  p: Page,
  order: z
    .enum(USER_ORDERS)
    .catch('')
    .describe('Sort order, highest first; any other value: newest first.'),
})

const ById = byId('Id of the user.', 12)

/** Actions on a user that need a proof of identity. */
const PROVEN_ACTIONS: ReadonlySet<string> = new Set(['promote', 'demote', 'delete'])

export const userApi = {
  login: post('/api/user/login', {
    name: 'login',
    summary: 'Signs in and sets the session cookie.',
    access: 'anyone',
    rate: 'critical',
    body: z
      .object({
        username: needed(Text).describe('Username or email address.'),
        password: needed(Text).describe('Password of the account.'),
      })
      .meta({ id: 'Credentials', description: 'Username and password.' }),
    data: SignedIn,
    duringPasswordChange: true,
  }),
  logout: get('/api/user/logout', {
    name: 'logout',
    summary: 'Ends the session of the request’s cookie.',
    access: 'anyone',
    changesState: true,
    duringPasswordChange: true,
  }),
  self: get('/api/user/self', {
    name: 'getSelf',
    summary: 'The caller’s account.',
    access: 'user',
    data: Self,
    duringPasswordChange: true,
    duringFactorSetup: true,
  }),
  updateSelf: put('/api/user/self', {
    name: 'updateSelf',
    summary:
      'Changes the caller’s name or password; a new password ends the other sessions and the access token.',
    access: 'user',
    // Otherwise a session could set a password and then prove its identity with it.
    needsProof: ({ body }) => Boolean(body['password']) && !body['old_password'],
    body: SelfUpdate,
    duringPasswordChange: true,
  }),
  accessToken: get('/api/user/token', {
    name: 'createAccessToken',
    summary: 'Generates a new system access token; the old one stops working.',
    access: 'user',
    needsProof: true,
    noNamedToken: true,
    changesState: true,
    data: z
      .string()
      .meta({ description: '32 hex digits.', example: '6f2c1f0e5c4d4b7a9e8d3c2b1a0f9e8d' }),
  }),
  availableModels: get('/api/user/available_models', {
    name: 'listAvailableModels',
    summary: 'Models that the user, or a group, can call.',
    access: 'user',
    scope: 'tokens',
    query: z.object({
      group: z
        .string()
        .max(256)
        .default('')
        .describe(
          'One of `/api/user/self/groups`; omitted or empty: the user’s groups. Gatehouse only.',
        ),
    }),
    data: z.array(z.string()).meta({ example: ['gpt-4o-mini', 'gpt-4o'] }),
  }),
  list: get('/api/user/', {
    name: 'listUsers',
    summary: 'Users, in pages.',
    access: 'admin',
    query: UserPage,
    data: z.array(User),
    counted: true,
  }),
  search: get('/api/user/search', {
    name: 'searchUsers',
    summary: 'Finds users by id, or by part of username, email address or display name.',
    access: 'admin',
    query: keyword('An id, or part of username, email address or display name; empty: all.'),
    data: z.array(User),
    counted: true,
  }),
  find: get('/api/user/:id', {
    name: 'getUser',
    summary: 'One user with a role below the caller’s, with limits.',
    access: 'admin',
    params: ById,
    data: User,
  }),
  create: post('/api/user/', {
    name: 'createUser',
    summary: 'Creates a user with the quota for new users, and a first token.',
    access: 'admin',
    body: UserCreate,
  }),
  update: put('/api/user/', {
    name: 'updateUser',
    summary: 'Changes a user with a role below the caller’s.',
    access: 'admin',
    // The handler asks for it as well if role, email address or linked accounts change: One API's
    // consoles always send them.
    needsProof: ({ body }) => Boolean(body['password']),
    body: UserUpdate,
  }),
  manage: post('/api/user/manage', {
    name: 'manageUser',
    summary: 'Promotes, demotes, disables, enables or deletes a user by name.',
    access: 'admin',
    needsProof: ({ body }) => PROVEN_ACTIONS.has(String(body['action'])),
    body: z
      .object({
        username: needed(Text).describe('Exact name of the user.'),
        action: needed(Text).meta({ description: 'Action on the user.', enum: MANAGE_ACTIONS }),
      })
      .meta({ id: 'ManageAction', description: 'An action on a user.' }),
    data: PartialUser,
  }),
  remove: del('/api/user/:id', {
    name: 'deleteUser',
    summary: 'Deletes a user; log rows are kept.',
    access: 'admin',
    needsProof: true,
    params: ById,
  }),
  topUp: post('/api/topup', {
    name: 'topUpUser',
    summary: 'Adds quota to a user, for payment scripts. Not idempotent.',
    access: 'admin',
    body: z
      .object({
        user_id: needed(WholeNumber).meta({ description: 'Id of the user.', minimum: 1 }),
        quota: needed(Quota).meta({
          description: 'Points to add.',
          minimum: 0,
          maximum: QUOTA_MAX,
        }),
        remark: optional(z.string().max(REMARK_LENGTH_MAX)).meta({
          description: 'Text of the log row; if omitted, a default text.',
          example: '订单 1001',
        }),
      })
      .meta({ id: 'TopUp', description: 'A user and the points to add.' }),
  }),
}
