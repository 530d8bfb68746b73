import type { Refusal } from '../../contract/errors.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import {
  REDEMPTION_COUNT_MAX,
  REDEMPTION_NAME_LENGTH_MAX,
  RedemptionStatus,
} from '../../contract/redemption.ts'
import { fieldPlaces } from '../../contract/field-title.ts'
import { isReadable, length } from '../../contract/text.ts'

/** The first field given that breaks a limit, or null. The order is the wire's. */
export function redemptionFieldRefusal({
  name,
  count,
  quota,
}: {
  name?: string
  /** On creation only. */
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
 * Why a code of this status cannot be given that one, or null. Unused and disabled change into each
 * other; used is what a redemption makes, and stays.
 */
export function transitionRefusal(from: number, to: number): Refusal | null {
  if (to !== RedemptionStatus.unused && to !== RedemptionStatus.disabled) {
    return { code: 'redemption_status_invalid' }
  }
  return from === RedemptionStatus.used ? { code: 'redemption_used' } : null
}
