import { z } from 'zod'
import { COPY_FIELDS } from './channel-copy.ts'
import { BATCH_IDS_MAX } from './channel.ts'
import { post } from './endpoint.ts'
import { optional, WholeNumber } from './wire.ts'

/** Actions on many channels in one request. */

const BatchIds = z
  .array(WholeNumber)
  .min(1)
  .max(BATCH_IDS_MAX)
  .meta({ description: 'Ids of the channels.', example: [4, 5] })

const batchReport = {
  changed: z.int().meta({ description: 'Number of changed channels.', example: 2 }),
  missing: z.array(z.int()).meta({
    description: 'Ids that no longer exist; the other channels are processed.',
    example: [],
  }),
}
const BatchReport = z
  .object(batchReport)
  .meta({ id: 'BatchReport', description: 'Result of an action on several channels.' })

const LeftOut = z.enum(['type', 'empty', 'place']).meta({
  id: 'LeftOut',
  description:
    'Reason why a field is not copied: the types do not share it, it is empty, or it is secret and has another destination.',
})
export type LeftOut = z.infer<typeof LeftOut>

const CopyFieldName = z
  .enum(COPY_FIELDS)
  .meta({ id: 'CopyField', description: 'A field that can be copied.' })

const CopyTarget = z
  .object({
    id: z.int().meta({ description: 'Id of the channel.', example: 4 }),
    name: z.string().meta({ description: 'Name of the channel.', example: '主渠道' }),
    type: z.int().meta({ description: 'Number of the channel type.', example: 1 }),
    changes: z
      .array(
        z
          .object({ field: CopyFieldName, before: z.string().describe('Old value, as a string.') })
          .meta({ id: 'CopiedField', description: 'A field that is changed.' }),
      )
      .describe('Changes of the fields.'),
    left_out: z
      .array(
        z
          .object({ field: CopyFieldName, why: LeftOut })
          .meta({ id: 'FieldLeftOut', description: 'A field that is not copied.' }),
      )
      .describe('Fields that are not copied.'),
  })
  .meta({ id: 'CopyTarget', description: 'Changes of one channel.' })
export type CopyTarget = z.infer<typeof CopyTarget>

const CopyReport = z
  .object({
    ...batchReport,
    values: z
      .array(
        z
          .object({
            field: CopyFieldName,
            value: z.string().meta({ description: 'Value of the field.', example: 'gpt-4o-mini' }),
          })
          .meta({ id: 'FieldValue', description: 'A field and its value.' }),
      )
      .describe('Values of the source, as strings; secrets masked.'),
    targets: z.array(CopyTarget).describe('One entry per channel.'),
  })
  .meta({ id: 'CopyReport', description: 'Result or preview of a copy.' })
export type CopyReport = z.infer<typeof CopyReport>

export const channelBatchApi = {
  change: post('/api/channel/batch', {
    name: 'changeChannels',
    summary: 'Enables, disables or deletes channels, all in one transaction.',
    access: 'admin',
    needsProof: ({ body }) => body['action'] === 'delete',
    scope: 'channels',
    body: z
      .object({
        ids: BatchIds,
        action: z.enum(['enable', 'disable', 'delete']).describe('Action on the channels.'),
      })
      .meta({ id: 'ChannelBatch', description: 'An action on channels.' }),
    data: BatchReport,
  }),
  test: post('/api/channel/batch/test', {
    name: 'testChannels',
    summary: 'Starts a test run over these channels; see GET /api/channel/test/status.',
    access: 'admin',
    scope: 'channels',
    body: z.object({ ids: BatchIds }).meta({ id: 'ChannelIds', description: 'Channels by id.' }),
  }),
  copy: post('/api/channel/batch/copy', {
    name: 'copyChannelFields',
    summary: 'Copies fields of one channel to others: all of them, or none if one fails.',
    access: 'admin',
    scope: 'channels',
    body: z
      .object({
        source_id: WholeNumber.meta({
          description: 'Id of the source channel.',
          example: 3,
        }),
        ids: BatchIds,
        fields: z
          .array(CopyFieldName)
          .min(1)
          .meta({ description: 'Fields to copy.', example: ['models', 'priority'] }),
        dry_run: optional(z.boolean()).describe('True: only returns the changes.'),
      })
      .meta({ id: 'ChannelCopy', description: 'Source, targets and fields of a copy.' }),
    data: CopyReport,
  }),
}
