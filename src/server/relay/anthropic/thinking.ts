import type { ChatRequest, Effort } from '../canonical/chat-request.ts'
import { cannotSay } from '../dialect/field-names.ts'
import type { JsonRecord } from '../json/json-value.ts'

/**
 * How Claude models are told to think, which has changed with them. Source: Anthropic's
 * documentation, "Extended thinking" and "Effort":
 *
 * - up to 3.5: not at all
 * - 3.7 to 4.5: by a budget of tokens, at least 1024 and less than `max_tokens`
 * - 4.6 and later, and names nobody knows: `adaptive`, with an effort beside it
 */
type Way = 'none' | 'budget' | 'adaptive'

const NONE = /claude-(?:instant|2|3-(?:5|opus|sonnet|haiku))/
const BUDGET =
  /claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-(?:[0-5]|\d{8}))?(?![\d])(?!-(?:[6-9]|\d\d(?!\d))))/

const wayOf = (model: string): Way => {
  const name = model.replaceAll('.', '-')
  if (NONE.test(name)) return 'none'
  return BUDGET.test(name) ? 'budget' : 'adaptive'
}

const BUDGET_MIN = 1024
const BUDGETS: Readonly<Record<Effort, number>> = {
  minimal: BUDGET_MIN,
  low: 1280,
  medium: 2048,
  high: 4096,
  xhigh: 8192,
  max: 16_384,
}

/** The least effort has another name here. */
const effortWord = (effort: Effort): string => (effort === 'minimal' ? 'low' : effort)

/** What an answer may be long when the client does not say, and must. */
export const defaultMaxTokens = (model: string): number =>
  /claude-(?:instant|2|3-(?:opus|sonnet|haiku))/.test(model.replaceAll('.', '-')) ? 4096 : 8192

export interface ThinkingWords {
  thinking: JsonRecord | null
  effort: string | null
  maxTokens: number
}

/** The members that say how much to think, and the limit that leaves room for it. */
export function thinkingWords(request: ChatRequest, model: string): ThinkingWords {
  const { thinking, maxCompletionTokens } = request
  const maxTokens = maxCompletionTokens ?? defaultMaxTokens(model)
  const plain: ThinkingWords = { thinking: null, effort: null, maxTokens }
  if (thinking === null || thinking.kind === 'off') return plain
  const way = wayOf(model)
  if (way === 'none') throw cannotSay(request, 'thinking')
  if (way === 'adaptive') {
    const effort = thinking.kind === 'effort' ? effortWord(thinking.effort) : null
    return { thinking: { type: 'adaptive' }, effort, maxTokens }
  }
  const asked = thinking.kind === 'effort' ? BUDGETS[thinking.effort] : BUDGETS.medium
  const tokens = thinking.kind === 'budget' ? Math.max(thinking.tokens, BUDGET_MIN) : asked
  return withBudget(tokens, request, maxTokens)
}

/** A limit that the client has set bounds the thinking; one of ours makes room for it. */
function withBudget(tokens: number, request: ChatRequest, maxTokens: number): ThinkingWords {
  if (request.maxCompletionTokens === null) {
    const thinking = { type: 'enabled', budget_tokens: tokens }
    return { thinking, effort: null, maxTokens: maxTokens + tokens }
  }
  const budget = Math.min(tokens, maxTokens - 1)
  // There is no room to think in.
  if (budget < BUDGET_MIN) return { thinking: null, effort: null, maxTokens }
  return { thinking: { type: 'enabled', budget_tokens: budget }, effort: null, maxTokens }
}
