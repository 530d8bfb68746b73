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

const ROLE = '1 ordinary user, 10 administrator, 100 root.'
const GROUPS = 'Comma list of groups, tried in this order.'

const binding = (provider: string) =>
  NullableText.meta({ description: `Account at ${provider}, or empty.`, example: '' })

const account = {
  id: z.int().meta({ description: 'Id of the user.', example: 12 }),
  username: z.string().describe('Signs in, and is unique.'),
  password: Withheld,
  display_name: NullableText.describe('What people are shown.'),
  role: z.int().describe(ROLE),
  status: z.int().describe('1 enabled, 2 disabled, 3 deleted.'),
  email: NullableText.describe('Address that mail goes to, or empty.'),
  github_id: binding('GitHub'),
  wechat_id: binding('WeChat'),
  lark_id: binding('Lark'),
  oidc_id: binding('the OpenID Connect provider'),
  verification_code: Withheld,
  access_token: Withheld,
  quota: NullableWholeNumber.describe('Points left.'),
  used_quota: NullableWholeNumber.describe('Points consumed, ever.'),
  request_count: NullableWholeNumber.describe('Billed calls, ever.'),
  group: NullableText.describe(GROUPS),
  aff_code: NullableText.meta({
    description: 'Code by which the user invites others.',
    example: 'x7Kq',
  }),
  inviter_id: NullableWholeNumber.describe('Who invited the user; 0: nobody.'),
}

const User = z
  .object({
    ...account,
    limits: LimitStanding.optional().describe(
      'Its limits and what is used of them; only where one user is looked at. Gatehouse only.',
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
  description: 'A user of which only `role` and `status` are filled; the others are zero or empty.',
})

const must_change_password = z
  .boolean()
  .optional()
  .describe(
    'Present and true while the default password is in use: until it is changed, little else answers.',
  )

export const SignedIn = z.object({ ...partialUser, must_change_password }).meta({
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
    'Who is signed in: `id`, `username`, `display_name`, `role` and `status` are filled; the others are zero or empty.',
})
export type SignedIn = z.infer<typeof SignedIn>

const ignored_proxy = z
  .object({
    address: z.string().meta({ example: '127.0.0.1' }).describe('Where the proxy connects from.'),
    setting: z
      .string()
      .meta({ example: 'TRUSTED_PROXIES=127.0.0.1' })
      .describe('The line that makes its headers count.'),
  })
  .optional()
  .describe('For root: a proxy whose forwarding headers the server ignores, if there is one.')

export const Self = z
  .object({
    ...account,
    must_change_password,
    ignored_proxy,
    access_token_set: z
      .boolean()
      .optional()
      .describe(
        'Whether there is a system access token, which a new one replaces. Gatehouse only.',
      ),
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
  description: 'Refused when too long; otherwise not read.',
  maxLength: EMAIL_LENGTH_MAX,
})

const unchanged = 'Empty or absent: as it is.'
const atMost = (characters: number) =>
  `At most ${characters} characters, unless it is what there is.`

const SelfUpdate = z
  .object({
    username: optional(Text).describe(`Another name. ${atMost(USERNAME_LENGTH_MAX)} ${unchanged}`),
    display_name: optional(Text).describe(
      `What people are shown. ${atMost(DISPLAY_NAME_LENGTH_MAX)} ${unchanged}`,
    ),
    password: optional(Text).describe(`Another password. ${password.description} ${unchanged}`),
    old_password: optional(Text).describe(
      'The present password, checked when `password` is set. Required with an access token; a session may leave it out.',
    ),
    email: UnreadEmail,
  })
  .meta({
    id: 'SelfUpdate',
    description: 'What to change of the own account.',
    example: { display_name: '李明' },
  })

const UserCreate = z
  .object({
    username: needed(Text).meta({ ...username, description: 'Signs in, and is unique.' }),
    password: needed(Text).meta(password),
    display_name: optional(Text).meta({
      description: 'What people are shown; empty or absent: the name.',
      maxLength: DISPLAY_NAME_LENGTH_MAX,
    }),
    role: optional(WholeNumber).describe(
      'Not written: a new user is an ordinary one. Refused unless below the caller’s.',
    ),
    email: UnreadEmail,
  })
  .meta({
    id: 'UserCreate',
    description: 'A new account.',
    example: { username: 'li.ming', password: 'correct-horse-9', display_name: '李明' },
  })

const unbinding = (provider: string) =>
  optional(Text).describe(
    `Empty: the binding to ${provider} is taken away. A new one is made there; what is sent is not read.`,
  )

const UserUpdate = z
  .object({
    id: WholeNumber.describe('Id of the user.'),
    username: optional(Text).describe(`Another name. ${atMost(USERNAME_LENGTH_MAX)} ${unchanged}`),
    display_name: optional(Text).describe(
      `What people are shown; may be emptied. ${atMost(DISPLAY_NAME_LENGTH_MAX)}`,
    ),
    password: optional(Text).describe(
      `Another password, which ends the user’s sessions and access token. ${password.description} ${unchanged}`,
    ),
    role: optional(WholeNumber).describe(`${ROLE} 0 or absent: as it is.`),
    status: optional(WholeNumber).describe('1 enables, 2 disables. 0 or absent: as it is.'),
    email: optional(Text).describe(
      `Address that mail goes to; may be emptied. ${atMost(EMAIL_LENGTH_MAX)}`,
    ),
    github_id: unbinding('GitHub'),
    wechat_id: unbinding('WeChat'),
    lark_id: unbinding('Lark'),
    oidc_id: unbinding('the OpenID Connect provider'),
    group: optional(Text).describe(
      `${GROUPS} At most ${USER_GROUPS_MAX}, each of at most ${GROUP_NAME_LENGTH_MAX} characters; empty: \`default\`.`,
    ),
    quota: optional(Quota).describe(
      `Points that the user is to have left, 0 to ${QUOTA_MAX}, unless it is what there is.`,
    ),
    quota_was: optional(Quota).describe(
      'The `quota` that the caller saw; with it the difference is booked, so that what was spent since stays spent. Gatehouse only.',
    ),
    limits: optional(LimitInput).describe(
      'Replaces all of the user’s limits; absent: as they are. Gatehouse only.',
    ),
  })
  .meta({
    id: 'UserUpdate',
    description: 'What to change of a user; members that are absent stay as they are.',
    example: { id: 12, group: 'vip,default', quota: 750_000, quota_was: 500_000 },
  })

/** Maximum length of the remark of a top-up, in characters. */
const REMARK_LENGTH_MAX = 500

const UserPage = z.object({
  p: Page,
  order: z
    .enum(USER_ORDERS)
    .catch('')
    .describe('Most first; empty and anything else: newest first.'),
})

const ById = byId('Id of the user.', 12)

export const userApi = {
  login: post('/api/user/login', {
    name: 'login',
    summary: 'Signs in; the session is in a cookie.',
    access: 'anyone',
    rate: 'critical',
    body: z
      .object({
        username: needed(Text).describe('Name, or e-mail address.'),
        password: needed(Text).describe('Password of the account.'),
      })
      .meta({ id: 'Credentials', description: 'Who signs in.' }),
    data: SignedIn,
    duringPasswordChange: true,
  }),
  logout: get('/api/user/logout', {
    name: 'logout',
    summary: 'Ends the session of the cookie that comes with the call.',
    access: 'anyone',
    changesState: true,
    duringPasswordChange: true,
  }),
  self: get('/api/user/self', {
    name: 'getSelf',
    summary: 'The own account.',
    access: 'user',
    data: Self,
    duringPasswordChange: true,
  }),
  updateSelf: put('/api/user/self', {
    name: 'updateSelf',
    summary:
      'Changes the own name or password; another password ends the other sessions and the access token.',
    access: 'user',
    body: SelfUpdate,
    duringPasswordChange: true,
  }),
  accessToken: get('/api/user/token', {
    name: 'createAccessToken',
    summary: 'Makes a new system access token; the old one stops working.',
    access: 'user',
    changesState: true,
    data: z
      .string()
      .meta({ description: '32 hex digits.', example: '6f2c1f0e5c4d4b7a9e8d3c2b1a0f9e8d' }),
  }),
  availableModels: get('/api/user/available_models', {
    name: 'listAvailableModels',
    summary: 'Models that the user’s calls, or those of a group, find a channel for.',
    access: 'user',
    query: z.object({
      group: z
        .string()
        .max(256)
        .default('')
        .describe(
          'One of `/api/user/self/groups`; absent or empty: the user’s groups. Gatehouse only.',
        ),
    }),
    data: z.array(z.string()).meta({ example: ['gpt-4o-mini', 'gpt-4o'] }),
  }),
  list: get('/api/user/', {
    name: 'listUsers',
    summary: 'Users, a page at a time.',
    access: 'admin',
    query: UserPage,
    data: z.array(User),
    counted: true,
  }),
  search: get('/api/user/search', {
    name: 'searchUsers',
    summary: 'Users by id, or by a part of name, e-mail address or display name.',
    access: 'admin',
    query: keyword('An id, or a part of one of the texts; empty: all.'),
    data: z.array(User),
    counted: true,
  }),
  find: get('/api/user/:id', {
    name: 'getUser',
    summary: 'One user below the caller’s role, with its limits.',
    access: 'admin',
    params: ById,
    data: User,
  }),
  create: post('/api/user/', {
    name: 'createUser',
    summary: 'Makes an account with the quota that new users get, and a first token.',
    access: 'admin',
    body: UserCreate,
  }),
  update: put('/api/user/', {
    name: 'updateUser',
    summary: 'Changes a user below the caller’s role.',
    access: 'admin',
    body: UserUpdate,
  }),
  manage: post('/api/user/manage', {
    name: 'manageUser',
    summary: 'Promotes, demotes, disables, enables or deletes a user by name.',
    access: 'admin',
    body: z
      .object({
        username: needed(Text).describe('Exact name of the user.'),
        action: needed(Text).meta({ description: 'What to do.', enum: MANAGE_ACTIONS }),
      })
      .meta({ id: 'ManageAction', description: 'What to do with whom.' }),
    data: PartialUser,
  }),
  remove: del('/api/user/:id', {
    name: 'deleteUser',
    summary: 'Deletes a user; its logs stay.',
    access: 'admin',
    params: ById,
  }),
  topUp: post('/api/topup', {
    name: 'topUpUser',
    summary: 'Adds quota to a user: for payment scripts. Not repeatable.',
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
          description: 'What the log row says; absent: that points came by this call.',
          example: '订单 1001',
        }),
      })
      .meta({ id: 'TopUp', description: 'How many points whom.' }),
  }),
}
