import type { Queries } from '../db/database.ts'

/** Options that were ever saved. */
export async function loadOptions(db: Queries): Promise<Map<string, string>> {
  const rows = await db.selectFrom('options').select(['key', 'value']).execute()
  return new Map(rows.map(({ key, value }) => [key, value ?? '']))
}

export async function saveOption(db: Queries, key: string, value: string): Promise<void> {
  await db
    .insertInto('options')
    .values({ key, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}
