import {
  EFFORTS,
  effortOfBudget,
  isThoughtOptional,
  type ChatRequest,
  type Effort,
} from '../../canonical/chat-request.ts'
import { cannotSay } from '../../dialect/field-names.ts'

/**
 * The efforts that models of OpenAI take; none: they do not think. The first row that fits counts,
 * and models that nobody here knows are told what the client said. Sources: OpenAI's API reference,
 * "Create chat completion", `reasoning_effort`; its guide "Reasoning"; the values that its refusals
 * list ("Supported values are: …"). Of others, who refuse further words or ignore them: Z.ai,
 * "GLM-5.3"; the Kimi API platform, "Thinking effort"; Volcengine Ark, "Chat API".
 */
const TAKEN: readonly (readonly [RegExp, readonly Effort[]])[] = [
  [/^(?:gpt-(?:3|4|audio)|chatgpt-|o1-(?:mini|preview))/, []],
  [/^gpt-5(?:\.\d+)?-chat/, ['medium']],
  [/^gpt-5-pro/, ['high']],
  [/^gpt-5\.\d+-pro/, ['medium', 'high', 'xhigh']],
  [/^gpt-5\.1-codex-max/, ['low', 'medium', 'high', 'xhigh']],
  [/^(?:o\d|gpt-oss|gpt-5-codex|gpt-5\.1)/, ['low', 'medium', 'high']],
  [/^gpt-5(?![.\d])/, ['minimal', 'low', 'medium', 'high']],
  [/^gpt-5\.[2-5](?!\d)/, ['low', 'medium', 'high', 'xhigh']],
  [/^gpt-(?:5\.|[6-9])/, ['low', 'medium', 'high', 'xhigh', 'max']],
  [/glm-5[.-][3-9]|kimi-k3/i, ['low', 'high', 'max']],
  [/^doubao-/i, ['minimal', 'low', 'medium', 'high']],
]

/** Models that can be told not to think at all. */
const CAN_BE_STOPPED = /^gpt-(?:5\.[1-9]|[6-9])(?!.*-(?:codex|pro))/

/**
 * Models that always think, and most of all where nobody says how much: who wants no thought comes
 * nearest by the least. Source: Z.ai, "GLM-5.3", on moving from 5.2; the Kimi API platform.
 */
const ALWAYS_MOST = /glm-5[.-][3-9]|kimi-k3/i

/** `reasoning_effort`; null: nothing needs to be said. */
export function openaiEffort(request: ChatRequest, model: string): string | null {
  const { thinking } = request
  if (thinking === null || thinking.kind === 'adaptive') return null
  if (thinking.kind === 'off') return wordForOff(model)
  const taken = TAKEN.find(([pattern]) => pattern.test(model))?.[1] ?? EFFORTS
  if (taken.length > 0) {
    return nearest(
      thinking.kind === 'effort' ? thinking.effort : effortOfBudget(thinking.tokens),
      taken,
    )
  }
  if (isThoughtOptional(request)) return null
  throw cannotSay(request, 'thinking')
}

function wordForOff(model: string): string | null {
  if (CAN_BE_STOPPED.test(model)) return 'none'
  return ALWAYS_MOST.test(model) ? 'low' : null
}

/** The effort itself, else the next greater one, else the greatest. */
const nearest = (asked: Effort, taken: readonly Effort[]): Effort | null =>
  taken.find((effort) => EFFORTS.indexOf(effort) >= EFFORTS.indexOf(asked)) ?? taken.at(-1) ?? null
