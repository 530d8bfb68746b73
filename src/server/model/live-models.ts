import type { Database } from '../db/database.ts'
import type { LiveOptions } from '../option/live-options.ts'
import { bundledModels, ModelTable } from './model-table.ts'
import { loadModelData } from './model-data-store.ts'
import { operatorEntriesIn } from './operator-entries.ts'
import type { ModelData } from './snapshot.ts'

/** The table in force: the newest model data that was stored, and the operator's entries. */
export interface LiveModels {
  table(): ModelTable
  /** Reads the stored model data again, for all processes. */
  changed(): Promise<void>
}

const MODELS_CHANGED = 'models'
/** Before a reading that failed is tried again. */
const RELOAD_DELAY_MS = 500

export async function createLiveModels(
  database: Database,
  options: LiveOptions,
): Promise<LiveModels> {
  let data: ModelData = (await loadModelData(database.read)) ?? bundledModels()
  let entriesText = ''
  let table = new ModelTable(data)

  async function reload(): Promise<void> {
    data = (await loadModelData(database.read)) ?? bundledModels()
  }
  /** The last good data serves until the database answers again. */
  async function reloadAtLast(): Promise<void> {
    await reload().catch(() => {
      setTimeout(() => void reloadAtLast(), RELOAD_DELAY_MS).unref()
    })
  }
  database.onAnnouncement((message) => {
    if (message === MODELS_CHANGED || message === 'everything') void reloadAtLast()
  })

  return {
    table() {
      const text = options.text('ModelCapabilities')
      if (text !== entriesText || data !== table.data) {
        table = new ModelTable(data, operatorEntriesIn(text))
        entriesText = text
      }
      return table
    },
    async changed() {
      try {
        await reload()
      } finally {
        await database.announce(MODELS_CHANGED)
      }
    },
  }
}
