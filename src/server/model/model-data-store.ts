import type { Queries } from '../db/database.ts'
import type { ModelData } from './snapshot.ts'

/** Setting with the model data of the last refresh, as JSON. */
const MODEL_DATA = 'model_data'

/**
 * Returns null if there was no refresh or the stored text is damaged; then the bundled data
 * applies.
 */
export async function loadModelData(db: Queries): Promise<ModelData | null> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', MODEL_DATA)
    .executeTakeFirst()
  if (row === undefined) return null
  try {
    // `saveModelData` wrote it.
    return JSON.parse(row.value) as ModelData
  } catch {
    return null
  }
}

export async function saveModelData(db: Queries, data: ModelData): Promise<void> {
  const value = JSON.stringify(data)
  await db
    .insertInto('settings')
    .values({ name: MODEL_DATA, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

/** Returns to the bundled data. */
export async function dropModelData(db: Queries): Promise<void> {
  await db.deleteFrom('settings').where('name', '=', MODEL_DATA).execute()
}
