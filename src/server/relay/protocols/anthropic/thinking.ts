import {
  alwaysReasonsMuch,
  budgetOption,
  effortValues,
  hasFeature,
  interleavedOf,
  toggleOption,
  type Capabilities,
} from '../../../model/capabilities.ts'
import { capabilitiesOf, type AskedModel } from '../../../model/model-table.ts'
import {
  effortOfBudget,
  type AssistantPart,
  type ChatRequest,
  type Effort,
  type Message,
  type Thinking,
  nearestEffort,
} from '../canonical/chat-request.ts'
import { isForced, dropThinking, adjustThinking, reportSampling } from '../dialect/steering.ts'
import { ownSignature } from '../canonical/signature.ts'
import { turnsOf } from '../canonical/turns.ts'
import type { Target } from '../dialect/dialect.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'

/**
 * How a Claude model is asked to reason. Source: Anthropic's documentation, "Extended thinking",
 * "Adaptive thinking" and "Effort", and the migration guides of the models from 4.7 on:
 *
 * - up to 3.5: not supported
 * - 3.7 to 4.5: by a budget of tokens, at least 1024 and less than `max_tokens`
 * - 4.6 and later, and unknown models: `adaptive`, with an effort beside it
 */
type Way = 'none' | 'budget' | 'adaptive'

function wayOf(model: Capabilities): Way {
  if (model.reasoning === false) return 'none'
  return budgetOption(model) === null ? 'adaptive' : 'budget'
}

/** Whether the model's reasoning is limited by a token budget. */
export const thinksByBudget = (to: AskedModel): boolean => wayOf(capabilitiesOf(to)) === 'budget'

const isClaude = ({ maker }: Capabilities): boolean => maker === 'anthropic'

/**
 * Claude from 4.7 on rejects sampling parameters, and hides its reasoning unless asked for a
 * summary; other models with this dialect do neither.
 */
const isLaterClaude = (model: Capabilities): boolean =>
  isClaude(model) && model.temperature === false

/** Whether the model takes an effort. Source: Anthropic's documentation, "Effort". */
export function hasEffort(to: AskedModel): boolean {
  const model = capabilitiesOf(to)
  return effortValues(model) !== null || wayOf(model) === 'adaptive'
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

/**
 * Returns `max_tokens`, reasoning included, for a request without a limit, since Anthropic requires
 * one. A whole answer must arrive before the client or the relay times out
 * (`RELAY_WHOLE_ANSWER_TIMEOUT`), so its limit is lower. A stream gets the model's maximum: for
 * models since 4.5 the prompt does not reduce it; before 4.5, limit and prompt together had to fit
 * into the context window. Claude Code itself sends this limit to unknown models. Sources:
 * Anthropic's documentation, "Models overview" and "Context windows"; Claude Code's, "Environment
 * variables".
 */
export function defaultMaxTokens(to: AskedModel, isStream: boolean): number {
  const { default_output: tokens = UNKNOWN_ANSWER_TOKENS } = capabilitiesOf(to).limit ?? {}
  return isStream ? tokens : Math.min(tokens, ANSWER_TOKENS)
}

const UNKNOWN_ANSWER_TOKENS = 32_000

/** Tokens of an answer without its reasoning. */
const ANSWER_TOKENS = 8192

export interface ThinkingWords {
  thinking: JsonRecord | null
  effort: string | null
  maxTokens: number
}

/** Returns the members that control reasoning, and a `max_tokens` that leaves room for it. */
export function thinkingWords(
  request: ChatRequest,
  to: Pick<Target, 'isStream'> & AskedModel,
): ThinkingWords {
  const { thinking, maxCompletionTokens } = request
  const maxTokens = maxCompletionTokens ?? defaultMaxTokens(to, to.isStream)
  const plain: ThinkingWords = { thinking: null, effort: null, maxTokens }
  const model = capabilitiesOf(to)
  if (lacksReasoning(request.messages, model)) return { ...plain, thinking: { type: 'disabled' } }
  if (thinking === null) return plain
  if (thinking.kind === 'off') {
    if (!alwaysReasonsMuch(model)) return { ...plain, thinking: thinkingOff(model) }
    // This model rejects `disabled`, so the lowest effort is sent.
    adjustThinking(request)
    return { ...plain, effort: 'low' }
  }
  const way = wayOf(model)
  if (way === 'none') {
    dropThinking(request)
    return plain
  }
  if (way === 'adaptive') return { ...plain, ...adaptiveWords(request, thinking, model) }
  // "Thinking may not be enabled when tool_choice forces tool use": the call begins the answer.
  if (isForced(request) || !canGoOnThinking(request.messages)) return plain
  const asked = thinking.kind === 'effort' ? BUDGETS[thinking.effort] : BUDGETS.medium
  const tokens = thinking.kind === 'budget' ? Math.max(thinking.tokens, BUDGET_MIN) : asked
  return withBudget(tokens, request, maxTokens)
}

/** "tool_choice: type "tool" and "any" are not supported for this model." */
export const canBeForced = (to: AskedModel): boolean =>
  capabilitiesOf(to).forced_tool_call !== false

/**
 * Up to 4.8, models reason only on request. "To turn thinking off on this model, send
 * `between_tools`." Source: Anthropic's documentation, "What's new in Claude Sonnet 5.5".
 */
function thinkingOff(model: Capabilities): JsonRecord | null {
  const member = toggleOption(model)?.member
  if (member === 'between_tools') return { type: member }
  const isUnasked = model.reasoning === false || model.reasoning_default === 'none'
  return isUnasked ? null : { type: 'disabled' }
}

/** From 4.7 on, Claude hides its reasoning unless the request asks for a summary. */
function adaptiveWords(
  request: ChatRequest,
  thinking: Exclude<Thinking, { kind: 'off' }>,
  model: Capabilities,
): Pick<ThinkingWords, 'thinking' | 'effort'> {
  const effort = effortWord(thinking, model)
  const isUnasked = model.reasoning_default === 'none'
  if (isUnasked && isForced(request)) return { thinking: null, effort }
  const display = isLaterClaude(model) ? 'summarized' : null
  return { thinking: { type: 'adaptive', ...present({ display }) }, effort }
}

function effortWord(
  thinking: Exclude<Thinking, { kind: 'off' }>,
  model: Capabilities,
): string | null {
  if (thinking.kind === 'adaptive') return null
  const asked = thinking.kind === 'effort' ? thinking.effort : effortOfBudget(thinking.tokens)
  const values = effortValues(model)
  // Anthropic's lowest effort is `low`, and only models since 4.7 have `xhigh`.
  if (asked === 'minimal') return 'low'
  if (asked === 'xhigh' && values?.includes(asked) === false) return 'high'
  return values === null ? asked : nearestEffort(asked, values)
}

/**
 * With a reasoning budget, a turn with pending calls must begin with a thought: "Expected
 * `thinking` or `redacted_thinking`, but found `tool_use`". Clients that do not send thoughts back,
 * as most of OpenAI's, get no reasoning until the turn is over.
 */
function canGoOnThinking(messages: readonly Message[]): boolean {
  let isOpen = false
  for (const { role, parts } of turnsOf(messages).toReversed()) {
    if (role === 'user' && !parts.some(({ kind }) => kind === 'toolResult')) break
    if (role === 'assistant' && parts.some(isOwnThought)) return true
    isOpen = true
  }
  return !isOpen
}

/**
 * Whether a call has no thought, which the model requires back while it reasons:
 * "`content[].thinking` in the thinking mode must be passed back" (DeepSeek, Kimi).
 */
function lacksReasoning(messages: readonly Message[], model: Capabilities): boolean {
  if (interleavedOf(model)?.placeholder === undefined) return false
  return turnsOf(messages).some(
    ({ role, parts }) =>
      role === 'assistant' &&
      parts.some(({ kind }) => kind === 'toolCall') &&
      !parts.some((part) => part.kind === 'thinking' && part.text !== ''),
  )
}

/**
 * Whether reasoning is sent back to this model of Anthropic's dialect: Claude accepts only its own;
 * other models need theirs, which are not signed.
 */
export const isThoughtTaken = (part: AssistantPart, to: AskedModel): boolean =>
  isOwnThought(part) ||
  (part.kind === 'thinking' && part.text !== '' && interleavedOf(capabilitiesOf(to)) !== null)

/** Whether Anthropic signed or hid the thought, and so accepts it back. */
const isOwnThought = (part: AssistantPart): boolean =>
  part.kind === 'thinking' &&
  (part.redacted !== null || ownSignature(part.signature, 'anthropic') !== null)

/** A limit of the client includes the reasoning; the gateway's own limit adds room for it. */
function withBudget(tokens: number, request: ChatRequest, maxTokens: number): ThinkingWords {
  if (request.maxCompletionTokens === null) {
    const thinking = { type: 'enabled', budget_tokens: tokens }
    return { thinking, effort: null, maxTokens: Math.max(maxTokens, ANSWER_TOKENS + tokens) }
  }
  const budget = Math.min(tokens, maxTokens - 1)
  // The limit leaves no room for reasoning.
  if (budget < BUDGET_MIN) return { thinking: null, effort: null, maxTokens }
  return { thinking: { type: 'enabled', budget_tokens: budget }, effort: null, maxTokens }
}

/**
 * Sampling parameters that a model accepts. Sources: "Extended thinking", "Feature compatibility";
 * the migration guides of 4.5 (not both together) and 4.7 (no sampling parameters).
 */
export function samplingWords(
  request: ChatRequest,
  to: AskedModel,
  isThinking: boolean,
): JsonRecord {
  const { temperature, topP, topK } = request
  const model = capabilitiesOf(to)
  if (model.temperature === false || (isClaude(model) && isThinking)) {
    reportSampling(request, ['temperature', 'topP', 'topK'])
    return {}
  }
  const isEither = hasFeature(model, 'one_sampling_member') && temperature !== null
  if (isEither) reportSampling(request, ['topP'])
  return present({ temperature, top_p: isEither ? null : topP, top_k: topK })
}
