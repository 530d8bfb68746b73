import type { Queries } from '../db/database.ts'

export async function insertHumanCheck(
  db: Queries,
  check: { idHash: string; nowSeconds: number; expiresAtSeconds: number },
): Promise<void> {
  await db.deleteFrom('human_checks').where('expires_at', '<=', check.nowSeconds).execute()
  await db
    .insertInto('human_checks')
    .values({ id_hash: check.idHash, expires_at: check.expiresAtSeconds })
    .execute()
}

export async function isHumanCheckValid(
  db: Queries,
  idHash: string,
  nowSeconds: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('human_checks')
    .select('id_hash')
    .where('id_hash', '=', idHash)
    .where('expires_at', '>', nowSeconds)
    .executeTakeFirst()
  return row !== undefined
}
