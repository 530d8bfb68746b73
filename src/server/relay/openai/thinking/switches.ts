import type { Effort, Thinking } from '../../canonical/chat-request.ts'
import type { Target } from '../../dialect/dialect.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'

/**
 * Vendors of OpenAI's dialect that are told whether to think in a member of their own: most of
 * their models think unless told otherwise, and `reasoning_effort` has no such word there. Only
 * models that are known to take the member are told, as others refuse it, and so do models that
 * always think.
 */
interface Switch {
  models: RegExp
  say(thinking: Thinking, effort: string | null): JsonRecord
}

/** An object, with the effort beside it. */
const byObject = ({ kind }: Thinking, effort: string | null): JsonRecord =>
  present({
    thinking: { type: kind === 'off' ? 'disabled' : 'enabled' },
    reasoning_effort: effort,
  })

/** A flag, with the effort beside it. */
const byFlag = ({ kind }: Thinking, effort: string | null): JsonRecord =>
  present({ enable_thinking: kind !== 'off', reasoning_effort: effort })

/** A flag, and tokens for thought in the place of an effort, where the vendor takes so many. */
const byBudget =
  (fit: (tokens: number) => number | null) =>
  (thinking: Thinking): JsonRecord => {
    const tokens = tokensOf(thinking)
    return present({
      enable_thinking: thinking.kind !== 'off',
      thinking_budget: tokens === null ? null : fit(tokens),
    })
  }

/** Tokens of thought that an effort stands for; the greatest: as many as the model ever thinks. */
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

/**
 * A budget beyond what a model can think is refused, and the smallest of them think this much;
 * without one each thinks as far as it can.
 */
const QWEN_TOKENS_MAX = 30_720
const SILICONFLOW_TOKENS = { min: 128, max: 32_768 }

/** Sources: Zhipu, "Thinking mode"; of 5.3 and later, "GLM-5.3": they always think. */
const zhipu: Switch[] = [{ models: /^glm-(?:4\.[5-9]|5(?![.-][3-9]))/i, say: byObject }]

/** Source: the Kimi API platform, "Create chat completion", `thinking`: others always think. */
const moonshot: Switch[] = [{ models: /^kimi-k2\.[56]/i, say: byObject }]

/** Source: DeepSeek's API documentation, "Thinking mode". */
const deepseek: Switch[] = [{ models: /^deepseek-(?:v\d|flash|chat)/i, say: byObject }]

/** Source: Volcengine Ark, "Chat API", `thinking`, and "Deep thinking". */
const ark: Switch[] = [
  { models: /^doubao-seed-(?:1[.-][68]|2[.-]\d|code)(?!.*thinking)/i, say: byObject },
  { models: /^deepseek-v(?:3[.-][12]|4)/i, say: byObject },
  { models: /^(?:glm-(?:4[.-]7|5(?![.-][3-9]))|kimi-k2[.-][56])/i, say: byObject },
]

/** Source: Alibaba Cloud Model Studio, "Deep thinking", "Supported models". */
const bailian: Switch[] = [
  {
    models:
      /^qwen(?:3\.[5-9]|3-(?:max|\d)|-(?:plus|flash|turbo))(?!.*(?:coder|instruct|thinking|omni))/i,
    say: byBudget((tokens) => (tokens <= QWEN_TOKENS_MAX ? tokens : null)),
  },
  { models: /^deepseek-v(?:3\.[12]|4)/i, say: byFlag },
  { models: /^(?:glm-(?:4\.[5-9]|5(?![.-][3-9]))|kimi-k2\.[56])/i, say: byFlag },
]

const fitSiliconflow = byBudget((tokens) =>
  Math.min(Math.max(tokens, SILICONFLOW_TOKENS.min), SILICONFLOW_TOKENS.max),
)

/** Source: SiliconFlow's API reference, "Create chat completion", `enable_thinking`. */
const siliconflow: Switch[] = [
  { models: /^qwen\/qwen3(?:\.\d+)?-\d+b(?:-a\d+b)?$/i, say: fitSiliconflow },
  { models: /^(?:pro\/)?deepseek-ai\/deepseek-v(?:3\.[12]|4)/i, say: fitSiliconflow },
  { models: /^(?:pro\/)?zai-org\/glm-(?:4\.[5-9]|5(?!\.[3-9]))/i, say: fitSiliconflow },
]

/** By the number of the channel's type. */
const SWITCHES: ReadonlyMap<number, readonly Switch[]> = new Map([
  [16, zhipu],
  [17, bailian],
  [25, moonshot],
  [36, deepseek],
  [40, ark],
  [44, siliconflow],
  [49, bailian],
])

/** What tells the model how much to think; `effort`: OpenAI's word for it, null: nothing. */
export function thinkingMembers(
  thinking: Thinking | null,
  { model, type }: Target,
  effort: string | null,
): JsonRecord {
  const own = SWITCHES.get(type ?? 0)?.find(({ models }) => models.test(model))
  return thinking === null || own === undefined
    ? present({ reasoning_effort: effort })
    : own.say(thinking, effort)
}
