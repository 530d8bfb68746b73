import { modelApi } from '../../contract/model-api.ts'
import { optionRows } from '../../contract/option/options.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { serve, type Route } from '../http/handler.ts'
import { optionSpec } from '../option/option.ts'
import { servedModels } from '../published-prices/served-model-store.ts'
import { dropModelData, saveModelData } from './model-data-store.ts'
import { bundledModels, ModelTable } from './model-table.ts'
import { operatorEntriesIn } from './operator-entries.ts'
import { previewEntries } from './preview-entries.ts'
import { compareModelData, fetchModelData } from './refresh-models.ts'

export const modelRoutes = (app: App): Route[] => [
  serve(modelApi.data, () => {
    const { data } = app.models.table()
    return {
      data: {
        source: data.source,
        models: Object.keys(data.models).length,
        is_refreshed: data !== bundledModels(),
      },
    }
  }),
  serve(modelApi.preview, async ({ body: { entries } }) => {
    const problem = optionSpec('ModelCapabilities').check(entries)
    if (problem !== null) {
      const { zh: titleZh, en: titleEn } = optionRows.ModelCapabilities.title
      throw new AppError('option_invalid', {
        key: 'ModelCapabilities',
        titleZh,
        titleEn,
        problemZh: problem.zh,
        problemEn: problem.en,
      })
    }
    const table = new ModelTable(app.models.table().data, operatorEntriesIn(entries))
    return { data: previewEntries(table, await servedModels(app.database.heavy)) }
  }),
  serve(modelApi.refresh, async (call) => {
    const { address, dry_run: isDry } = call.body
    const before = app.models.table().data
    const data = await fetchModelData(app, address)
    const difference = compareModelData(before, data)
    if (!isDry) {
      await app.database.write.transaction().execute(async (trx) => {
        await saveModelData(trx, data)
        await recordAudit(trx, call, {
          nowSeconds: app.clock.nowSeconds(),
          action: 'model.refresh',
          target: { id: 0, name: data.source },
          before: { source: before.source },
          after: { source: data.source },
        })
      })
      await app.models.changed()
    }
    const { source, models } = data
    return { data: { source, models: Object.keys(models).length, ...difference } }
  }),
  serve(modelApi.reset, async (call) => {
    const before = app.models.table().data
    await app.database.write.transaction().execute(async (trx) => {
      await dropModelData(trx)
      await recordAudit(trx, call, {
        nowSeconds: app.clock.nowSeconds(),
        action: 'model.refresh',
        target: { id: 0, name: bundledModels().source },
        before: { source: before.source },
        after: { source: bundledModels().source },
      })
    })
    await app.models.changed()
  }),
]
