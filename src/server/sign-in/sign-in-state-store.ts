import type { Queries } from '../db/database.ts'
import type { SignInStateRow } from '../db/schema.ts'

/** Stores a sign-in state and deletes expired ones. */
export async function insertState(
  db: Queries,
  state: SignInStateRow,
  nowSeconds: number,
): Promise<void> {
  await db.deleteFrom('sign_in_states').where('expires_at', '<=', nowSeconds).execute()
  await db.insertInto('sign_in_states').values(state).execute()
}

/**
 * Deletes and returns a sign-in state, so that two callbacks with the same state cannot both
 * succeed. Returns null if this caller started none with this state, or it belongs to another
 * provider; then it stays.
 */
export async function takeState(
  db: Queries,
  {
    stateHash,
    boundTo,
    provider,
    nowSeconds,
  }: { stateHash: string; boundTo: string; provider: string; nowSeconds: number },
): Promise<SignInStateRow | null> {
  const row = await db
    .deleteFrom('sign_in_states')
    .where('state_hash', '=', stateHash)
    .where('bound_to', '=', boundTo)
    .where('provider', 'in', ['', provider])
    .where('expires_at', '>', nowSeconds)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}
