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
    user_id: z.int().meta({ description: 'Id of the user who created the code.', example: 1 }),
    key: z.string().describe(`The code: ${CODE}`),
    status: z.int().describe('1 unused, 2 disabled, 3 used.'),
    name: NullableText.meta({ description: 'Purpose of the code.', example: '春节活动' }),
    quota: Quota.describe('Value of the code in points.'),
    created_time: EpochSeconds.describe('Time of creation, in epoch seconds.'),
    redeemed_time: NullableWholeNumber.meta({
      description: 'Time of redemption, in epoch seconds; 0: unused.',
      example: 0,
    }),
    used_user_id: z.int().optional().meta({
      description: 'Id of the user who redeemed it; omitted if unused. Gatehouse only.',
      example: 12,
    }),
    used_username: z.string().optional().meta({
      description: 'Current name of the user who redeemed it. Gatehouse only.',
      example: 'li.ming',
    }),
    count: z.int().default(0).meta({ description: 'Always 0; only used on creation.', example: 0 }),
  })
  .meta({
    id: 'Redemption',
    description: 'A code that adds its quota to the balance of the user who redeems it.',
  })
export type Redemption = z.output<typeof Redemption>

const RedemptionInput = z
  .object({
    name: needed(Text).meta({
      description: 'Purpose of the codes.',
      minLength: 1,
      maxLength: REDEMPTION_NAME_LENGTH_MAX,
      example: '春节活动',
    }),
    quota: optional(Quota).meta({
      minimum: 0,
      maximum: QUOTA_MAX,
      description: `Points per code; 0 or omitted: ${REDEMPTION_QUOTA_UNSAID}.`,
    }),
    count: needed(WholeNumber).meta({
      description: 'Number of codes to create.',
      minimum: 1,
      maximum: REDEMPTION_COUNT_MAX,
    }),
  })
  .meta({ id: 'RedemptionInput', description: 'Codes to create.' })

const RedemptionUpdate = z
  .object({
    id: RedemptionId,
    name: needed(Text).meta({
      description: `Purpose of the code. 1 to ${REDEMPTION_NAME_LENGTH_MAX} characters, unless unchanged.`,
      example: '春节活动',
    }),
    quota: needed(Quota).describe(
      `Value of the code in points, 0 to ${QUOTA_MAX}, unless unchanged.`,
    ),
  })
  .meta({
    id: 'RedemptionUpdate',
    description:
      'Full update of a code. Both members are written: an omitted one as zero or empty. The status is unchanged.',
  })

const RedemptionStatusChange = z
  .object({ id: RedemptionId, status: WholeNumber.describe('1 enables the code, 2 disables it.') })
  .meta({
    id: 'RedemptionStatusChange',
    description: 'New status of a code; nothing else is written.',
    example: { id: 7, status: 2 },
  })

const ById = byId('Id of the code.')

export const redemptionApi = {
  list: get('/api/redemption/', {
    name: 'listRedemptions',
    summary: 'Codes, in pages, newest first.',
    access: 'admin',
    givesSecrets: true,
    query: z.object({ p: Page }),
    data: z.array(Redemption),
    counted: true,
  }),
  search: get('/api/redemption/search', {
    name: 'searchRedemptions',
    summary: 'Finds codes by id, part of the name, or either end of the code.',
    access: 'admin',
    givesSecrets: true,
    query: keyword(
      'An id, part of the name, or at least four characters at either end of the code; empty: all.',
    ),
    data: z.array(Redemption),
    counted: true,
  }),
  find: get('/api/redemption/:id', {
    name: 'getRedemption',
    summary: 'One code.',
    access: 'admin',
    givesSecrets: true,
    params: ById,
    data: Redemption,
  }),
  create: post('/api/redemption/', {
    name: 'createRedemptions',
    summary: 'Creates codes, all or none; returns them in the order of creation.',
    access: 'admin',
    body: RedemptionInput,
    data: z.array(z.string()).meta({ example: ['9c1b6a4e0f7d4c58a2e3b1d0c9f8e7a6'] }),
  }),
  setStatus: put('/api/redemption/', {
    name: 'setRedemptionStatus',
    summary: 'Enables or disables an unused code.',
    access: 'admin',
    whenQuery: 'status_only',
    query: z.object({
      status_only: z.string().meta({
        description: 'Any non-empty value, even `false`: only the status is written.',
        example: 'true',
      }),
    }),
    body: RedemptionStatusChange,
    data: Redemption,
  }),
  update: put('/api/redemption/', {
    name: 'updateRedemption',
    summary: 'Updates name and value of a code.',
    access: 'admin',
    body: RedemptionUpdate,
    data: Redemption,
  }),
  remove: del('/api/redemption/:id', {
    name: 'deleteRedemption',
    summary: 'Deletes a code permanently.',
    access: 'admin',
    params: ById,
  }),
  redeem: post('/api/user/topup', {
    name: 'redeemCode',
    summary: 'Redeems a code; returns the added points.',
    access: 'user',
    body: z
      .object({ key: needed(Text).describe(`The code: ${CODE}`) })
      .meta({ id: 'RedemptionCode', description: 'A code to redeem.' }),
    data: Quota.meta({ description: 'Added points.', example: 500_000 }),
  }),
}
