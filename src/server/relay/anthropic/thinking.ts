import {
  effortOfBudget,
  type AssistantPart,
  type ChatRequest,
  type Effort,
  type Message,
  type Thinking,
} from '../canonical/chat-request.ts'
import { reasoningBackOf } from '../models/reasoning-back.ts'
import { isForced } from '../dialect/forced-tool.ts'
import { ownSignature } from '../canonical/signature.ts'
import { turnsOf } from '../canonical/turns.ts'
import type { Target } from '../dialect/dialect.ts'
import { dropThinking, adjustThinking, reportSampling } from '../dialect/steering.ts'
import { present, type JsonRecord } from '../json/json-value.ts'

/**
 * How Claude models are told to think, which has changed with them. Source: Anthropic's
 * documentation, "Extended thinking", "Adaptive thinking" and "Effort", and the migration guides of
 * the models from 4.7 on:
 *
 * - up to 3.5: not at all
 * - 3.7 to 4.5: by a budget of tokens, at least 1024 and less than `max_tokens`
 * - 4.6 and later, and names nobody knows: `adaptive`, with an effort beside it
 */
type Way = 'none' | 'budget' | 'adaptive'

/** `claude-3-7-sonnet-20250219`, `claude-opus-4-20250514`, `claude-opus-4.7`, `claude-v2:1`. */
const VERSION = /claude-(?:[a-z]+-)?v?(\d+)(?:-(\d{1,2})(?!\d))?/

interface Claude {
  /** With hyphens where some write dots. */
  name: string
  /** 406 is 4.6; null: the name says none. */
  version: number | null
}

/** Which Claude a name means, whatever stands around it. */
export function claudeOf(model: string): Claude {
  const name = model.replaceAll('.', '-')
  const found = VERSION.exec(name)
  const version = found === null ? null : Number(found[1]) * 100 + Number(found[2] ?? 0)
  return { name, version }
}

export const isBefore = ({ version }: Claude, other: number): boolean =>
  version !== null && version < other

function wayOf(claude: Claude): Way {
  if (isBefore(claude, 307)) return 'none'
  return isBefore(claude, 406) ? 'budget' : 'adaptive'
}

/** Whether a model is told how much to think by a budget. */
export const thinksByBudget = (model: string): boolean => wayOf(claudeOf(model)) === 'budget'

/** Claude by its own name, from 4.7 on: nothing of it is to be said to those who only imitate it. */
const isClaudeSince407 = (claude: Claude): boolean =>
  claude.name.includes('claude') && !isBefore(claude, 407)

/** Whether it is told by an effort how much to do. Source: Anthropic's documentation, "Effort". */
export function hasEffort(model: string): boolean {
  const claude = claudeOf(model)
  return !isBefore(claude, 406) || (claude.version === 405 && claude.name.includes('opus'))
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
 * What an answer may be long, thoughts included, when the client does not say, and must. One that
 * comes whole must be there before its client gives up, or we do (`RELAY_WHOLE_ANSWER_TIMEOUT`). A
 * stream
 * may take its time: all models since 4.5 write as much and, before that, the limit had to fit into
 * the window beside the prompt; to names nobody knows Claude Code itself says so much. Sources:
 * Anthropic's documentation, "Models overview" and "Context windows"; Claude Code's, "Environment
 * variables".
 */
export function defaultMaxTokens(model: string, isStream: boolean): number {
  const claude = claudeOf(model)
  if (isBefore(claude, 305)) return 4096
  if (!isStream || isBefore(claude, 405)) return ANSWER_TOKENS
  return claude.version === null ? 32_000 : 64_000
}

/** Of an answer without its thoughts. */
const ANSWER_TOKENS = 8192

export interface ThinkingWords {
  thinking: JsonRecord | null
  effort: string | null
  maxTokens: number
}

/** The members that say how much to think, and the limit that leaves room for it. */
export function thinkingWords(
  request: ChatRequest,
  { model, isStream }: Pick<Target, 'model' | 'isStream'>,
): ThinkingWords {
  const { thinking, maxCompletionTokens } = request
  const maxTokens = maxCompletionTokens ?? defaultMaxTokens(model, isStream)
  const plain: ThinkingWords = { thinking: null, effort: null, maxTokens }
  if (lacksReasoning(request.messages, model)) return { ...plain, thinking: { type: 'disabled' } }
  if (thinking === null) return plain
  const claude = claudeOf(model)
  if (thinking.kind === 'off') {
    if (!ALWAYS_THINKS.test(claude.name)) return { ...plain, thinking: thinkingOff(claude) }
    adjustThinking(request)
    return { ...plain, effort: 'low' }
  }
  const way = wayOf(claude)
  if (way === 'none') {
    dropThinking(request)
    return plain
  }
  if (way === 'adaptive') return { ...plain, ...adaptiveWords(request, thinking, claude) }
  // "Thinking may not be enabled when tool_choice forces tool use": the call begins the answer.
  if (isForced(request) || !canGoOnThinking(request.messages)) return plain
  const asked = thinking.kind === 'effort' ? BUDGETS[thinking.effort] : BUDGETS.medium
  const tokens = thinking.kind === 'budget' ? Math.max(thinking.tokens, BUDGET_MIN) : asked
  return withBudget(tokens, request, maxTokens)
}

/** Models that can be asked for calls, but not made to call. */
const CALLS_AT_WILL = /claude-(?:(?:fable|mythos)-5-[1-9]|(?:opus|sonnet)-5-5)(?!\d)/

/**
 * "tool_choice: type "tool" and "any" are not supported for this model." Source: Anthropic's
 * documentation, "What's new" of Claude Opus 5.5, Sonnet 5.5 and Fable 5.1.
 */
export const canBeForced = (model: string): boolean => !CALLS_AT_WILL.test(claudeOf(model).name)

/** Models that answer `disabled` with an error: the least effort comes nearest to no thought. */
const ALWAYS_THINKS = /claude-(?:fable|mythos|opus-5-5)/
/** "To turn thinking off on this model, send `between_tools`." */
const THINKS_BETWEEN_TOOLS = /claude-sonnet-5-5/

/** Up to 4.8 models think only when told to. */
function thinkingOff(claude: Claude): JsonRecord | null {
  if (THINKS_BETWEEN_TOOLS.test(claude.name)) return { type: 'between_tools' }
  return isBefore(claude, 500) ? null : { type: 'disabled' }
}

/** From 4.7 on thoughts are kept back where nobody asks for their summary. */
function adaptiveWords(
  request: ChatRequest,
  thinking: Exclude<Thinking, { kind: 'off' }>,
  claude: Claude,
): Pick<ThinkingWords, 'thinking' | 'effort'> {
  const effort = effortWord(thinking, claude)
  if (isBefore(claude, 500) && isForced(request)) return { thinking: null, effort }
  const display = isClaudeSince407(claude) ? 'summarized' : null
  return { thinking: { type: 'adaptive', ...present({ display }) }, effort }
}

function effortWord(thinking: Exclude<Thinking, { kind: 'off' }>, claude: Claude): string | null {
  if (thinking.kind === 'adaptive') return null
  const effort = thinking.kind === 'effort' ? thinking.effort : effortOfBudget(thinking.tokens)
  // The least has another name here, and the last but one came with 4.7.
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && isBefore(claude, 407) ? 'high' : effort
}

/**
 * A turn whose calls are being answered must have begun with a thought where there is a budget:
 * "Expected `thinking` or `redacted_thinking`, but found `tool_use`". Clients that do not hand
 * thoughts back, as most of OpenAI's, are answered without one until the turn is over.
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
 * Whether a call was made without a thought, which the model demands back of itself while it
 * thinks: "`content[].thinking` in the thinking mode must be passed back" (DeepSeek, Kimi).
 */
function lacksReasoning(messages: readonly Message[], model: string): boolean {
  if ((reasoningBackOf(model)?.least ?? null) === null) return false
  return turnsOf(messages).some(
    ({ role, parts }) =>
      role === 'assistant' &&
      parts.some(({ kind }) => kind === 'toolCall') &&
      !parts.some((part) => part.kind === 'thinking' && part.text !== ''),
  )
}

/**
 * Whether a thought goes back to this model of Anthropic's dialect: Claude takes its own only,
 * others want theirs, which nobody seals.
 */
export const isThoughtTaken = (part: AssistantPart, model: string): boolean =>
  isOwnThought(part) ||
  (part.kind === 'thinking' && part.text !== '' && reasoningBackOf(model) !== null)

/** One that Anthropic has sealed, or hidden, and so takes back. */
const isOwnThought = (part: AssistantPart): boolean =>
  part.kind === 'thinking' &&
  (part.redacted !== null || ownSignature(part.signature, 'anthropic') !== null)

/** A limit that the client has set bounds the thinking; one of ours makes room for it. */
function withBudget(tokens: number, request: ChatRequest, maxTokens: number): ThinkingWords {
  if (request.maxCompletionTokens === null) {
    const thinking = { type: 'enabled', budget_tokens: tokens }
    return { thinking, effort: null, maxTokens: Math.max(maxTokens, ANSWER_TOKENS + tokens) }
  }
  const budget = Math.min(tokens, maxTokens - 1)
  // There is no room to think in.
  if (budget < BUDGET_MIN) return { thinking: null, effort: null, maxTokens }
  return { thinking: { type: 'enabled', budget_tokens: budget }, effort: null, maxTokens }
}

/**
 * The figures for sampling that a model takes. Sources: "Extended thinking", "Feature
 * compatibility"; the migration guides of 4.5 (not both figures) and 4.7 (none any more).
 */
export function samplingWords(
  request: ChatRequest,
  model: string,
  isThinking: boolean,
): JsonRecord {
  const { temperature, topP, topK } = request
  const claude = claudeOf(model)
  const isClaude = claude.name.includes('claude')
  if (isClaudeSince407(claude) || (isClaude && isThinking)) {
    reportSampling(request, ['temperature', 'topP', 'topK'])
    return {}
  }
  const isEither = isClaude && !isBefore(claude, 400) && temperature !== null
  if (isEither) reportSampling(request, ['topP'])
  return present({ temperature, top_p: isEither ? null : topP, top_k: topK })
}
