import type { Queries } from '../db/database.ts'

/** Gives a token a group; empty takes it away. */
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
