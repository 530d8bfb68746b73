import { TokenStatus } from '../../contract/token.ts'
import { UserStatus } from '../../contract/user.ts'
import type { Queries } from '../db/database.ts'
import { isPresent } from '../user/present-user-store.ts'

/** A token that expires soon, with its owner. */
export interface ExpiringToken {
  id: number
  name: string | null
  expired_time: number
  gh_expiry_reminded: number | null
  username: string
  email: string
}

/** Mails of one check; further ones follow with the next. */
const TOKENS_MAX = 500

/** Returns enabled tokens that expire in this time and whose owner was not reminded of it. */
export async function expiringTokens(
  db: Queries,
  { from, until }: { from: number; until: number },
): Promise<ExpiringToken[]> {
  const rows = await db
    .selectFrom('tokens')
    .innerJoin('users', 'users.id', 'tokens.user_id')
    .where('tokens.status', '=', TokenStatus.enabled)
    .where('tokens.expired_time', '>', from)
    .where('tokens.expired_time', '<=', until)
    .where(({ or, eb, ref }) =>
      or([
        eb('tokens.gh_expiry_reminded', 'is', null),
        eb('tokens.gh_expiry_reminded', '<>', ref('tokens.expired_time')),
      ]),
    )
    .where('users.status', '=', UserStatus.enabled)
    .where('users.email', '<>', '')
    .where(isPresent)
    .select([
      'tokens.id',
      'tokens.name',
      'tokens.expired_time',
      'tokens.gh_expiry_reminded',
      'users.username',
      'users.email',
    ])
    .orderBy('tokens.id')
    .limit(TOKENS_MAX)
    .execute()
  return rows.map(({ email, ...row }) => ({ ...row, email: email ?? '' }))
}

/** Compare-and-set of the expiry that was reminded. Returns false if another process was faster. */
export async function moveExpiryReminder(
  db: Queries,
  id: number,
  { from, to }: { from: number | null; to: number | null },
): Promise<boolean> {
  const moved = await db
    .updateTable('tokens')
    .set({ gh_expiry_reminded: to })
    .where('id', '=', id)
    .where('gh_expiry_reminded', from === null ? 'is' : '=', from)
    .executeTakeFirst()
  return moved.numUpdatedRows > 0n
}
