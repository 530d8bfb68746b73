import { auditApi } from '../../contract/audit-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { auditPage, type StoredAudit } from './audit-store.ts'

export const auditRoutes = ({ database }: App): Route[] => [
  serve(auditApi.list, async ({ query: { p, before, ...filter } }) => {
    const rows = await auditPage(database.heavy, filter, { after: position(before), page: p })
    return { data: rows.map(answered) }
  }),
]

function position(text: string): { createdAt: number; id: number } | null {
  if (text === '') return null
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(text)
  if (match === null) throw new AppError('invalid_parameter')
  return { createdAt: Number(match[1]), id: Number(match[2]) }
}

const answered = ({ old_values, new_values, ...row }: StoredAudit) => ({
  ...row,
  before: members(old_values),
  after: members(new_values),
})

/** `recordAudit` wrote it: JSON of an object, or nothing. */
const members = (json: string | null): Record<string, unknown> | null =>
  json === null ? null : { ...Object(JSON.parse(json)) }
