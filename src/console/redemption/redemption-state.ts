import { RedemptionStatus } from '../../contract/redemption.ts'
import { mark } from '../app/i18n.ts'
import type { Tone } from '../ui/marks.tsx'

const states = new Map<number, { tone: Tone; name: string }>([
  [RedemptionStatus.unused, { tone: 'good', name: mark('未使用') }],
  [RedemptionStatus.disabled, { tone: 'off', name: mark('已禁用') }],
  [RedemptionStatus.used, { tone: 'off', name: mark('已使用') }],
])

export const stateOf = (status: number): { tone: Tone; name: string } =>
  states.get(status) ?? { tone: 'off', name: mark('未知状态') }

/** A code that was used stays used. */
export const canToggle = (status: number): boolean => status !== RedemptionStatus.used

/** The other of the two states that people choose. */
export const toggled = (status: number): number =>
  status === RedemptionStatus.unused ? RedemptionStatus.disabled : RedemptionStatus.unused
