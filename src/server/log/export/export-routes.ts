import { logApi } from '../../../contract/log-api.ts'
import type { LogFileFormat } from '../../../contract/log-file.ts'
import type { App } from '../../app.ts'
import { recordAudit } from '../../audit/audit-store.ts'
import { serve, type Route } from '../../http/handler.ts'
import { filterOfAll, type LogFilterValues } from '../log-store.ts'
import { beginExport } from './export-stream.ts'
import type { ExportFile, FileSender } from './send-file.ts'

interface Query extends LogFilterValues {
  format: LogFileFormat
  tz: string
  bodies: string
}

export function exportRoutes(app: App, sendFile: FileSender): Route[] {
  const { database, clock } = app

  async function begin({ format, tz, bodies, ...filter }: Query): Promise<ExportFile> {
    const { contentType, pieces } = await beginExport(app, {
      filter,
      format,
      zone: tz,
      hasBodies: bodies === 'true',
    })
    return { name: `logs.${format}`, contentType, pieces }
  }

  return [
    serve(logApi.export, (call) =>
      sendFile(call, async () => {
        const { format, tz, bodies, ...filter } = call.query
        const file = await begin({ ...filterOfAll(filter), format, tz, bodies })
        await recordAudit(database.write, call, {
          nowSeconds: clock.nowSeconds(),
          action: 'log.export',
          target: { id: 0, name: '' },
          before: null,
          after: call.query,
        })
        return file
      }),
    ),
    serve(logApi.exportSelf, (call) =>
      sendFile(call, () => begin({ ...call.query, userId: call.actor.id })),
    ),
  ]
}
