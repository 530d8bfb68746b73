import type { KyselyPlugin } from 'kysely'
import type { Database } from '../db/database.ts'

/** Returns a handle that counts the rows changed by each statement. */
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
