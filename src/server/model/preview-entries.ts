import type { MatchedModel } from '../../contract/model-api.ts'
import type { ServedModel } from '../published-prices/served-model-store.ts'
import { ModelTable } from './model-table.ts'

export interface PreviewedEntries {
  matched: MatchedModel[]
  unmatched: string[]
}

/** Returns the served models that the entries of a table apply to, and the changes. */
export function previewEntries(
  table: ModelTable,
  served: readonly ServedModel[],
): PreviewedEntries {
  const without = new ModelTable(table.data)
  const matched = new Map<string, MatchedModel>()
  const used = new Set<string>()
  for (const { sent: model, type } of served) {
    const entries = table.entriesFor(model, type).map(({ name }) => name)
    for (const name of entries) used.add(name)
    if (entries.length === 0) continue
    matched.set(`${model} ${type}`, {
      model,
      type,
      entries,
      before: JSON.stringify(without.capabilitiesOf(model, type)),
      after: JSON.stringify(table.capabilitiesOf(model, type)),
    })
  }
  return {
    matched: [...matched.values()].toSorted(
      (one, other) => one.model.localeCompare(other.model) || one.type - other.type,
    ),
    unmatched: table.entries.map(({ name }) => name).filter((name) => !used.has(name)),
  }
}
