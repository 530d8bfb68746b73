import type { Database, Queries } from '../db/database.ts'
import type { LiveOptions } from '../option/live-options.ts'
import { bundledModels, ModelTable } from './model-table.ts'
import { loadModelData } from './model-data-store.ts'
import { operatorEntriesIn } from './operator-entries.ts'
import type { ModelData } from './snapshot.ts'

/** The current table: the newest stored model data and the operator's entries. */
export interface LiveModels {
  table(): ModelTable
  /** Reloads the stored model data in all processes. */
  changed(): Promise<void>
}

const MODELS_CHANGED = 'models'
/** Delay before a failed reload is retried. */
const RELOAD_DELAY_MS = 500

/** Returns the data of the last refresh, or the bundled data if that is newer. */
async function newestData(db: Queries): Promise<ModelData> {
  const bundled = bundledModels()
  const stored = await loadModelData(db)
  return stored !== null && dayOf(stored) >= dayOf(bundled) ? stored : bundled
}

/** `source` contains the day of the data: `models.dev (2026-07-02)`. */
const dayOf = ({ source }: ModelData): string => /\d{4}-\d\d-\d\d/.exec(source)?.[0] ?? ''

export async function createLiveModels(
  database: Database,
  options: LiveOptions,
): Promise<LiveModels> {
  let data = await newestData(database.read)
  let entriesText = ''
  let table = new ModelTable(data)

  async function reload(): Promise<void> {
    data = await newestData(database.read)
  }
  /** Uses the last good data until the database responds again. */
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
