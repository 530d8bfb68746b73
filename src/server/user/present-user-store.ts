import { sql, type Selectable } from 'kysely'
import { UserStatus } from '../../contract/user.ts'
import type { UserRow } from '../db/schema.ts'

export type StoredUser = Selectable<UserRow>

/**
 * Whether a user is not deleted. A deleted user's row stays for the ledger. It cannot be found by
 * name, email address or invite code, and is never changed; only `findUser` returns it.
 */
export const isPresent = sql<boolean>`coalesce(users.status, 0) <> ${sql.lit(UserStatus.deleted)}`
