import type { Queries } from '../../db/database.ts'

/** How the names of stored responses and items are spelled. */
export const STORED_ID = /^[\w-]{1,200}$/

/** Which channel keeps which response, for as long as upstreams keep them. */
export interface KnownResponse {
  response_id: string
  channel_id: number
  /** With which of the channel's keys; '': it had one. */
  key_id: string
  model: string
  total_tokens: number
}

/** Where an item of a stored response lies, or the container that one ran in. */
export type KnownItem = Pick<KnownResponse, 'channel_id' | 'key_id' | 'model'>

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

/**
 * Items stand in the table of responses, marked as what no response's name has in it: no item is
 * taken for a response.
 */
const ITEM_MARK = 'item:'

/** Which of the items are this user's, and where they lie. */
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

/** Databases take only so many parameters. */
const ITEMS_AT_ONCE = 1000

/** What an upstream has made. */
interface Made {
  /** Null: it is not stored. */
  response: Pick<KnownResponse, 'response_id' | 'total_tokens'> | null
  itemIds: readonly string[]
}

/** A response with its items. Seen again, they are kept where they were seen last. */
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
