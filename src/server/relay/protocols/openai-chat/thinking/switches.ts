import { budgetOption, toggleOption, type BudgetOption } from '../../../../model/capabilities.ts'
import { capabilitiesOf } from '../../../../model/model-table.ts'
import type { Effort, Thinking } from '../../canonical/chat-request.ts'
import type { Target } from '../../dialect/dialect.ts'
import type { ReasoningSwitch } from '../../dialect/traits.ts'
import { present, type JsonRecord } from '../../../json/json-value.ts'

/** Forms of the vendors' members that turn reasoning on or off. */

/** Sends `thinking` as an object, with the effort in a member of its own. */
export const byObject: ReasoningSwitch = ({ kind }, effort) =>
  present({
    thinking: { type: kind === 'off' ? 'disabled' : 'enabled' },
    reasoning_effort: effort,
  })

/** Sends `thinking` as an object, without an effort. */
export const byObjectAlone: ReasoningSwitch = ({ kind }) => ({
  thinking: { type: kind === 'off' ? 'disabled' : 'enabled' },
})

/** Sends a boolean, with the effort in a member of its own. */
export const byFlag: ReasoningSwitch = ({ kind }, effort) =>
  present({ enable_thinking: kind !== 'off', reasoning_effort: effort })

/** Sends a boolean, and a token budget instead of an effort if `fit` returns one. */
export const byBudget =
  (fit: (tokens: number, limits: BudgetOption) => number | null): ReasoningSwitch =>
  (thinking, _effort, model) => {
    const tokens = tokensOf(thinking)
    const limits = budgetOption(model)
    return present({
      enable_thinking: thinking.kind !== 'off',
      thinking_budget: tokens === null || limits === null ? null : fit(tokens, limits),
    })
  }

/** Reasoning tokens of each effort; null: the model's maximum. */
const BUDGETS: Readonly<Record<Effort, number | null>> = {
  minimal: 512,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
  max: null,
}

function tokensOf(thinking: Thinking): number | null {
  if (thinking.kind === 'budget') return thinking.tokens
  return thinking.kind === 'effort' ? BUDGETS[thinking.effort] : null
}

type At = Pick<Target, 'model' | 'type' | 'traits' | 'capabilities'>

const switchOf = (to: At): ReasoningSwitch | undefined =>
  toggleOption(capabilitiesOf(to)) === null ? undefined : to.traits?.reasoningSwitch

/** Whether the model takes the vendor's own member that turns reasoning on or off. */
export const canBeSwitched = (to: At): boolean => switchOf(to) !== undefined

/** Members that control reasoning; `effort`: OpenAI's effort, null if not set. */
export function thinkingMembers(
  thinking: Thinking | null,
  to: At,
  effort: string | null,
): JsonRecord {
  const model = capabilitiesOf(to)
  const own = switchOf(to)
  const told =
    thinking === null || own === undefined
      ? present({ reasoning_effort: effort })
      : own(thinking, effort, model)
  return { ...to.traits?.usualMembers?.(model), ...told }
}
