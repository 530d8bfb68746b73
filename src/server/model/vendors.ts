import { ChannelTypeNumber } from '../../contract/channel-type-number.ts'

/**
 * By channel type: the provider of models.dev that it leads to, or a name of ours for vendors that
 * models.dev does not list. Other types lead to servers of unknown vendors.
 */
const VENDORS: ReadonlyMap<number, string> = new Map([
  [ChannelTypeNumber.openai, 'openai'],
  [ChannelTypeNumber.azure, 'azure'],
  [ChannelTypeNumber.anthropic, 'anthropic'],
  [ChannelTypeNumber.qianfan, 'baidu-qianfan'],
  [ChannelTypeNumber.zhipu, 'zhipuai'],
  [ChannelTypeNumber.dashscope, 'alibaba-cn'],
  [ChannelTypeNumber.openrouter, 'openrouter'],
  [ChannelTypeNumber.hunyuan, 'tencent-hunyuan'],
  [ChannelTypeNumber.gemini, 'google'],
  [ChannelTypeNumber.moonshot, 'moonshotai-cn'],
  [ChannelTypeNumber.minimax, 'minimax-cn'],
  [ChannelTypeNumber.mistral, 'mistral'],
  [ChannelTypeNumber.groq, 'groq'],
  [ChannelTypeNumber.ollama, 'ollama-cloud'],
  [ChannelTypeNumber.stepfun, 'stepfun'],
  [ChannelTypeNumber.bedrock, 'amazon-bedrock'],
  [ChannelTypeNumber.cohere, 'cohere'],
  [ChannelTypeNumber.deepseek, 'deepseek'],
  [ChannelTypeNumber.cloudflare, 'cloudflare-workers-ai'],
  [ChannelTypeNumber.together, 'togetherai'],
  [ChannelTypeNumber.volcengineArk, 'volcengine-ark'],
  [ChannelTypeNumber.novita, 'novita-ai'],
  [ChannelTypeNumber.vertex, 'google-vertex'],
  [ChannelTypeNumber.siliconflow, 'siliconflow-cn'],
  [ChannelTypeNumber.xai, 'xai'],
  [ChannelTypeNumber.qianfanV2, 'baidu-qianfan'],
  [ChannelTypeNumber.bailian, 'alibaba-cn'],
  [ChannelTypeNumber.geminiOpenai, 'google'],
])

/** Null for a channel type without a vendor of its own. */
export const vendorOf = (type: number | undefined): string | null => VENDORS.get(type ?? 0) ?? null

const REACHED: ReadonlySet<string> = new Set(VENDORS.values())

export const isReachedVendor = (vendor: string): boolean => REACHED.has(vendor)
