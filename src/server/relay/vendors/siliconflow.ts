import { byBudget } from '../protocols/openai-chat/thinking/switches.ts'
import { z } from 'zod'
import { belowVersion } from '../../channel/upstream/channel-upstream.ts'
import type { ProviderCall } from '../protocols/dialect/provider.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { type MemberEdit, renamed } from '../json/body-splice.ts'
import { roleEdits } from '../protocols/openai-chat/message-edits.ts'
import { meaningByCode } from './shared/refusals.ts'
import {
  Amount,
  type ReadBalance,
  bearer,
  parseBalance,
  rejectDollarHost,
} from './shared/balance.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

const OK = 20_000

/**
 * SiliconFlow's balance, in USD at siliconflow.com and in CNY at siliconflow.cn. Source:
 * https://siliconflow.com/pricing and https://siliconflow.cn/pricing.
 */
const readBalance: ReadBalance = async ({ channel, ask }) => {
  rejectDollarHost(channel, 'siliconflow.com')
  const url = belowVersion(channel, '/v1/user/info')
  const Answer = z.object({ code: z.literal(OK), data: z.object({ totalBalance: Amount }) })
  return parseBalance(Answer, await ask({ url, headers: bearer(channel) })).data.totalBalance
}

/**
 * SiliconFlow accepts a completion limit only as `max_tokens`. Source: SiliconFlow's API reference,
 * "Create chat completion" (https://docs.siliconflow.cn/docs/api/chat-completions-post).
 */
function edits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  if (call.task !== 'chat') return []
  return [...renamed(body, 'max_completion_tokens', 'max_tokens'), ...roleEdits(body, call)]
}

export const siliconflow = openaiVendor({
  type: 44,
  label: 'SiliconFlow',
  color: 'blue',
  baseUrl: 'https://api.siliconflow.cn',
  modelVendor: 'siliconflow-cn',
  listPosition: 370,
  call: { edits },
  traits: {
    // Source: SiliconFlow's API reference, "Create chat completion", `enable_thinking` and
    // `thinking_budget` (https://docs.siliconflow.cn/docs/api/chat-completions-post).
    reasoningSwitch: byBudget((tokens, { min = 128, max = 32_768 }) =>
      Math.min(Math.max(tokens, min), max),
    ),
  },
  refusals: {
    hosts: /(?:^|\.)siliconflow\.(?:cn|com)$/,
    // Source: SiliconFlow's documentation, "Error handling" (`docs.siliconflow.cn`).
    meaning: meaningByCode({ 20012: 404, 30001: 402 }),
  },
  balance: { unit: 'cny', read: readBalance },
  models: names(`
    Qwen/Qwen2-72B-Instruct Qwen/Qwen2-7B-Instruct Qwen/Qwen2-1.5B-Instruct Qwen/Qwen2-0.5B-Instruct
    meta-llama/Meta-Llama-3-8B-Instruct meta-llama/Meta-Llama-3-70B-Instruct
    meta-llama/Meta-Llama-3.1-8B-Instruct meta-llama/Meta-Llama-3.1-70B-Instruct
    meta-llama/Meta-Llama-3.1-405B-Instruct mistralai/Mistral-7B-Instruct-v0.2
    mistralai/Mixtral-8x7B-Instruct-v0.1 01-ai/Yi-1.5-9B-Chat-16K 01-ai/Yi-1.5-6B-Chat
    THUDM/glm-4-9b-chat THUDM/chatglm3-6b internlm/internlm2_5-7b-chat google/gemma-2-9b-it
    google/gemma-2-27b-it deepseek-ai/DeepSeek-V4-Pro deepseek-ai/DeepSeek-V4-Flash
    deepseek-ai/DeepSeek-V3.2 deepseek-ai/DeepSeek-V3.2-Exp Qwen/Qwen3-235B-A22B-Thinking-2507
    Qwen/Qwen3-235B-A22B-Instruct-2507 moonshotai/Kimi-K3 moonshotai/Kimi-K2.5 moonshotai/Kimi-K2.6
    moonshotai/Kimi-K2.7-Code moonshotai/Kimi-K2-Instruct-0905 moonshotai/Kimi-K2-Thinking
    zai-org/GLM-4.7 zai-org/GLM-5 zai-org/GLM-5.1 zai-org/GLM-5.2 zai-org/GLM-4.6 Qwen/Qwen3.6-27B
    Qwen/Qwen3.6-35B-A3B Qwen/Qwen3.5-9B Qwen/Qwen3.5-27B Qwen/Qwen3.5-122B-A10B
    google/gemma-4-26b-a4b-it google/gemma-4-31b-it google/gemma-4-12B-it MiniMaxAI/MiniMax-M2.5
    MiniMaxAI/MiniMax-M3 tencent/Hy3-preview tencent/Hunyuan-A13B-Instruct zai-org/GLM-5V-Turbo
    zai-org/GLM-4.5-Air openai/gpt-oss-120b openai/gpt-oss-20b deepseek-ai/DeepSeek-V3.1
    deepseek-ai/DeepSeek-V3.1-Terminus BAAI/bge-m3 BAAI/bge-large-zh-v1.5 BAAI/bge-large-en-v1.5
    black-forest-labs/FLUX.1-schnell black-forest-labs/FLUX.1.1-pro black-forest-labs/FLUX.2-pro
    black-forest-labs/FLUX.2-flex Bytedance/Z-Image-Turbo FunAudioLLM/CosyVoice2-0.5B
  `),
  owner: 'siliconflow',
  ownerRank: 104,
  priceLists: { rank: 210, modelsDev: ['siliconflow'] },
})
