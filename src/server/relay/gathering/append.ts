import type { JsonRecord } from '../json/json-value.ts'

/** A list goes on where it ended. It is kept and not made anew: there may be many pieces. */
export function append(owner: JsonRecord, name: string, values: readonly unknown[]): void {
  const begun = owner[name]
  const list: unknown[] = Array.isArray(begun) ? begun : []
  for (const value of values) list.push(value)
  owner[name] = list
}
