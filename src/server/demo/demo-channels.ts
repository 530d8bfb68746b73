import { ChannelStatus } from '../../contract/channel.ts'
import { channelType } from '../../contract/channel-types.ts'
import { SECONDS_PER_DAY } from '../clock.ts'
import { demoModels, namesOfFamilies, type ModelFamily } from './demo-models.ts'
import { HEX_DIGITS, type Dice } from './dice.ts'

/** A channel of the demo without an id. */
export interface DemoChannel {
  name: string
  type: number
  key: string
  baseUrl: string
  models: string[]
  /** JSON that maps requested to upstream models; empty if they are the same. */
  modelMapping: string
  groups: string[]
  priority: number
  weight: number
  status: number
  createdSeconds: number
  testedSeconds: number
  /** In milliseconds; 0 if the last test failed. */
  responseTimeMs: number
  /** In the provider's currency; null if unsupported. */
  balance: number | null
  /** Past calls used the channel from its creation until this time. */
  endsSeconds: number
}

interface Sketch {
  name: string
  type: number
  families: readonly ModelFamily[]
  groups?: string[]
  priority?: number
  /**
   * `off`: disabled manually. `failed`: disabled automatically, with an upstream that fails in the
   * same way.
   */
  fate?: 'off' | 'failed'
  /** Words that control the fake upstream. */
  words?: string
  modelMapping?: Record<string, string>
}

const channel = (
  name: string,
  type: number,
  families: ModelFamily | readonly ModelFamily[],
  more: Partial<Sketch> = {},
): Sketch => ({
  name,
  type,
  families: typeof families === 'string' ? [families] : families,
  ...more,
})

const EVERYBODY = ['default', 'vip', 'svip']
const PAYING = ['vip', 'svip']

const claudeAtOpenRouter = {
  'claude-sonnet-4-5': 'anthropic/claude-sonnet-4.5',
  'claude-haiku-4-5': 'anthropic/claude-haiku-4.5',
  'claude-opus-4-5': 'anthropic/claude-opus-4.5',
}

const sketches: readonly Sketch[] = [
  channel('OpenAI 主账号', 1, 'openai', { priority: 20, groups: PAYING }),
  channel('OpenAI 备用账号', 1, 'openai', { priority: 10 }),
  channel('OpenAI 团队一', 1, 'openai', { priority: 10 }),
  channel('OpenAI 团队二', 1, 'openai', { priority: 10, words: 'slow-300' }),
  channel('OpenAI 免费额度', 1, 'openai', { fate: 'failed', words: 'fail-quota' }),
  channel('OpenAI 旧密钥', 1, 'openai', { fate: 'off', words: 'fail-key' }),
  channel('Azure 美东', 3, 'openai', { fate: 'off' }),
  channel('Azure 瑞典', 3, 'openai'),
  channel('内网中转（OpenAI）', 8, 'openai', { priority: 5 }),
  channel('OpenRouter 主账号', 20, 'claude', { modelMapping: claudeAtOpenRouter, priority: 10 }),
  channel('OpenRouter 备用', 20, 'claude', { modelMapping: claudeAtOpenRouter }),
  channel('Claude 合作中转', 50, 'claude', { priority: 20, groups: PAYING }),
  channel('Claude 低价中转', 50, 'claude', { words: 'slow-800' }),
  channel('Claude 限流账号', 50, 'claude', { fate: 'failed', words: 'fail-429-retry-30' }),
  channel('Claude 官方', 14, 'claude', { fate: 'off' }),
  channel('AWS Bedrock 俄勒冈', 33, 'claude', { fate: 'off' }),
  channel('Gemini 官方', 24, 'gemini'),
  channel('Gemini 兼容接口', 51, 'gemini', { priority: 10 }),
  channel('Gemini 兼容接口（备用）', 51, 'gemini'),
  channel('Vertex AI 项目', 42, 'gemini', { fate: 'off' }),
  channel('DeepSeek 官方', 36, 'deepseek', { priority: 20 }),
  channel('DeepSeek 官方（二）', 36, 'deepseek', { priority: 20 }),
  channel('DeepSeek 测试密钥', 36, 'deepseek', { fate: 'off' }),
  channel('硅基流动 DeepSeek', 44, 'deepseek', { priority: 10 }),
  channel('硅基流动 通用', 44, ['qwen', 'glm']),
  channel('Novita DeepSeek', 41, 'deepseek'),
  channel('火山方舟 DeepSeek', 40, 'deepseek', { priority: 10 }),
  channel('火山方舟 豆包', 40, 'doubao', { priority: 10 }),
  channel('火山方舟 豆包（二）', 40, 'doubao'),
  channel('火山方舟 华北', 40, 'doubao', { fate: 'failed', words: 'fail-503' }),
  channel('阿里云百炼 北京', 49, 'qwen', { priority: 20 }),
  channel('阿里云百炼 新加坡', 49, 'qwen', { priority: 10, words: 'slow-200' }),
  channel('阿里云百炼 企业版', 49, 'qwen', { priority: 30, groups: ['svip'] }),
  channel('通义千问 旧接口', 17, 'qwen', { fate: 'off' }),
  channel('智谱 GLM 官方', 50, 'glm', { priority: 10 }),
  channel('智谱 GLM 备用', 50, 'glm'),
  channel('智谱 旧接口', 16, 'glm', { fate: 'off' }),
  channel('Moonshot 主账号', 25, 'kimi', { priority: 10 }),
  channel('Moonshot 备用', 25, 'kimi'),
  channel('Moonshot 校园账号', 25, 'kimi', { groups: ['default'] }),
  channel('xAI Grok', 45, 'grok'),
  channel('xAI Grok（企业）', 45, 'grok', { priority: 10, groups: PAYING }),
  channel('MiniMax 国内站', 27, 'minimax'),
  channel('MiniMax 海外站', 27, 'minimax', { words: 'slow-300' }),
  channel('百度千帆 V2', 47, 'ernie', { priority: 10 }),
  channel('百度千帆 V2 备用', 47, 'ernie'),
  channel('百度千帆 旧接口', 15, 'ernie', { fate: 'off' }),
  channel('Mistral 巴黎', 28, 'mistral'),
  channel('Groq 高速推理', 29, 'llama', { priority: 10 }),
  channel('together.ai 开源模型', 39, 'llama'),
  channel('本地 vLLM 一号机', 50, ['llama', 'qwen'], { priority: 5 }),
  channel('本地 vLLM 二号机', 50, ['llama', 'qwen'], { priority: 5 }),
  channel('本地 Ollama', 30, 'llama', { fate: 'off' }),
  channel('阶跃星辰', 32, 'step', { priority: 10 }),
  channel('阶跃星辰 备用', 32, 'step'),
  channel('OpenRouter 综合', 20, ['grok', 'mistral', 'minimax', 'step']),
  channel('公司统一网关', 50, ['openai', 'claude', 'deepseek'], { priority: 5 }),
  channel('合作伙伴网关', 50, ['openai', 'gemini', 'qwen', 'kimi'], { words: 'slow-300' }),
  channel('灰度测试渠道', 50, ['openai', 'deepseek'], { groups: ['svip'], fate: 'off' }),
]

/** Typical duration of a channel test, varied per channel. */
const RESPONSE_TIME_MS = 900
const PRIORITY_OF_FIRST = 100

export interface ChannelSetting {
  dice: Dice
  /** Total number of channels, including the working one. */
  count: number
  /** Address of the fake upstream; no call of the demo leaves the machine. */
  upstreamUrl: string
  startSeconds: number
  nowSeconds: number
}

/**
 * Returns the demo's channels. The first serves every model to all users with the highest priority,
 * so that a visitor's call always succeeds; past calls used the others.
 */
export function planChannels(setting: ChannelSetting): DemoChannel[] {
  // Lists begin with the newest, so the best-known ones come last.
  const chosen = sketches.slice(0, setting.count - 1).toReversed()
  return [workingChannel(setting), ...chosen.map((sketch) => plan(sketch, setting))]
}

function workingChannel({ upstreamUrl, startSeconds, nowSeconds }: ChannelSetting): DemoChannel {
  return {
    name: '本机模拟上游',
    type: 50,
    key: 'sk-fake-upstream',
    baseUrl: `${upstreamUrl}/v1`,
    models: demoModels.map((model) => model.name),
    modelMapping: '',
    groups: EVERYBODY,
    priority: PRIORITY_OF_FIRST,
    weight: 0,
    status: ChannelStatus.enabled,
    createdSeconds: startSeconds,
    testedSeconds: nowSeconds - SECONDS_PER_DAY / 8,
    responseTimeMs: 3,
    balance: null,
    // It has no past calls; visitors use it.
    endsSeconds: startSeconds,
  }
}

function plan(sketch: Sketch, { dice, upstreamUrl, ...time }: ChannelSetting): DemoChannel {
  const { startSeconds, nowSeconds } = time
  const row = channelType(sketch.type)
  const status = { off: ChannelStatus.disabled, failed: ChannelStatus.autoDisabled }
  const endsSeconds =
    sketch.fate === undefined ? nowSeconds : nowSeconds - dice.whole(2, 20) * SECONDS_PER_DAY
  const createdSeconds = startSeconds - dice.whole(1, 200) * SECONDS_PER_DAY
  return {
    name: sketch.name,
    type: sketch.type,
    key: `sk-${dice.text(40, HEX_DIGITS)}`,
    baseUrl: [upstreamUrl, ...(sketch.words === undefined ? [] : [`~${sketch.words}`])].join('/'),
    models: namesOfFamilies(sketch.families),
    modelMapping: sketch.modelMapping === undefined ? '' : JSON.stringify(sketch.modelMapping),
    groups: sketch.groups ?? EVERYBODY,
    priority: sketch.priority ?? 0,
    weight: dice.pick([0, 1, 1, 2, 5, 10]),
    status: sketch.fate === undefined ? ChannelStatus.enabled : status[sketch.fate],
    createdSeconds,
    testedSeconds: endsSeconds - dice.whole(SECONDS_PER_DAY / 4, 6 * SECONDS_PER_DAY),
    responseTimeMs: sketch.fate === 'failed' ? 0 : Math.round(dice.spread(RESPONSE_TIME_MS, 0.8)),
    balance: row.balance === null ? null : Math.round(dice.spread(60, 1) * 100) / 100,
    // Past calls only used channels with OpenAI's protocol.
    endsSeconds: row.protocol === 'openai' ? endsSeconds : createdSeconds,
  }
}

/** Returns the channels that served a model to a group at that time. */
export function channelsFor(
  channels: readonly DemoChannel[],
  { model, group, atSeconds }: { model: string; group: string; atSeconds: number },
): DemoChannel[] {
  return channels.filter(
    (one) =>
      one.models.includes(model) && one.groups.includes(group) && atSeconds < one.endsSeconds,
  )
}
