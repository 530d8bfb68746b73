/**
 * Capabilities of a model, in the schema of models.dev (https://github.com/anomalyco/models.dev,
 * README, "Schema Reference"). A missing member is unknown. Members that models.dev lacks are
 * marked "ours"; they come from `overrides.json` and from operators.
 */
export interface Capabilities {
  /** Ours: the maker of the model, on any host: `openai`, `anthropic`, `google`, `mistral`. */
  maker?: string
  reasoning?: boolean
  /** Ways to set the reasoning; an empty list if it cannot be set. */
  reasoning_options?: readonly ReasoningOption[]
  /** Ours: the default effort; `none` if the model does not reason by default. */
  reasoning_default?: string
  /** Whether, and in which member, reasoning of earlier turns must be sent back. */
  interleaved?: boolean | Interleaved
  /** False if the model rejects `temperature`, `top_p` and penalties while it reasons. */
  temperature?: boolean
  tool_call?: boolean
  /** Ours: whether `tool_choice` can force a call; `any`: only without naming a tool. */
  forced_tool_call?: boolean | 'any'
  /** Ours: whether the model continues an assistant message at the end of the conversation. */
  prefill?: boolean
  /** Ours: the only OpenAI API that serves the model, and the one for calls with tools. */
  api?: 'responses'
  tools_api?: 'responses'
  structured_output?: boolean
  /** Ours: special features of the model in its maker's own API. */
  features?: readonly Feature[]
  /** Ours: whether Gemini's API searches the web for clients of another dialect. */
  web_search?: boolean
  /** Ours: false: the model writes no text in a conversation (images, speech, rankings). */
  writes_text?: boolean
  /** Ours: the model makes embeddings. */
  embeds?: boolean
  /** Ours: figures for what an upstream does not report. */
  metering?: MeteringFigures
  open_weights?: boolean
  modalities?: { readonly input?: readonly string[]; readonly output?: readonly string[] }
  limit?: {
    readonly context?: number
    readonly input?: number
    readonly output?: number
    /** Ours: output limit of streams if the API requires a limit and the client sets none. */
    readonly default_output?: number
  }
}

/** Figures for estimates and charges where the upstream does not report usage. */
export interface MeteringFigures {
  /** The vocabulary that counts its tokens; cl100k if not set. */
  readonly tokenizer?: 'o200k_base' | 'cl100k_base'
  /** Google charges for each answer that searched; if not set, for each query. */
  readonly search_charge?: 'answer'
  /** OpenAI: the tool whose price a search of this model has, which always searches. */
  readonly search_tool?: 'web_search' | 'web_search_preview'
  /** Tokens of speech that a character of the text becomes; missing: sold by the character. */
  readonly speech_tokens?: { readonly per_character: number; readonly per_wide_character: number }
  /** The longest text that is read aloud. */
  readonly speech_characters_max?: number
  /** How many characters a Han character counts; 1 if not set. */
  readonly han_characters?: number
  /** Tokens of a second of a recording; missing: sold by the second. */
  readonly heard_tokens_per_second?: number
  /** Tokens of an image, by the side of a square with as many pixels; null: any. */
  readonly image_tokens?: readonly (readonly [side: number | null, tokens: number])[]
  /** xAI: the size that has the price, by the request's `resolution`. */
  readonly image_resolutions?: Readonly<Record<string, string>>
}

export const FEATURES = [
  /** Claude: prompts can be cached for an hour at Amazon too. */
  'cache_1h',
  /** Claude: thinking between tool calls is a beta that other models reject. */
  'interleaved_thinking_beta',
  /** Claude: system messages and tool changes within a conversation. */
  'mid_conversation',
  /** Claude: `temperature` and `top_p` are rejected together. */
  'one_sampling_member',
  /** GLM: streams the arguments of a tool call on request. */
  'tool_stream',
  /** Qwen: caches the prompt up to a cache marker. */
  'cache_marks',
  /** Qwen at Alibaba: only supports streaming, or only reasons in streams. */
  'stream_only',
  'reasons_in_streams_only',
  /** Gemini: tool calls and results have ids, and calls carry a signature. */
  'tool_call_ids',
  /** Gemini: supports web search together with functions. */
  'search_with_functions',
] as const
export type Feature = (typeof FEATURES)[number]

export type ReasoningOption =
  | ToggleOption
  | { readonly type: 'effort'; readonly values: readonly string[] }
  | BudgetOption

export interface ToggleOption {
  readonly type: 'toggle'
  /** Ours: the member that toggles reasoning, for vendors with several. */
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
   * Ours: value of `field` in a turn without reasoning after a tool call, if the upstream rejects
   * the turn without it. Missing if it is accepted.
   */
  readonly placeholder?: string
}

/** Returns the efforts that the model accepts; null if unknown. */
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

/** Whether the model is known not to reason, or a request cannot set its reasoning. */
export const hasFixedReasoning = ({
  reasoning,
  reasoning_options: options,
}: Capabilities): boolean => reasoning === false || options?.length === 0

export const hasFeature = ({ features }: Capabilities, feature: Feature): boolean =>
  features?.includes(feature) === true

/** Defaults so high that the lowest effort is closest to no reasoning. */
const MUCH: ReadonlySet<unknown> = new Set(['high', 'xhigh', 'max'])

/** Whether the model always reasons, and with high effort by default. */
export const alwaysReasonsMuch = (model: Capabilities): boolean =>
  MUCH.has(model.reasoning_default) &&
  toggleOption(model) === null &&
  effortValues(model)?.includes('none') !== true

/** Returns how reasoning is sent back; null if the model does not require it. */
export function interleavedOf({ interleaved }: Capabilities): Interleaved | null {
  if (typeof interleaved === 'object') return interleaved
  return interleaved === true ? { field: 'reasoning_content' } : null
}
