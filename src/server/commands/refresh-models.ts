import { AppError } from '../app-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { errorText } from '../../contract/errors.ts'
import { createEgress } from '../egress/egress.ts'
import { loadModelData, saveModelData } from '../model/model-data-store.ts'
import { bundledModels } from '../model/model-table.ts'
import { compareModelData, fetchModelData } from '../model/refresh-models.ts'
import { packageVersion } from '../version.ts'
import { openConfigured } from './open.ts'
import { openOurs } from './open-ours.ts'

/** Fetches model data from models.dev and stores it for all servers on the database. */
export async function refreshModels(config: Config, address: string): Promise<void> {
  // Checked first, because `openConfigured` alone would create or adopt tables at a wrong address.
  await (await openOurs(config)).close()
  const database = await openConfigured(config)
  try {
    const egress = createEgress({ allowPrivate: config.EGRESS_ALLOW_PRIVATE })
    const asking = { egress, version: `v${packageVersion()}`, clock: systemClock }
    const data = await fetchModelData(asking, address)
    const now = (await loadModelData(database.read)) ?? bundledModels()
    const { added, changed, removed } = compareModelData(now, data)
    await saveModelData(database.write, data)
    await database.announce('models')
    const counts = `${added.length} new, ${changed.length} changed, ${removed.length} removed`
    process.stdout.write(`${data.source}: ${Object.keys(data.models).length} models, ${counts}\n`)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    process.stderr.write(`${errorText(error.code, 'en', error.params)}\n`)
    process.exitCode = 1
  } finally {
    await database.close().catch(() => {})
  }
}
