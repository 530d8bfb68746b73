import { sql, type Selectable } from 'kysely'
import { UserStatus } from '../../contract/user.ts'
import type { UserRow } from '../db/schema.ts'

export type StoredUser = Selectable<UserRow>

/**
 * Whether a user is not deleted. A deleted user's row stays for the books; nothing finds it by
 * name, e-mail address or invite code, and nothing changes it. Only `findUser` returns it.
 */
export const isPresent = sql<boolean>`coalesce(users.status, 0) <> ${sql.lit(UserStatus.deleted)}`
