import type { AuditEntry } from '../../contract/audit-api.ts'
import type { StoredAudit } from './audit-store.ts'

/** Returns an entry as the API, files and sinks have it. */
export const answeredAudit = ({
  old_values,
  new_values,
  chain: _chain,
  ...row
}: StoredAudit): AuditEntry => ({
  ...row,
  before: members(old_values),
  after: members(new_values),
})

/** The store wrote it: a JSON object, or null. */
const members = (json: string | null): Record<string, unknown> | null =>
  json === null ? null : { ...Object(JSON.parse(json)) }
