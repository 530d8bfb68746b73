import { ChannelTypeNumber } from '../../../../contract/channel-type-number.ts'
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
  /** Said even where the client says nothing of thinking. */
  always?: JsonRecord
}

/** An object, with the effort beside it. */
const byObject = ({ kind }: Thinking, effort: string | null): JsonRecord =>
  present({
    thinking: { type: kind === 'off' ? 'disabled' : 'enabled' },
    reasoning_effort: effort,
  })

/** An object, and no word for an effort. */
const byObjectAlone = ({ kind }: Thinking): JsonRecord => ({
  thinking: { type: kind === 'off' ? 'disabled' : 'enabled' },
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

/**
 * Sources: the Kimi API platform, "Create chat completion", `thinking`: others always think;
 * "cannot specify both 'thinking' and 'reasoning_effort'" (HKUDS/nanobot#3939).
 */
const moonshot: Switch[] = [{ models: /^kimi-k2\.[56]/i, say: byObjectAlone }]

/**
 * Thoughts stand in the answer's own text unless they are asked for apart. M2 always thinks, and an
 * effort is known to none. Sources: MiniMax, "OpenAI SDK", `reasoning_split`; AgentScope's
 * documentation, "MiniMax Model", "Thinking mode".
 */
const minimax: Switch[] = [
  {
    models: /^minimax-m3/i,
    say: ({ kind }) => ({ thinking: { type: kind === 'off' ? 'disabled' : 'adaptive' } }),
    always: { reasoning_split: true },
  },
  { models: /^minimax-m2/i, say: () => ({}), always: { reasoning_split: true } },
]

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

/**
 * Qwen is told whether to think in the place of how much, OpenAI's open models how much, and all
 * others refuse to be told. Sources: Groq's documentation, "Reasoning";
 * diegosouzapw/OmniRoute#3277.
 */
const groq: Switch[] = [
  {
    models: /^qwen\/qwen3/i,
    say: ({ kind }) => ({ reasoning_effort: kind === 'off' ? 'none' : 'default' }),
  },
  { models: /^(?!openai\/gpt-oss)/i, say: () => ({}) },
]

/** Source: Baidu AI Cloud, Qianfan, "深度思考": most of them think only when told to. */
const qianfan: Switch[] = [
  {
    models: /^(?:deepseek-v3\.(?:1-250821|2)|kimi-k2\.5|glm-(?:4\.7|5))$/i,
    say: byObjectAlone,
  },
  {
    models:
      /^(?:qwen3-[\d.]+b|ernie-4\.5-(?:turbo-vl-(?:32k-)?preview|vl-28b-a3b)|ernie-5\.0-thinking-preview)$/i,
    say: ({ kind }) => ({ enable_thinking: kind !== 'off' }),
  },
]

/**
 * Models of which OpenRouter says that they need not think. Sources: its documentation, "Reasoning
 * Tokens"; Kilo-Org/kilocode#13807; either of the two members, never both
 * (openclaw/openclaw#24119).
 */
const openrouter: Switch[] = [
  {
    models:
      /^(?:deepseek\/deepseek-(?:chat-v3\.1|v3\.[12](?!-speciale)|v4)|z-ai\/glm-(?:4\.[5-9]|5(?!\.[3-9]))|moonshotai\/kimi-k2\.[56])/i,
    say: ({ kind }, effort) =>
      effort === null ? { reasoning: { enabled: kind !== 'off' } } : { reasoning_effort: effort },
  },
]

/** Sources: Novita's API reference, `enable_thinking`; anomalyco/models.dev#2077. */
const novita: Switch[] = [{ models: /^deepseek\/deepseek-v(?:3\.[12]|4)/i, say: byFlag }]

/** By the channel's type. */
const SWITCHES: ReadonlyMap<number, readonly Switch[]> = new Map([
  [ChannelTypeNumber.zhipu, zhipu],
  [ChannelTypeNumber.dashscope, bailian],
  [ChannelTypeNumber.openrouter, openrouter],
  [ChannelTypeNumber.moonshot, moonshot],
  [ChannelTypeNumber.minimax, minimax],
  [ChannelTypeNumber.groq, groq],
  [ChannelTypeNumber.deepseek, deepseek],
  [ChannelTypeNumber.volcengineArk, ark],
  [ChannelTypeNumber.novita, novita],
  [ChannelTypeNumber.siliconflow, siliconflow],
  [ChannelTypeNumber.qianfanV2, qianfan],
  [ChannelTypeNumber.bailian, bailian],
])

type At = Pick<Target, 'model' | 'type'>

const switchOf = ({ model, type }: At): Switch | undefined =>
  SWITCHES.get(type ?? 0)?.find(({ models }) => models.test(model))

/** Whether the model is told by its vendor's own member, which it takes either way. */
export const canBeSwitched = (to: At): boolean => switchOf(to) !== undefined

/** What tells the model how much to think; `effort`: OpenAI's word for it, null: nothing. */
export function thinkingMembers(
  thinking: Thinking | null,
  to: At,
  effort: string | null,
): JsonRecord {
  const own = switchOf(to)
  const told =
    thinking === null || own === undefined
      ? present({ reasoning_effort: effort })
      : own.say(thinking, effort)
  return { ...own?.always, ...told }
}
