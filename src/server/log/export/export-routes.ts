import type { FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { logApi } from '../../../contract/log-api.ts'
import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { recordAudit } from '../../audit/audit-store.ts'
import { serve, type Route } from '../../http/handler.ts'
import type { LogFilterValues } from '../log-store.ts'
import type { ExportFormat } from './export.ts'
import { beginExport } from './export-stream.ts'

/** Exports that one process makes at once. */
const EXPORTS_MAX = 4

interface Query extends Omit<LogFilterValues, 'userId'> {
  format: ExportFormat
  tz: string
  bodies: string
}

export function exportRoutes(app: App): Route[] {
  const { database, clock } = app
  /** Who has an export under way. */
  const busy = new Set<number>()

  async function send(
    {
      actor,
      request,
      reply,
    }: { actor: { id: number }; request: FastifyRequest; reply: FastifyReply },
    { format, tz, bodies, ...filter }: Query,
    userId: number | null,
  ): Promise<void> {
    if (busy.has(actor.id)) throw new AppError('log_export_running')
    if (busy.size >= EXPORTS_MAX) throw new AppError('log_export_busy')
    busy.add(actor.id)
    try {
      const { frame, pieces } = await beginExport(app, {
        filter: userId === null ? filter : { ...filter, userId },
        format,
        zone: tz,
        hasBodies: bodies === 'true',
      })
      reply.raw.once('close', () => busy.delete(actor.id))
      // Packing would cost more than the rows themselves.
      request.headers['x-no-compression'] = '1'
      reply
        .header('Content-Type', frame.contentType)
        .header('Content-Disposition', `attachment; filename="logs.${format}"`)
        .send(Readable.from(pieces))
    } catch (error) {
      busy.delete(actor.id)
      throw error
    }
  }

  return [
    serve(logApi.export, async (call) => {
      await recordAudit(database.write, call, {
        nowSeconds: clock.nowSeconds(),
        action: 'log.export',
        target: { id: 0, name: '' },
        before: null,
        after: call.query,
      })
      await send(call, call.query, null)
    }),
    serve(logApi.exportSelf, async (call) => send(call, call.query, call.actor.id)),
  ]
}
