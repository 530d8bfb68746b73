import type { Queries } from '../../db/database.ts'

/** Format of ids of stored responses and items. */
export const STORED_ID = /^[\w-]{1,200}$/

/** Channel that stores a response, for as long as upstreams keep responses. */
export interface KnownResponse {
  response_id: string
  channel_id: number
  /** Id of the channel's key; '' if it had only one. */
  key_id: string
  model: string
  total_tokens: number
}

/** Channel of a stored response's item, or of the container that it ran in. */
export type KnownItem = Pick<KnownResponse, 'channel_id' | 'key_id' | 'model'>

/** Returns the stored response; null if unknown, expired, or not this user's. */
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

/**
 * Items are stored in the table of responses, with a mark that no response id contains: an item is
 * never taken for a response.
 */
const ITEM_MARK = 'item:'

/** Returns which of the items are this user's, with their channels. */
export async function findItems(
  db: Queries,
  { userId, itemIds, nowSeconds }: { userId: number; itemIds: string[]; nowSeconds: number },
): Promise<Map<string, KnownItem>> {
  const found = new Map<string, KnownItem>()
  for (let start = 0; start < itemIds.length; start += ITEMS_AT_ONCE) {
    const names = itemIds.slice(start, start + ITEMS_AT_ONCE).map((id) => ITEM_MARK + id)
    const rows = await db
      .selectFrom('response_channels')
      .select(['response_id', 'channel_id', 'key_id', 'model'])
      .where('user_id', '=', userId)
      .where('response_id', 'in', names)
      .where('expires_at', '>', nowSeconds)
      .execute()
    for (const { response_id, ...item } of rows) {
      found.set(response_id.slice(ITEM_MARK.length), item)
    }
  }
  return found
}

/** Databases limit the number of parameters per statement. */
const ITEMS_AT_ONCE = 1000

/** Ids of a response, its items and containers. */
interface Made {
  /** Null if the response is not stored. */
  response: Pick<KnownResponse, 'response_id' | 'total_tokens'> | null
  itemIds: readonly string[]
}

/** Saves a response with its items. Items that already exist move to the latest channel. */
export async function saveResponse(
  db: Queries,
  where: KnownItem & { user_id: number; expires_at: number },
  { response, itemIds }: Made,
): Promise<void> {
  const items = itemIds.map((id) => ({ response_id: ITEM_MARK + id, total_tokens: 0 }))
  const made = response === null ? items : [response, ...items]
  await db
    .insertInto('response_channels')
    .values(made.map((row) => ({ ...where, ...row })))
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'response_id']).doUpdateSet(({ ref }) => ({
        channel_id: ref('excluded.channel_id'),
        key_id: ref('excluded.key_id'),
        model: ref('excluded.model'),
        total_tokens: ref('excluded.total_tokens'),
        expires_at: ref('excluded.expires_at'),
      })),
    )
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

/** Maximum rows per deletion, so that other writes are not delayed. */
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
