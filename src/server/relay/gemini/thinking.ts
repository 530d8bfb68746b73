import {
  effortOfBudget,
  type ChatRequest,
  type Effort,
  type Thinking,
} from '../canonical/chat-request.ts'
import { adjustThinking, dropThinking } from '../dialect/steering.ts'
import type { JsonRecord } from '../json/json-value.ts'

/**
 * How Gemini models are told to think. Source: Gemini API documentation, "Thinking": from 3 on by a
 * level, in 2.5 by a budget of tokens whose bounds depend on the model, before that not at all.
 */
interface Budget {
  min: number
  max: number
  canBeOff: boolean
}

const BUDGETS: readonly (readonly [RegExp, Budget])[] = [
  [/2\.5-flash-lite/, { min: 512, max: 24_576, canBeOff: true }],
  [/2\.5-flash/, { min: 1, max: 24_576, canBeOff: true }],
  [/2\.5/, { min: 128, max: 32_768, canBeOff: false }],
]

/** Of what the model may think at most. */
const PERCENT: Readonly<Record<Effort, number>> = {
  minimal: 5,
  low: 20,
  medium: 50,
  high: 80,
  xhigh: 100,
  max: 100,
}

const LEVELS: Readonly<Record<Effort, string>> = {
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}

/** Models that know the lowest level; the others refuse it. Source: as above, "Thinking levels". */
const HAS_MINIMAL = /gemini-3(?:\.[0-6])?-flash|flash-lite/

/** Models that are told a level. */
export const thinksByLevel = (model: string): boolean => /gemini-(?:[3-9]|\d\d)/.test(model)

/** `thinkingConfig`, or null when nothing needs to be said. */
export function geminiThinking(request: ChatRequest, model: string): JsonRecord | null {
  const { thinking } = request
  if (thinking === null) return null
  const budget = BUDGETS.find(([pattern]) => pattern.test(model))?.[1]
  if (thinking.kind === 'off') return thinkingOff(request, model, budget)
  if (budget !== undefined) {
    return { thinkingBudget: budgetOf(thinking, budget), includeThoughts: true }
  }
  if (!thinksByLevel(model)) {
    dropThinking(request)
    return null
  }
  if (thinking.kind === 'adaptive') return { includeThoughts: true }
  const effort = thinking.kind === 'effort' ? thinking.effort : effortOfBudget(thinking.tokens)
  const isTooLow = effort === 'minimal' && !HAS_MINIMAL.test(model)
  return { thinkingLevel: LEVELS[isTooLow ? 'low' : effort], includeThoughts: true }
}

/**
 * Models that always think are told the least. For clients of Anthropic "off" is the ordinary case,
 * and no wish that anything should change.
 */
function thinkingOff(
  request: ChatRequest,
  model: string,
  budget: Budget | undefined,
): JsonRecord | null {
  if (budget?.canBeOff === true) return { thinkingBudget: 0 }
  const isByLevel = thinksByLevel(model)
  if (request.spokenIn === 'anthropic' || (budget === undefined && !isByLevel)) return null
  adjustThinking(request)
  if (budget !== undefined) return { thinkingBudget: budget.min }
  return { thinkingLevel: HAS_MINIMAL.test(model) ? 'minimal' : 'low' }
}

const DYNAMIC = -1

function budgetOf(thinking: Exclude<Thinking, { kind: 'off' }>, { min, max }: Budget): number {
  if (thinking.kind === 'adaptive') return DYNAMIC
  const tokens =
    thinking.kind === 'budget'
      ? thinking.tokens
      : Math.floor((max * PERCENT[thinking.effort]) / 100)
  return Math.min(max, Math.max(min, tokens))
}
