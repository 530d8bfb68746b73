import type { Queries } from '../../db/database.ts'

/** Which channel keeps which response, for as long as upstreams keep them. */
export interface KnownResponse {
  response_id: string
  channel_id: number
  /** With which of the channel's keys; '': it had one. */
  key_id: string
  model: string
  total_tokens: number
}

/** Null: it never was, is this user's no more, or has expired. */
export async function findResponse(
  db: Queries,
  { userId, responseId, nowSeconds }: { userId: number; responseId: string; nowSeconds: number },
): Promise<KnownResponse | null> {
  const row = await db
    .selectFrom('response_channels')
    .select(['response_id', 'channel_id', 'key_id', 'model', 'total_tokens'])
    .where('user_id', '=', userId)
    .where('response_id', '=', responseId)
    .where('expires_at', '>', nowSeconds)
    .executeTakeFirst()
  return row ?? null
}

/** Seen again, it is kept where it was seen last. */
export async function saveResponse(
  db: Queries,
  response: KnownResponse & { user_id: number; expires_at: number },
): Promise<void> {
  const { user_id: _user, response_id: _id, ...rest } = response
  await db
    .insertInto('response_channels')
    .values(response)
    .onConflict((conflict) => conflict.columns(['user_id', 'response_id']).doUpdateSet(rest))
    .execute()
}

export async function deleteResponse(
  db: Queries,
  { userId, responseId }: { userId: number; responseId: string },
): Promise<void> {
  await db
    .deleteFrom('response_channels')
    .where('user_id', '=', userId)
    .where('response_id', '=', responseId)
    .execute()
}

/** Rows deleted in one go; the writing thread has others waiting. */
const EXPIRED_MAX = 1000

export async function deleteExpiredResponses(db: Queries, nowSeconds: number): Promise<void> {
  const expired = await db
    .selectFrom('response_channels')
    .select(['user_id', 'response_id'])
    .where('expires_at', '<=', nowSeconds)
    .orderBy('expires_at')
    .limit(EXPIRED_MAX)
    .execute()
  for (const { user_id, response_id } of expired) {
    await deleteResponse(db, { userId: user_id, responseId: response_id })
  }
}
