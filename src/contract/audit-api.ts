import { z } from 'zod'
import { get } from './endpoint.ts'
import { EpochSeconds, LenientNumber } from './wire.ts'

/** Members by name; those that are secret hold a mark instead of their value. */
const Members = z.record(z.string(), z.unknown())

const AuditEntry = z.object({
  id: z.int(),
  created_at: EpochSeconds,
  actor_id: z.int(),
  /** As it was when the row was written. */
  actor_name: z.string(),
  /** Where the actor called from. */
  address: z.string(),
  /** Of the call that made the change. */
  request_id: z.string(),
  /** `noun.verb`. */
  action: z.string(),
  /** Id of the target; 0 when it has none (a setting, log rows). */
  target_id: z.int(),
  /** As it was before the change. */
  target_name: z.string(),
  /** The members that changed, as they were; null: there was nothing. */
  before: Members.nullable(),
  /** The same members as they are since; null: there is nothing any more. */
  after: Members.nullable(),
})
export type AuditEntry = z.infer<typeof AuditEntry>

const Word = z.string().max(256).default('')

/** Filters are joined by "and"; empty or 0 means no filter. */
const AuditQuery = z.object({
  /** Name or id of who did it, exact. */
  actor: Word,
  /** Name or id of what was changed, exact. */
  target: Word,
  /** A whole action (`user.delete`) or its noun (`user`). */
  action: Word,
  /** Seconds, inclusive. */
  start_timestamp: LenientNumber,
  /** Seconds, inclusive. */
  end_timestamp: LenientNumber,
  p: LenientNumber,
  /** `<created_at>-<id>` of the last row seen: the page after it; beats `p`. */
  before: z.string().max(40).default(''),
})

export const auditApi = {
  list: get('/api/audit/', {
    access: 'root',
    query: AuditQuery,
    data: z.array(AuditEntry),
    summary: 'What admins changed, newest first.',
  }),
}
