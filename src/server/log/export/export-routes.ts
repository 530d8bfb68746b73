import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { logApi } from '../../../contract/log-api.ts'
import { isAdmin } from '../../../contract/user.ts'
import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { recordAudit } from '../../audit/audit-store.ts'
import { serve, type Actor, type CallContext, type Route } from '../../http/handler.ts'
import { filterOfAll, type LogFilterValues } from '../log-store.ts'
import type { ExportFormat } from './export.ts'
import { beginExport } from './export-stream.ts'
import { endSlowReader } from './slow-reader.ts'

/** Exports that one process makes at once. */
const EXPORTS_MAX = 4
/** As many of them may be ordinary users': an administrator need not wait for theirs. */
const USERS_EXPORTS_MAX = 3
/** How often an export under way asks whether its caller would still be let in. */
const CHECK_MS = 500

interface Query extends LogFilterValues {
  format: ExportFormat
  tz: string
  bodies: string
}

export function exportRoutes(app: App): Route[] {
  const { database, clock } = app
  /** Who has an export under way: which response it is, and whether an administrator takes it. */
  const busy = new Map<number, { response: ServerResponse; isAdmins: boolean }>()

  function isFull(actor: Actor): boolean {
    const ofUsers = [...busy.values()].filter(({ isAdmins }) => !isAdmins).length
    return busy.size >= EXPORTS_MAX || (!isAdmin(actor.role) && ofUsers >= USERS_EXPORTS_MAX)
  }

  async function send(
    { actor, request, reply, checkAgain }: Omit<CallContext, 'actor'> & { actor: Actor },
    { format, tz, bodies, ...filter }: Query,
    note?: () => Promise<void>,
  ): Promise<void> {
    if (busy.has(actor.id)) throw new AppError('log_export_running')
    if (isFull(actor)) throw new AppError('log_export_busy')
    busy.set(actor.id, { response: reply.raw, isAdmins: isAdmin(actor.role) })
    const release = (): void => {
      if (busy.get(actor.id)?.response === reply.raw) busy.delete(actor.id)
    }
    // Whoever leaves while the export begins has left, too.
    reply.raw.once('close', release)
    try {
      const { frame, pieces } = await beginExport(app, {
        filter,
        format,
        zone: tz,
        hasBodies: bodies === 'true',
      })
      await note?.()
      // Packing would cost more than the rows themselves.
      request.headers['x-no-compression'] = '1'
      reply
        .header('Content-Type', frame.contentType)
        .header('Content-Disposition', `attachment; filename="logs.${format}"`)
        .send(Readable.from(pieces))
      endSlowReader(reply.raw)
      void breakOffWhenRefused(reply.raw, checkAgain)
    } catch (error) {
      release()
      throw error
    }
  }

  return [
    serve(logApi.export, async (call) => {
      const note = () =>
        recordAudit(database.write, call, {
          nowSeconds: clock.nowSeconds(),
          action: 'log.export',
          target: { id: 0, name: '' },
          before: null,
          after: call.query,
        })
      const { format, tz, bodies, ...filter } = call.query
      await send(call, { ...filterOfAll(filter), format, tz, bodies }, note)
    }),
    serve(logApi.exportSelf, async (call) => send(call, { ...call.query, userId: call.actor.id })),
  ]
}

/**
 * Whoever is banned, demoted or signed out gets no further row: the connection breaks, so that what
 * has arrived is not taken for the whole. By the clock, as a client may stop reading.
 */
async function breakOffWhenRefused(
  response: ServerResponse,
  checkAgain: () => Promise<void>,
): Promise<void> {
  for (;;) {
    await setTimeout(CHECK_MS, undefined, { ref: false })
    if (response.destroyed) return
    await checkAgain().catch(() => response.destroy())
  }
}
