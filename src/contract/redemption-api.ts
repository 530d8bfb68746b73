import { z } from 'zod'
import { del, get, post, put } from './endpoint.ts'
import {
  ById,
  EpochSeconds,
  Keyword,
  LenientNumber,
  NullableNumber,
  NullableText,
  optional,
  Quota,
  Text,
  WholeNumber,
} from './wire.ts'

const Redemption = z.object({
  id: z.int(),
  /** Who made the code, not who used it. */
  user_id: z.int(),
  /** The code: 32 hex digits. */
  key: z.string(),
  /** 1 unused, 2 disabled, 3 used. */
  status: z.int(),
  name: NullableText,
  /** Points the code is worth. */
  quota: Quota,
  created_time: EpochSeconds,
  /** 0 until the code is used. */
  redeemed_time: NullableNumber,
  /** Who used it, with the name that the user has now; absent: nobody has. Ours. */
  used_user_id: z.int().optional(),
  used_username: z.string().optional(),
  /** Always 0: only a creation has a count. */
  count: z.int().default(0),
})
export type Redemption = z.output<typeof Redemption>

const RedemptionInput = z.object({
  name: optional(Text),
  /** Absent or 0 on creation: 100. */
  quota: optional(Quota),
})

export const redemptionApi = {
  list: get('/api/redemption/', {
    access: 'admin',
    query: z.object({ p: LenientNumber }),
    data: z.array(Redemption),
  }),
  search: get('/api/redemption/search', {
    access: 'admin',
    query: Keyword,
    data: z.array(Redemption),
    summary: 'By id, or by the beginning of the name.',
  }),
  find: get('/api/redemption/:id', { access: 'admin', params: ById, data: Redemption }),
  create: post('/api/redemption/', {
    access: 'admin',
    body: RedemptionInput.extend({ count: optional(WholeNumber) }),
    data: z.array(z.string()),
    summary: 'Makes codes, all or none; answers them in the order they were made.',
  }),
  setStatus: put('/api/redemption/', {
    access: 'admin',
    whenQuery: 'status_only',
    query: z.object({ status_only: z.string() }),
    body: z.object({ id: WholeNumber, status: WholeNumber }),
    data: Redemption,
  }),
  update: put('/api/redemption/', {
    access: 'admin',
    body: RedemptionInput.extend({ id: WholeNumber }),
    data: Redemption,
  }),
  remove: del('/api/redemption/:id', { access: 'admin', params: ById }),
  redeem: post('/api/user/topup', {
    access: 'user',
    body: z.object({ key: optional(Text) }),
    data: Quota,
    summary: 'Redeems a code; answers the points added.',
  }),
}
