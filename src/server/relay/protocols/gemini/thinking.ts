import {
  budgetOption,
  effortValues,
  toggleOption,
  type BudgetOption,
  type Capabilities,
} from '../../../model/capabilities.ts'
import { capabilitiesOf, type AskedModel } from '../../../model/model-table.ts'
import {
  effortOfBudget,
  type ChatRequest,
  type Effort,
  type Thinking,
} from '../canonical/chat-request.ts'
import { adjustThinking, dropThinking } from '../dialect/steering.ts'
import type { JsonRecord } from '../../json/json-value.ts'

/**
 * How Gemini models are asked to reason. Source: Gemini API documentation, "Thinking": from 3 on by
 * a level, in 2.5 by a token budget whose bounds depend on the model; earlier models do not reason.
 */
const BUDGET_MIN = 1
const BUDGET_MAX = 32_768

/** Percent of the model's maximum reasoning budget. */
const PERCENT: Readonly<Record<Effort, number>> = {
  minimal: 5,
  low: 20,
  medium: 50,
  high: 80,
  xhigh: 100,
  max: 100,
}

/** Returns `thinkingConfig`; null to use the default. */
export function geminiThinking(request: ChatRequest, to: AskedModel): JsonRecord | null {
  const { thinking } = request
  if (thinking === null) return null
  const model = capabilitiesOf(to)
  if (thinking.kind === 'off') return thinkingOff(request, model)
  const budget = budgetOption(model)
  if (budget !== null) {
    return { thinkingBudget: budgetOf(thinking, budget), includeThoughts: true }
  }
  const levels = levelsOf(model)
  if (thinking.kind === 'adaptive' && model.reasoning === true) return { includeThoughts: true }
  if (levels.length === 0 || thinking.kind === 'adaptive') {
    dropThinking(request)
    return null
  }
  const effort = thinking.kind === 'effort' ? thinking.effort : effortOfBudget(thinking.tokens)
  const asked = LEVELS.indexOf(effort === 'xhigh' || effort === 'max' ? 'high' : effort)
  const level = levels.find((known) => LEVELS.indexOf(known) >= asked) ?? levels.at(-1)
  return { thinkingLevel: level, includeThoughts: true }
}

/** Reasoning levels from lowest to highest. */
const LEVELS: readonly string[] = ['minimal', 'low', 'medium', 'high']

/** Levels that the model accepts; empty if it takes no level. */
function levelsOf(model: Capabilities): string[] {
  const values = effortValues(model) ?? []
  return LEVELS.filter((level) => values.includes(level))
}

/**
 * Models that always reason get the minimum instead of "off", which clients of Anthropic send by
 * default.
 */
function thinkingOff(request: ChatRequest, model: Capabilities): JsonRecord | null {
  const budget = budgetOption(model)
  if (budget !== null && toggleOption(model) !== null) return { thinkingBudget: 0 }
  const [least] = levelsOf(model)
  if (request.spokenIn === 'anthropic' || (budget === null && least === undefined)) return null
  adjustThinking(request)
  return budget === null ? { thinkingLevel: least } : { thinkingBudget: budget.min ?? BUDGET_MIN }
}

const DYNAMIC = -1

function budgetOf(
  thinking: Exclude<Thinking, { kind: 'off' }>,
  { min = BUDGET_MIN, max = BUDGET_MAX }: BudgetOption,
): number {
  if (thinking.kind === 'adaptive') return DYNAMIC
  const tokens =
    thinking.kind === 'budget'
      ? thinking.tokens
      : Math.floor((max * PERCENT[thinking.effort]) / 100)
  return Math.min(max, Math.max(min, tokens))
}
