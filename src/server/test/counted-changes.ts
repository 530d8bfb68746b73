import type { KyselyPlugin } from 'kysely'
import type { Database } from '../db/database.ts'

/** A handle that works as the one it is made of, and how many rows each of its statements changes. */
export function countedChanges(write: Database['write']): {
  counted: Database['write']
  changed: readonly number[]
} {
  const changed: number[] = []
  const watching: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult({ result }) {
      changed.push(Number(result.numAffectedRows ?? 0))
      return Promise.resolve(result)
    },
  }
  return { counted: write.withPlugin(watching), changed }
}
