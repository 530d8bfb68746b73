import { COPIED_LISTS, type CopyField } from '../../../contract/channel-copy.ts'
import { commaList } from '../../../contract/text.ts'

/** Difference between two values of a field: by items for a list, else as a whole. */
export type FieldDiff =
  | { kind: 'list'; added: string[]; removed: string[] }
  /** The same items in another order, which determines the tested model. */
  | { kind: 'order'; first: string }
  | { kind: 'text'; before: string; after: string }

export function fieldDiff(field: CopyField, before: string, after: string): FieldDiff {
  if (!COPIED_LISTS.has(field)) return { kind: 'text', before, after }
  const had = new Set(commaList(before))
  const has = new Set(commaList(after))
  const added = [...has].filter((item) => !had.has(item))
  const removed = [...had].filter((item) => !has.has(item))
  if (added.length === 0 && removed.length === 0) {
    return { kind: 'order', first: commaList(after)[0] ?? '' }
  }
  return { kind: 'list', added, removed }
}
