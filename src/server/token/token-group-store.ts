import type { Queries } from '../db/database.ts'

/** Returns the group of a token; empty if its calls use the groups of its owner. */
export async function findTokenGroup(db: Queries, tokenId: number): Promise<string> {
  const row = await db
    .selectFrom('token_groups')
    .select('group')
    .where('token_id', '=', tokenId)
    .executeTakeFirst()
  return row?.group ?? ''
}

/** Sets the group of a token; empty removes it. */
export async function saveTokenGroup(db: Queries, tokenId: number, group: string): Promise<void> {
  if (group === '') {
    await db.deleteFrom('token_groups').where('token_id', '=', tokenId).execute()
    return
  }
  await db
    .insertInto('token_groups')
    .values({ token_id: tokenId, group })
    .onConflict((conflict) => conflict.column('token_id').doUpdateSet({ group }))
    .execute()
}
