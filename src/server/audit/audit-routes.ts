import { auditApi } from '../../contract/audit-api.ts'
import { auditFile } from '../../contract/audit-file.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { serve, type Route } from '../http/handler.ts'
import { framed, type Pieces } from '../log/export/export-stream.ts'
import { localTimeWriter } from '../log/export/local-time.ts'
import { Pace } from '../log/export/pace.ts'
import type { FileSender } from '../log/export/send-file.ts'
import { parsePosition } from '../log/log-paging.ts'
import { answeredAudit } from './answered-audit.ts'
import { auditPage, recordAudit, type AuditFilter, type AuditPosition } from './audit-store.ts'

/** Entries read for one piece of a file. */
const ROWS_PER_PIECE = 100

export const auditRoutes = (app: App, sendFile: FileSender): Route[] => [
  serve(auditApi.list, async ({ query: { p, before, ...filter } }) => {
    const after = before === '' ? null : parsePosition(before)
    const rows = await auditPage(app.database.heavy, filter, { after, page: p })
    return { data: rows.map(answeredAudit) }
  }),
  serve(auditApi.export, (call) =>
    sendFile(call, async () => {
      const { format, tz, ...filter } = call.query
      const timeText = localTimeWriter(tz === '' ? 'UTC' : tz)
      if (timeText === null) throw new AppError('log_time_zone_unknown', { zone: tz })
      const file = auditFile(format, timeText)
      const pieces = writtenPieces(app, filter, file)
      const first = await pieces.next()
      await recordAudit(app.database.write, call, {
        nowSeconds: app.clock.nowSeconds(),
        action: 'audit.export',
        target: { id: 0, name: '' },
        before: null,
        after: call.query,
      })
      const { contentType } = file
      return { name: `audit.${format}`, contentType, pieces: framed(file, first, pieces) }
    }),
  ),
]

async function* writtenPieces(
  { database, clock }: App,
  filter: AuditFilter,
  file: ReturnType<typeof auditFile>,
): Pieces {
  const pace = new Pace()
  let after: AuditPosition | null = null
  for (;;) {
    const beganMs = clock.monotonicMs()
    const rows = await auditPage(database.heavy, filter, {
      after,
      page: 0,
      countMax: ROWS_PER_PIECE,
    })
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map((row) => file.row(answeredAudit(row))).join(file.between)
    after = { createdAt: last.created_at, id: last.id }
    await pace.rest(clock.monotonicMs() - beganMs)
  }
}
