import { RedemptionStatus } from '../../contract/redemption.ts'
import { mark } from '../app/i18n.ts'
import type { StateNames } from '../app/label/state-name.tsx'

export const codeStates: StateNames = new Map([
  [RedemptionStatus.unused, { tone: 'good', name: mark('未使用') }],
  [RedemptionStatus.disabled, { tone: 'off', name: mark('已禁用') }],
  [RedemptionStatus.used, { tone: 'off', name: mark('已使用') }],
])

/** A used code stays used. */
export const canToggle = (status: number): boolean => status !== RedemptionStatus.used

/** The other of the two states that users can set. */
export const toggled = (status: number): number =>
  status === RedemptionStatus.unused ? RedemptionStatus.disabled : RedemptionStatus.unused
