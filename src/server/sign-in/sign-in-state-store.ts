import type { Queries } from '../db/database.ts'
import type { SignInStateRow } from '../db/schema.ts'

/** Keeps a trip; those that are over go. */
export async function insertState(
  db: Queries,
  state: SignInStateRow,
  nowSeconds: number,
): Promise<void> {
  await db.deleteFrom('sign_in_states').where('expires_at', '<=', nowSeconds).execute()
  await db.insertInto('sign_in_states').values(state).execute()
}

/**
 * Takes a trip out, so that two answers with the same state cannot both go on. Null when there is
 * none that this caller began, or it belongs to another provider; then it stays.
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
