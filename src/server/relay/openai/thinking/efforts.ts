import {
  EFFORTS,
  effortOfBudget,
  type ChatRequest,
  type Effort,
} from '../../canonical/chat-request.ts'
import { dropThinking } from '../../dialect/steering.ts'

/**
 * Mistral's models that think when told to: they take `none` and `high`, all others no effort at
 * all. Sources: Mistral's documentation, "Adjustable" reasoning; its refusals, "Must be one of
 * (none, high)" and "not enabled for this model" (anomalyco/models.dev#1986,
 * withceleste/celeste-python#311).
 */
const MISTRAL_THINKS =
  /^(?:mistral-(?:small-(?:2603|latest)|medium-(?:2604|3(?:[.-]5)?|latest))|magistral-small-latest)$/

/**
 * The efforts that models of OpenAI take; none: they do not think, or not by an effort. The first
 * row that fits counts, and models that nobody here knows are told what the client said. Sources:
 * OpenAI's API reference, "Create chat completion", `reasoning_effort`; its guide "Reasoning"; the
 * values that its refusals list ("Supported values are: …"). Of others, who refuse further words or
 * ignore them: Z.ai, "GLM-5.3"; the Kimi API platform, "Thinking effort"; Volcengine Ark, "Chat
 * API"; of the models that OpenAI gave away: Groq and Together, "Reasoning"; xAI, "Reasoning", and
 * what its models were seen to refuse ("does not support parameter reasoningEffort",
 * NousResearch/hermes-agent#23435, theopenco/llmgateway#3669, earendil-works/pi#8381).
 */
const TAKEN: readonly (readonly [RegExp, readonly Effort[]])[] = [
  [/^(?:gpt-(?:3|4|audio)|chatgpt-|o1-(?:mini|preview))/, []],
  [/^gpt-5(?:\.\d+)?-chat/, ['medium']],
  [/^gpt-5-pro/, ['high']],
  [/^gpt-5\.\d+-pro/, ['medium', 'high', 'xhigh']],
  [/^gpt-5\.1-codex-max/, ['low', 'medium', 'high', 'xhigh']],
  [/^(?:o\d|gpt-5-codex|gpt-5\.1)|gpt-oss/, ['low', 'medium', 'high']],
  [/^gpt-5(?![.\d])/, ['minimal', 'low', 'medium', 'high']],
  [/^gpt-5\.[2-5](?!\d)/, ['low', 'medium', 'high', 'xhigh']],
  [/^gpt-(?:5\.|[6-9])/, ['low', 'medium', 'high', 'xhigh', 'max']],
  [/glm-5[.-][3-9]|kimi-k3/i, ['low', 'high', 'max']],
  [/^doubao-/i, ['minimal', 'low', 'medium', 'high']],
  [/grok-3-mini/, ['low', 'high']],
  [/grok-4[.-]20-multi-agent/, ['low', 'medium', 'high', 'xhigh']],
  [/grok-(?:[23](?!\d)|4(?![.-][3-9](?!\d))|beta|build|code|vision)/, []],
  [/grok-4[.-][3-5](?!\d)/, ['low', 'medium', 'high']],
  [/grok-\d/, ['low', 'medium', 'high', 'xhigh']],
  [MISTRAL_THINKS, ['high']],
  [/^(?:mistral|magistral|ministral|codestral|devstral|pixtral|open-mi[sx])/, []],
]

/** Models that can be told not to think at all. */
const CAN_BE_STOPPED = [
  /^gpt-(?:5\.[1-9]|[6-9])(?!.*-(?:codex|pro))/,
  /grok-4[.-]3(?!\d)/,
  MISTRAL_THINKS,
]

/**
 * Models that always think, and much where nobody says how much: who wants no thought comes nearest
 * by the least. Sources: Z.ai, "GLM-5.3", on moving from 5.2; the Kimi API platform; xAI,
 * "Reasoning".
 */
const ALWAYS_MUCH = /glm-5[.-][3-9]|kimi-k3|grok-4[.-][5-9](?!\d)/i

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
  dropThinking(request)
  return null
}

function wordForOff(model: string): string | null {
  if (CAN_BE_STOPPED.some((pattern) => pattern.test(model))) return 'none'
  return ALWAYS_MUCH.test(model) ? 'low' : null
}

/** The effort itself, else the next greater one, else the greatest. */
const nearest = (asked: Effort, taken: readonly Effort[]): Effort | null =>
  taken.find((effort) => EFFORTS.indexOf(effort) >= EFFORTS.indexOf(asked)) ?? taken.at(-1) ?? null
