import { z } from 'zod'
import { del, get, post, put } from './endpoint.ts'
import { LimitInput, LimitStanding } from './limit-api.ts'
import { USER_ORDERS } from './user.ts'
import {
  ById,
  Keyword,
  LenientNumber,
  NullableNumber,
  NullableText,
  optional,
  Quota,
  Text,
  WholeNumber,
  Withheld,
} from './wire.ts'

const User = z.object({
  id: z.int(),
  username: z.string(),
  password: Withheld,
  display_name: NullableText,
  /** 1 ordinary, 10 admin, 100 root. */
  role: z.int(),
  /** 1 enabled, 2 disabled, 3 deleted. */
  status: z.int(),
  email: NullableText,
  github_id: NullableText,
  wechat_id: NullableText,
  lark_id: NullableText,
  oidc_id: NullableText,
  verification_code: Withheld,
  access_token: Withheld,
  /** Points left. */
  quota: NullableNumber,
  /** Points consumed, ever. */
  used_quota: NullableNumber,
  /** Billed calls, ever. */
  request_count: NullableNumber,
  /** Comma list of groups, tried in this order. */
  group: NullableText,
  aff_code: NullableText,
  inviter_id: NullableNumber,
  /** Its limits and what is used of them; only where one user is looked at. Ours. */
  limits: LimitStanding.optional(),
})
export type User = z.infer<typeof User>

/**
 * A user object of which only a few members are filled, the others zero or empty, as the wire has
 * it.
 */
const PartialUser = z.object({
  ...User.shape,
  id: z.int().default(0),
  username: z.string().default(''),
})

export const SignedIn = z.object({
  ...PartialUser.shape,
  /** Present and true while only the password may be changed. */
  must_change_password: z.boolean().optional(),
})
export type SignedIn = z.infer<typeof SignedIn>

export const Self = z.object({
  ...User.shape,
  must_change_password: z.boolean().optional(),
})
export type Self = z.infer<typeof Self>

const SelfUpdate = z.object({
  username: optional(Text),
  display_name: optional(Text),
  password: optional(Text),
  /** Required by our console; optional on the wire. Refused when wrong. */
  old_password: optional(Text),
  /** Refused when too long; otherwise not read. */
  email: optional(Text),
})

const UserCreate = z.object({
  username: optional(Text),
  password: optional(Text),
  display_name: optional(Text),
  role: optional(WholeNumber),
  /** Refused when too long; otherwise not read. */
  email: optional(Text),
})

const UserUpdate = z.object({
  id: WholeNumber,
  username: optional(Text),
  display_name: optional(Text),
  password: optional(Text),
  role: optional(WholeNumber),
  status: optional(WholeNumber),
  email: optional(Text),
  /** Empty: the binding is taken away. A new one is made at its provider; what is sent is not read. */
  github_id: optional(Text),
  /** Like `github_id`. */
  wechat_id: optional(Text),
  /** Like `github_id`. */
  lark_id: optional(Text),
  /** Like `github_id`. */
  oidc_id: optional(Text),
  group: optional(Text),
  quota: optional(Quota),
  /**
   * The quota the caller saw; with it the difference is booked, so that spending in between
   * survives.
   */
  quota_was: optional(Quota),
  /** Replaces all of them; absent: as they are. Ours. */
  limits: optional(LimitInput),
})

/** Characters of the reason given with a top-up. */
const REMARK_LENGTH_MAX = 500

const UserPage = z.object({ p: LenientNumber, order: z.enum(USER_ORDERS).catch('') })

export const userApi = {
  login: post('/api/user/login', {
    access: 'anyone',
    rate: 'critical',
    body: z.object({ username: optional(Text), password: optional(Text) }),
    data: SignedIn,
    duringPasswordChange: true,
  }),
  logout: get('/api/user/logout', {
    access: 'anyone',
    changesState: true,
    duringPasswordChange: true,
  }),
  self: get('/api/user/self', { access: 'user', data: Self, duringPasswordChange: true }),
  updateSelf: put('/api/user/self', {
    access: 'user',
    body: SelfUpdate,
    duringPasswordChange: true,
  }),
  accessToken: get('/api/user/token', {
    access: 'user',
    changesState: true,
    data: z.string(),
    summary: 'Makes a new system access token; the old one stops working.',
  }),
  availableModels: get('/api/user/available_models', {
    access: 'user',
    /** One of `/api/user/self/groups`; absent or empty: the user's groups. Ours. */
    query: z.object({ group: z.string().max(256).default('') }),
    data: z.array(z.string()),
  }),
  list: get('/api/user/', { access: 'admin', query: UserPage, data: z.array(User) }),
  search: get('/api/user/search', { access: 'admin', query: Keyword, data: z.array(User) }),
  find: get('/api/user/:id', { access: 'admin', params: ById, data: User }),
  create: post('/api/user/', { access: 'admin', body: UserCreate }),
  update: put('/api/user/', { access: 'admin', body: UserUpdate }),
  manage: post('/api/user/manage', {
    access: 'admin',
    body: z.object({ username: optional(Text), action: optional(Text) }),
    data: PartialUser,
  }),
  remove: del('/api/user/:id', { access: 'admin', params: ById }),
  topUp: post('/api/topup', {
    access: 'admin',
    body: z.object({
      user_id: optional(WholeNumber),
      quota: optional(Quota),
      /** What the log row says; absent: that points came by this call. */
      remark: optional(z.string().max(REMARK_LENGTH_MAX)),
    }),
    summary: 'Adds quota to a user: for payment scripts.',
  }),
}
