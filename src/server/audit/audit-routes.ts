import { auditApi } from '../../contract/audit-api.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { parsePosition } from '../log/log-paging.ts'
import { auditPage, type StoredAudit } from './audit-store.ts'

export const auditRoutes = ({ database }: App): Route[] => [
  serve(auditApi.list, async ({ query: { p, before, ...filter } }) => {
    const after = before === '' ? null : parsePosition(before)
    const rows = await auditPage(database.heavy, filter, { after, page: p })
    return { data: rows.map(answered) }
  }),
]

const answered = ({ old_values, new_values, ...row }: StoredAudit) => ({
  ...row,
  before: members(old_values),
  after: members(new_values),
})

/** `recordAudit` wrote it: a JSON object, or null. */
const members = (json: string | null): Record<string, unknown> | null =>
  json === null ? null : { ...Object(JSON.parse(json)) }
