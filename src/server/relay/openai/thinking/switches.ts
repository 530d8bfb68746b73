import { ChannelTypeNumber } from '../../../../contract/channel-type-number.ts'
import {
  budgetOption,
  toggleOption,
  type BudgetOption,
  type Capabilities,
} from '../../../model/capabilities.ts'
import { capabilitiesOf } from '../../../model/model-table.ts'
import type { Effort, Thinking } from '../../canonical/chat-request.ts'
import type { Target } from '../../dialect/dialect.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'

/**
 * How vendors of OpenAI's dialect spell whether to reason, in a member of their own. Most of their
 * models reason unless told otherwise, and `reasoning_effort` has no such word there. Only a model
 * with the option `toggle` is told, as others refuse the member.
 */
type Switch = (thinking: Thinking, effort: string | null, model: Capabilities) => JsonRecord

/** An object, with the effort beside it. */
const byObject: Switch = ({ kind }, effort) =>
  present({
    thinking: { type: kind === 'off' ? 'disabled' : 'enabled' },
    reasoning_effort: effort,
  })

/** An object, and no word for an effort. */
const byObjectAlone: Switch = ({ kind }) => ({
  thinking: { type: kind === 'off' ? 'disabled' : 'enabled' },
})

/** A flag, with the effort beside it. */
const byFlag: Switch = ({ kind }, effort) =>
  present({ enable_thinking: kind !== 'off', reasoning_effort: effort })

/** A flag, and tokens for thought in the place of an effort, where `fit` finds room for them. */
const byBudget =
  (fit: (tokens: number, limits: BudgetOption) => number | null): Switch =>
  (thinking, _effort, model) => {
    const tokens = tokensOf(thinking)
    const limits = budgetOption(model)
    return present({
      enable_thinking: thinking.kind !== 'off',
      thinking_budget: tokens === null || limits === null ? null : fit(tokens, limits),
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

/** Source: MiniMax, "OpenAI SDK"; AgentScope's documentation, "MiniMax Model", "Thinking mode". */
const minimax: Switch = ({ kind }) => ({
  thinking: { type: kind === 'off' ? 'disabled' : 'adaptive' },
})

/** Thoughts stand in the answer's own text unless they are asked for apart. Source: as above. */
const splitReasoning = ({ reasoning }: Capabilities): JsonRecord =>
  reasoning === true ? { reasoning_split: true } : {}

const qwenBudget = byBudget((tokens, { max = Infinity }) => (tokens <= max ? tokens : null))

/**
 * Source: Alibaba Cloud Model Studio, "Deep thinking". A budget beyond what a model can think is
 * refused; without one each thinks as far as it can.
 */
const bailian: Switch = (thinking, effort, model) =>
  budgetOption(model) === null
    ? byFlag(thinking, effort, model)
    : qwenBudget(thinking, effort, model)

/** Source: SiliconFlow's API reference, "Create chat completion", `enable_thinking`. */
const siliconflow: Switch = byBudget((tokens, { min = 128, max = 32_768 }) =>
  Math.min(Math.max(tokens, min), max),
)

/** Source: Baidu AI Cloud, Qianfan, "深度思考": the member depends on the model. */
const qianfan: Switch = (thinking, _effort, model) =>
  toggleOption(model)?.member === 'thinking'
    ? byObjectAlone(thinking, null, model)
    : { enable_thinking: thinking.kind !== 'off' }

/**
 * Either of the two members, never both (openclaw/openclaw#24119). Source: OpenRouter's
 * documentation, "Reasoning Tokens".
 */
const openrouter: Switch = ({ kind }, effort, model) => {
  if (effort !== null) return { reasoning_effort: effort }
  const isOff = kind === 'off'
  return isOff && model.reasoning_default === 'none' ? {} : { reasoning: { enabled: !isOff } }
}

/**
 * By the channel's type. Sources: Zhipu, "Thinking mode"; the Kimi API platform, "Create chat
 * completion", `thinking`, and "cannot specify both 'thinking' and 'reasoning_effort'"
 * (HKUDS/nanobot#3939); DeepSeek's API documentation, "Thinking mode"; Volcengine Ark, "Chat API",
 * `thinking`; Novita's API reference, `enable_thinking`.
 */
const SWITCHES: ReadonlyMap<number, Switch> = new Map([
  [ChannelTypeNumber.zhipu, byObject],
  [ChannelTypeNumber.dashscope, bailian],
  [ChannelTypeNumber.openrouter, openrouter],
  [ChannelTypeNumber.moonshot, byObjectAlone],
  [ChannelTypeNumber.minimax, minimax],
  [ChannelTypeNumber.deepseek, byObject],
  [ChannelTypeNumber.volcengineArk, byObject],
  [ChannelTypeNumber.novita, byFlag],
  [ChannelTypeNumber.siliconflow, siliconflow],
  [ChannelTypeNumber.qianfanV2, qianfan],
  [ChannelTypeNumber.bailian, bailian],
])

type At = Pick<Target, 'model' | 'type' | 'capabilities'>

const switchOf = (to: At): Switch | undefined =>
  toggleOption(capabilitiesOf(to)) === null ? undefined : SWITCHES.get(to.type ?? 0)

/** Whether the model is told by its vendor's own member, which it takes either way. */
export const canBeSwitched = (to: At): boolean => switchOf(to) !== undefined

/** What tells the model how much to think; `effort`: OpenAI's word for it, null: nothing. */
export function thinkingMembers(
  thinking: Thinking | null,
  to: At,
  effort: string | null,
): JsonRecord {
  const model = capabilitiesOf(to)
  const own = switchOf(to)
  const told =
    thinking === null || own === undefined
      ? present({ reasoning_effort: effort })
      : own(thinking, effort, model)
  return to.type === ChannelTypeNumber.minimax ? { ...splitReasoning(model), ...told } : told
}
