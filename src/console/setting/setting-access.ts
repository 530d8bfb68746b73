import { Role } from '../../contract/user.ts'
import type { SessionUser } from '../app/session.ts'
import type { KnownStatus } from '../app/status/known-status.ts'

/** Whether the user may read and change settings; on a One API server only root. */
export function mayManageOptions(user: SessionUser | null, status: KnownStatus): boolean {
  return user !== null && user.role >= (status.gatehouse?.options_min_role ?? Role.root)
}
