import { z } from 'zod'
import { del, get, post, put } from './endpoint.ts'
import { QUOTA_MAX } from './quota.ts'
import {
  REDEMPTION_COUNT_MAX,
  REDEMPTION_NAME_LENGTH_MAX,
  REDEMPTION_QUOTA_UNSAID,
} from './redemption.ts'
import {
  byId,
  EpochSeconds,
  keyword,
  needed,
  NullableText,
  NullableWholeNumber,
  optional,
  Page,
  Quota,
  Text,
  WholeNumber,
} from './wire.ts'

const RedemptionId = z.int().describe('Id of the code.')
const CODE = '32 hex digits.'

const Redemption = z
  .object({
    id: RedemptionId,
    user_id: z.int().meta({ description: 'Who made the code, not who used it.', example: 1 }),
    key: z.string().describe(`The code: ${CODE}`),
    status: z.int().describe('1 unused, 2 disabled, 3 used.'),
    name: NullableText.meta({ description: 'What the code was made for.', example: '春节活动' }),
    quota: Quota.describe('Points the code is worth.'),
    created_time: EpochSeconds.describe('When it was made, in seconds.'),
    redeemed_time: NullableWholeNumber.meta({
      description: 'When it was used, in seconds; 0: it has not been.',
      example: 0,
    }),
    used_user_id: z
      .int()
      .optional()
      .meta({ description: 'Who used it; absent: nobody has. Gatehouse only.', example: 12 }),
    used_username: z.string().optional().meta({
      description: 'The name that the user of the code has now. Gatehouse only.',
      example: 'li.ming',
    }),
    count: z
      .int()
      .default(0)
      .meta({ description: 'Always 0: only a creation has a count.', example: 0 }),
  })
  .meta({
    id: 'Redemption',
    description: 'A code that adds its quota to the balance of whoever redeems it.',
  })
export type Redemption = z.output<typeof Redemption>

const RedemptionInput = z
  .object({
    name: needed(Text).meta({
      description: 'What the codes are made for.',
      minLength: 1,
      maxLength: REDEMPTION_NAME_LENGTH_MAX,
      example: '春节活动',
    }),
    quota: optional(Quota).meta({
      minimum: 0,
      maximum: QUOTA_MAX,
      description: `Points that each code is worth; 0 and nothing: ${REDEMPTION_QUOTA_UNSAID}.`,
    }),
    count: needed(WholeNumber).meta({
      description: 'How many codes to make.',
      minimum: 1,
      maximum: REDEMPTION_COUNT_MAX,
    }),
  })
  .meta({ id: 'RedemptionInput', description: 'Which codes to make.' })

const RedemptionUpdate = z
  .object({
    id: RedemptionId,
    name: needed(Text).meta({
      description: `What the code is made for. 1 to ${REDEMPTION_NAME_LENGTH_MAX} characters, unless it is what there is.`,
      example: '春节活动',
    }),
    quota: needed(Quota).describe(
      `Points that the code is worth, 0 to ${QUOTA_MAX}, unless it is what there is.`,
    ),
  })
  .meta({
    id: 'RedemptionUpdate',
    description:
      'What a code is to be. Both members are written: one that is left out as zero or empty. The status stays.',
  })

const RedemptionStatusChange = z
  .object({ id: RedemptionId, status: WholeNumber.describe('1 enables the code, 2 disables it.') })
  .meta({
    id: 'RedemptionStatusChange',
    description: 'Which status a code is to have; nothing else is written.',
    example: { id: 7, status: 2 },
  })

const ById = byId('Id of the code.')

export const redemptionApi = {
  list: get('/api/redemption/', {
    name: 'listRedemptions',
    summary: 'Codes, a page at a time, newest first.',
    access: 'admin',
    query: z.object({ p: Page }),
    data: z.array(Redemption),
    counted: true,
  }),
  search: get('/api/redemption/search', {
    name: 'searchRedemptions',
    summary: 'Codes by id, by a part of the name, or by an end of the code.',
    access: 'admin',
    query: keyword(
      'An id, a part of the name, or at least four letters at an end of the code; empty: all.',
    ),
    data: z.array(Redemption),
    counted: true,
  }),
  find: get('/api/redemption/:id', {
    name: 'getRedemption',
    summary: 'One code.',
    access: 'admin',
    params: ById,
    data: Redemption,
  }),
  create: post('/api/redemption/', {
    name: 'createRedemptions',
    summary: 'Makes codes, all or none; answers them in the order they were made.',
    access: 'admin',
    body: RedemptionInput,
    data: z.array(z.string()).meta({ example: ['9c1b6a4e0f7d4c58a2e3b1d0c9f8e7a6'] }),
  }),
  setStatus: put('/api/redemption/', {
    name: 'setRedemptionStatus',
    summary: 'Enables or disables a code that has not been used.',
    access: 'admin',
    whenQuery: 'status_only',
    query: z.object({
      status_only: z.string().meta({
        description: 'Anything but empty, even `false`: only the status is written.',
        example: 'true',
      }),
    }),
    body: RedemptionStatusChange,
    data: Redemption,
  }),
  update: put('/api/redemption/', {
    name: 'updateRedemption',
    summary: 'Writes name and worth of a code anew.',
    access: 'admin',
    body: RedemptionUpdate,
    data: Redemption,
  }),
  remove: del('/api/redemption/:id', {
    name: 'deleteRedemption',
    summary: 'Deletes a code for good.',
    access: 'admin',
    params: ById,
  }),
  redeem: post('/api/user/topup', {
    name: 'redeemCode',
    summary: 'Redeems a code; answers the points added.',
    access: 'user',
    body: z
      .object({ key: needed(Text).describe(`The code: ${CODE}`) })
      .meta({ id: 'RedemptionCode', description: 'A code to redeem.' }),
    data: Quota.meta({ description: 'Points that were added.', example: 500_000 }),
  }),
}
