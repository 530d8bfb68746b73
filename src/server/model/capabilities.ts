/**
 * What a model can do, in the schema of models.dev (https://github.com/anomalyco/models.dev,
 * README, "Schema Reference"). A missing member is unknown. Members that models.dev does not have
 * are marked "ours"; they come from `overrides.json` and from operators.
 */
export interface Capabilities {
  /** Ours: who made the model, whoever hosts it: `openai`, `anthropic`, `google`, `mistral`. */
  maker?: string
  reasoning?: boolean
  /** How the reasoning can be set; an empty list if it cannot. */
  reasoning_options?: readonly ReasoningOption[]
  /** Ours: the effort that applies if the request sets none; `none`: the model does not reason. */
  reasoning_default?: string
  /** Whether, and in which member, reasoning of earlier turns must be sent back. */
  interleaved?: boolean | Interleaved
  /** False: the model refuses `temperature`, `top_p` and penalties while it reasons. */
  temperature?: boolean
  tool_call?: boolean
  /** Ours: whether `tool_choice` can force a call; `any`: only one that names no tool. */
  forced_tool_call?: boolean | 'any'
  /** Ours: whether the model continues an assistant message at the end of the conversation. */
  prefill?: boolean
  /** Ours: the only OpenAI API that serves the model, and the one for calls with tools. */
  api?: 'responses'
  tools_api?: 'responses'
  structured_output?: boolean
  /** Ours: what is special about the model in its maker's own API. */
  features?: readonly Feature[]
  open_weights?: boolean
  modalities?: { readonly input?: readonly string[]; readonly output?: readonly string[] }
  limit?: {
    readonly context?: number
    readonly input?: number
    readonly output?: number
    /** Ours: what to ask for in a stream where the API demands a limit and the client sets none. */
    readonly default_output?: number
  }
}

export const FEATURES = [
  /** Claude: prompts can be cached for an hour at Amazon too. */
  'cache_1h',
  /** Claude: thinking between tool calls is a beta that other models refuse. */
  'interleaved_thinking_beta',
  /** Claude: system messages and tool changes within a conversation. */
  'mid_conversation',
  /** Claude: `temperature` and `top_p` are refused together. */
  'one_sampling_member',
  /** GLM: streams the arguments of a call if told to. */
  'tool_stream',
  /** Qwen: keeps the prompt up to a cache mark. */
  'cache_marks',
  /** Qwen at Alibaba: answers in a stream only, or reasons in a stream only. */
  'stream_only',
  'reasons_in_streams_only',
  /** Gemini: tool calls and results have ids, and calls carry a signature. */
  'tool_call_ids',
  /** Gemini: searches the web beside functions. */
  'search_with_functions',
] as const
export type Feature = (typeof FEATURES)[number]

export type ReasoningOption =
  | ToggleOption
  | { readonly type: 'effort'; readonly values: readonly string[] }
  | BudgetOption

export interface ToggleOption {
  readonly type: 'toggle'
  /** Ours: the member that switches, for vendors with more than one. */
  readonly member?: string
}

export interface BudgetOption {
  readonly type: 'budget_tokens'
  readonly min?: number
  readonly max?: number
}

export interface Interleaved {
  readonly field: string
  /**
   * Ours: what `field` holds in a turn that has no reasoning, once a tool was called; the upstream
   * refuses the turn without. Missing: the turn is accepted as it is.
   */
  readonly placeholder?: string
}

/** The efforts that the model accepts; null if they are unknown. */
export function effortValues({
  reasoning_options: options,
}: Capabilities): readonly string[] | null {
  const effort = options?.find((option) => option.type === 'effort')
  return effort?.values ?? null
}

export const budgetOption = ({ reasoning_options: options }: Capabilities): BudgetOption | null =>
  options?.find((option) => option.type === 'budget_tokens') ?? null

export const toggleOption = ({ reasoning_options: options }: Capabilities): ToggleOption | null =>
  options?.find((option) => option.type === 'toggle') ?? null

/** Whether the model is known not to reason, or not in a way that a request can set. */
export const hasFixedReasoning = ({
  reasoning,
  reasoning_options: options,
}: Capabilities): boolean => reasoning === false || options?.length === 0

export const hasFeature = ({ features }: Capabilities, feature: Feature): boolean =>
  features?.includes(feature) === true

/** Defaults so high that the least effort comes nearest to no reasoning. */
const MUCH: ReadonlySet<unknown> = new Set(['high', 'xhigh', 'max'])

/** Whether the model always reasons, and much unless told otherwise. */
export const alwaysReasonsMuch = (model: Capabilities): boolean =>
  MUCH.has(model.reasoning_default) &&
  toggleOption(model) === null &&
  effortValues(model)?.includes('none') !== true

/** How reasoning is sent back; null if the model does not want it. */
export function interleavedOf({ interleaved }: Capabilities): Interleaved | null {
  if (typeof interleaved === 'object') return interleaved
  return interleaved === true ? { field: 'reasoning_content' } : null
}
