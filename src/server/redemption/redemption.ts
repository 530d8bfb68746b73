import type { Refusal } from '../../contract/errors.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import {
  REDEMPTION_COUNT_MAX,
  REDEMPTION_NAME_LENGTH_MAX,
  RedemptionStatus,
} from '../../contract/redemption.ts'
import { fieldPlaces } from '../../contract/field-title.ts'
import { isReadable, length } from '../../contract/text.ts'

/** Returns the first field that exceeds a limit, or null. The order is the wire's. */
export function redemptionFieldRefusal({
  name,
  count,
  quota,
}: {
  name?: string
  /** Only when codes are created. */
  count?: number
  quota?: number
}): Refusal | null {
  if (name !== undefined && (name.trim() === '' || length(name) > REDEMPTION_NAME_LENGTH_MAX)) {
    return { code: 'redemption_name_invalid', params: { max: REDEMPTION_NAME_LENGTH_MAX } }
  }
  if (!isReadable(name ?? '')) return { code: 'text_unreadable', params: fieldPlaces('name') }
  if (count !== undefined && (count < 1 || count > REDEMPTION_COUNT_MAX)) {
    return { code: 'redemption_count_invalid', params: { max: REDEMPTION_COUNT_MAX } }
  }
  if (quota !== undefined && (quota < 0 || quota > QUOTA_MAX)) {
    return { code: 'redemption_quota_invalid', params: { max: QUOTA_MAX } }
  }
  return null
}

/**
 * Returns why the status of a code cannot be changed, or null. Unused and disabled can change into
 * each other; used is set by a redemption and stays.
 */
export function transitionRefusal(from: number, to: number): Refusal | null {
  if (to !== RedemptionStatus.unused && to !== RedemptionStatus.disabled) {
    return { code: 'redemption_status_invalid' }
  }
  return from === RedemptionStatus.used ? { code: 'redemption_used' } : null
}
