import { z } from 'zod'
import { AUDIT_FILE_COLUMNS } from './audit-file.ts'
import { get } from './endpoint.ts'
import { EpochSeconds, LenientNumber, Page } from './wire.ts'

/** Members by name; a secret is replaced by `AUDIT_SECRET`. */
const Members = z.record(z.string(), z.unknown())

const AuditEntry = z
  .object({
    id: z.int().describe('Id of the entry.'),
    created_at: EpochSeconds.describe('Time of the action, in epoch seconds.'),
    actor_id: z.int().describe('Id of the actor.'),
    actor_name: z.string().meta({
      description: 'Name of the actor when the entry was written.',
      example: 'root',
    }),
    address: z.string().meta({
      description: 'IP address of the actor.',
      example: '192.0.2.10',
    }),
    request_id: z.string().describe('Request id of the call that made the change.'),
    action: z
      .string()
      .meta({ description: 'Noun and verb, such as `user.update`.', example: 'user.update' }),
    target_id: z.int().describe('Id of the target; 0 if it has none (a setting, log rows).'),
    target_name: z
      .string()
      .meta({ description: 'Name of the target before the change.', example: 'li.ming' }),
    before: Members.nullable().meta({
      description:
        'The changed members before the change, with secrets masked; null if the target did not exist.',
      example: { quota: 450_000 },
    }),
    after: Members.nullable().meta({
      description: 'The same members after the change; null if the target no longer exists.',
      example: { quota: 500_000 },
    }),
    prev_hash: z.string().nullable().meta({
      description: '`hash` of the previous entry; null if an earlier version wrote this one.',
      example: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
    }),
    hash: z.string().nullable().meta({
      description: 'SHA-256 of `prev_hash` and this entry, for `gatehouse reconcile`.',
      example: 'fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9',
    }),
  })
  .meta({ id: 'AuditEntry', description: 'A change, a read access or a refused attempt.' })
export type AuditEntry = z.infer<typeof AuditEntry>

const Word = z.string().max(256).default('')

/** Filters are combined with "and"; empty or 0 means no filter. */
const Filter = {
  actor: Word.meta({
    description: 'Name or id of the actor, exact; empty: all.',
    example: 'root',
  }),
  target: Word.meta({
    description: 'Name or id of the target, exact; empty: all.',
    example: 'li.ming',
  }),
  action: Word.meta({
    description: 'A whole action (`user.delete`) or its noun (`user`); empty: all.',
    example: 'user.update',
  }),
  start_timestamp: LenientNumber.describe('Epoch seconds, inclusive; 0: no lower limit.'),
  end_timestamp: LenientNumber.describe('Epoch seconds, inclusive; 0: no upper limit.'),
}

const AuditQuery = z.object({
  ...Filter,
  p: Page,
  before: z.string().max(40).default('').meta({
    description:
      '`<created_at>-<id>` of the last row received: returns the page after it; overrides `p`.',
    example: '1790003600-4711',
  }),
})

export const auditApi = {
  list: get('/api/audit/', {
    name: 'listAudit',
    summary: 'Changes, failed sign-ins and refused calls, newest first.',
    access: 'root',
    query: AuditQuery,
    data: z.array(AuditEntry),
  }),
  export: get('/api/audit/export/', {
    name: 'exportAudit',
    summary: 'All entries that match a filter as a file, newest first.',
    access: 'root',
    query: z.object({
      ...Filter,
      format: z
        .enum(['json', 'csv', 'ndjson'])
        .catch('ndjson')
        .describe('File format; `ndjson` if omitted.'),
      tz: z.string().max(64).default('').meta({
        description: 'Time zone of times in CSV; empty: UTC.',
        example: 'Asia/Shanghai',
      }),
    }),
    answer: 'stream',
    columns: AUDIT_FILE_COLUMNS,
    data: AuditEntry,
    refusals: ['log_time_zone_unknown', 'log_export_running', 'log_export_busy'],
  }),
}
