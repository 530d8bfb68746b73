import { Role } from '../../contract/user.ts'
import type { SessionUser } from '../app/session.ts'
import type { KnownStatus } from '../app/status/known-status.ts'

/** Whether the server lets this person read and change settings; a One API server only lets root. */
export function mayManageOptions(user: SessionUser | null, status: KnownStatus): boolean {
  return user !== null && user.role >= (status.gatehouse?.options_min_role ?? Role.root)
}
