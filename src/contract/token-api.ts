import { z } from 'zod'
import { del, get, post, put } from './endpoint.ts'
import { LimitInput, LimitStanding } from './limit-api.ts'
import { CAPTURE_MODES } from './log.ts'
import { TOKEN_ORDERS } from './token.ts'
import {
  ById,
  EpochSeconds,
  Keyword,
  LenientNumber,
  NullableText,
  optional,
  Quota,
  Text,
  WholeNumber,
} from './wire.ts'

export const Token = z.object({
  id: z.int(),
  user_id: z.int(),
  /** 48 letters and digits, shown to the owner only. Clients put `sk-` in front. */
  key: z.string(),
  /** 1 enabled, 2 disabled, 3 expired, 4 exhausted. */
  status: z.int(),
  name: NullableText,
  created_time: EpochSeconds,
  /** When quota last moved. */
  accessed_time: EpochSeconds,
  /** -1 never. */
  expired_time: EpochSeconds,
  /** Points left; without meaning when `unlimited_quota`. */
  remain_quota: Quota,
  unlimited_quota: z.boolean(),
  used_quota: Quota,
  /** Comma list of models the token may use; empty: all. */
  models: NullableText,
  /** Comma list of CIDR blocks it may be used from; empty: everywhere. */
  subnet: NullableText,
  /** What is kept of its calls' requests and answers; absent in lists. Ours. */
  capture: z.enum(CAPTURE_MODES).optional(),
  /** Its limits and what is used of them; absent in lists. Ours. */
  limits: LimitStanding.optional(),
  /** The group that its calls belong to; empty: the groups of its owner. Ours. */
  group: z.string().optional(),
})
export type Token = z.infer<typeof Token>

export const TokenInput = z.object({
  name: optional(Text),
  /** Absent or 0 on creation: never. */
  expired_time: optional(EpochSeconds),
  remain_quota: optional(Quota),
  unlimited_quota: optional(z.boolean()),
  models: optional(Text),
  subnet: optional(Text),
  /** Absent: as it is, on creation `off`. Ours. */
  capture: optional(z.enum(CAPTURE_MODES)),
  /** Replaces all of them; absent: as they are. Ours. */
  limits: optional(LimitInput),
  /** One of `/api/user/self/groups`; absent: as it is, on creation the owner's. Ours. */
  group: optional(Text),
})
export type TokenInput = z.infer<typeof TokenInput>

const TokenUpdate = TokenInput.extend({
  id: WholeNumber,
  /**
   * Only read to refuse enabling a token that cannot work; a full update leaves the status as it
   * is.
   */
  status: optional(WholeNumber),
  /**
   * The remaining quota the caller saw; with it the difference is booked, so that spending in
   * between survives.
   */
  remain_quota_was: optional(Quota),
})
export type TokenUpdate = z.infer<typeof TokenUpdate>

const ChoosableGroup = z.object({
  /** What its calls cost, times the models' prices. */
  ratio: z.number(),
  /** What the administrators say of it, or empty. */
  desc: z.string(),
  /** One of the groups that the user is in. */
  own: z.boolean(),
})
export type ChoosableGroup = z.infer<typeof ChoosableGroup>

const TokenPage = z.object({
  p: LenientNumber,
  order: z.enum(TOKEN_ORDERS).catch(''),
})

export const tokenApi = {
  list: get('/api/token/', { access: 'user', query: TokenPage, data: z.array(Token) }),
  search: get('/api/token/search', { access: 'user', query: Keyword, data: z.array(Token) }),
  find: get('/api/token/:id', { access: 'user', params: ById, data: Token }),
  create: post('/api/token/', { access: 'user', body: TokenInput, data: Token }),
  setStatus: put('/api/token/', {
    access: 'user',
    whenQuery: 'status_only',
    query: z.object({ status_only: z.string() }),
    body: z.object({
      id: WholeNumber,
      /** Any but 1 stops the token. */
      status: WholeNumber,
      /** Refused where a full update refuses it; otherwise not read. */
      name: optional(Text),
      /** Like `name`. */
      subnet: optional(Text),
    }),
    data: Token,
  }),
  update: put('/api/token/', { access: 'user', body: TokenUpdate, data: Token }),
  remove: del('/api/token/:id', { access: 'user', params: ById }),
  groups: get('/api/user/self/groups', {
    access: 'user',
    data: z.record(z.string(), ChoosableGroup),
    summary: 'The groups that the user may give to tokens, by name.',
  }),
}
