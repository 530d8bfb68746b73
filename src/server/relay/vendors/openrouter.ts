import { hasFeature } from '../../model/capabilities.ts'
import type { ReasoningSwitch } from '../protocols/dialect/traits.ts'
import { z } from 'zod'
import { AppError } from '../../app-error.ts'
import { belowVersion } from '../../channel/upstream/channel-upstream.ts'
import type { ProviderCall, ProviderChannel } from '../protocols/dialect/provider.ts'
import { Amount, type ReadBalance, bearer, parseBalance } from './shared/balance.ts'
import { openaiVendor, openaiHeaders } from './openai-vendor.ts'
import { names } from './vendor.ts'

/**
 * Only a management key can read the account's credits. For any other key, the balance is the
 * remaining limit of the key, if it has a limit. Source: OpenRouter's API reference, "Get credits",
 * "Get current API key".
 */
const readBalance: ReadBalance = async ({ channel, ask }) => {
  const asked = (path: string) =>
    ask({ url: belowVersion(channel, path), headers: bearer(channel) })
  try {
    const Answer = z.object({ data: z.object({ total_credits: Amount, total_usage: Amount }) })
    const { data } = parseBalance(Answer, await asked('/v1/credits'))
    return data.total_credits - data.total_usage
  } catch (error) {
    if (!isDenied(error)) throw error
    const Key = z.object({ data: z.object({ limit_remaining: Amount.nullable() }) })
    const left = parseBalance(Key, await asked('/v1/key')).data.limit_remaining
    if (left === null) throw error
    return left
  }
}

const isDenied = (error: unknown): boolean =>
  error instanceof AppError && [401, 403].includes(Number(error.params['status']))

const OWN_NAME = 'Gatehouse'

/** OpenRouter shows its customers which program called. The headers identify this gateway. */
function headers(channel: ProviderChannel, { ownAddress }: ProviderCall): Record<string, string> {
  const referer = ownAddress === '' ? {} : { 'HTTP-Referer': ownAddress }
  return { ...openaiHeaders(channel), 'X-Title': OWN_NAME, ...referer }
}

/**
 * Sends only one of the two members: OpenRouter rejects both together (openclaw/openclaw#24119).
 * Source: OpenRouter's documentation, "Reasoning Tokens".
 */
const reasoningSwitch: ReasoningSwitch = ({ kind }, effort, model) => {
  if (effort !== null) return { reasoning_effort: effort }
  const isOff = kind === 'off'
  return isOff && model.reasoning_default === 'none' ? {} : { reasoning: { enabled: !isOff } }
}

export const openrouter = openaiVendor({
  type: 20,
  label: 'OpenRouter',
  color: 'black',
  baseUrl: 'https://openrouter.ai/api',
  modelVendor: 'openrouter',
  listPosition: 430,
  responses: true,
  call: { headers },
  traits: {
    // OpenRouter caches prompts of Claude and Qwen only with cache marks. Source: OpenRouter's
    // documentation, "Prompt caching", "Anthropic Claude", "Alibaba Qwen".
    cachesMarked: (model) => model.maker === 'anthropic' || hasFeature(model, 'cache_marks'),
    reasoningSwitch,
    cachesMarkedTools: true,
    // Source: OpenRouter's documentation, "Preserving reasoning blocks".
    signsInReasoning: true,
  },
  refusals: {
    hosts: /(?:^|\.)openrouter\.ai$/,
    // A balance that suffices for smaller requests only has a different message from an empty one.
    // Filtered content is reported with status 403. Source: OpenRouter, "Errors".
    meaning({ status, message }) {
      if (status === 403 && /\bflagged\b/.test(message)) return { status: 400 }
      const isTooDear =
        status === 402 &&
        message.startsWith('This request requires more credits, or fewer max_tokens')
      return isTooDear ? { status: 403 } : undefined
    },
  },
  balance: { unit: 'usd', read: readBalance },
  models: names(`
    anthropic/claude-3-haiku anthropic/claude-3.5-haiku anthropic/claude-fable-5
    anthropic/claude-haiku-4.5 anthropic/claude-opus-4 anthropic/claude-opus-4.1
    anthropic/claude-opus-4.5 anthropic/claude-opus-4.6 anthropic/claude-opus-4.6-fast
    anthropic/claude-opus-4.7 anthropic/claude-opus-4.7-fast anthropic/claude-opus-4.8
    anthropic/claude-opus-4.8-fast anthropic/claude-sonnet-4 anthropic/claude-sonnet-4.5
    anthropic/claude-sonnet-4.6 deepseek/deepseek-chat deepseek/deepseek-chat-v3-0324
    deepseek/deepseek-chat-v3.1 deepseek/deepseek-r1 deepseek/deepseek-r1-0528
    deepseek/deepseek-r1-distill-llama-70b deepseek/deepseek-r1-distill-qwen-32b
    deepseek/deepseek-v3.1-terminus deepseek/deepseek-v3.2 deepseek/deepseek-v3.2-exp
    deepseek/deepseek-v3.2-speciale deepseek/deepseek-v4-flash deepseek/deepseek-v4-pro
    google/gemini-2.0-flash-001 google/gemini-2.0-flash-lite-001 google/gemini-2.5-flash
    google/gemini-2.5-flash-image google/gemini-2.5-flash-lite
    google/gemini-2.5-flash-lite-preview-09-2025 google/gemini-2.5-pro google/gemini-2.5-pro-preview
    google/gemini-2.5-pro-preview-05-06 google/gemini-3-flash-preview google/gemini-3-pro-image
    google/gemini-3-pro-image-preview google/gemini-3.1-flash-image
    google/gemini-3.1-flash-image-preview google/gemini-3.1-flash-lite
    google/gemini-3.1-flash-lite-preview google/gemini-3.1-pro-preview
    google/gemini-3.1-pro-preview-customtools google/gemini-3.5-flash google/gemma-2-27b-it
    google/gemma-3-12b-it google/gemma-3-27b-it google/gemma-3-4b-it google/gemma-3n-e4b-it
    google/gemma-4-26b-a4b-it google/gemma-4-31b-it google/lyria-3-clip-preview
    google/lyria-3-pro-preview meta-llama/llama-3-70b-instruct meta-llama/llama-3-8b-instruct
    meta-llama/llama-3.1-70b-instruct meta-llama/llama-3.1-8b-instruct
    meta-llama/llama-3.2-11b-vision-instruct meta-llama/llama-3.2-1b-instruct
    meta-llama/llama-3.2-3b-instruct meta-llama/llama-3.3-70b-instruct meta-llama/llama-4-maverick
    meta-llama/llama-4-scout meta-llama/llama-guard-3-8b meta-llama/llama-guard-4-12b
    minimax/minimax-01 minimax/minimax-m1 minimax/minimax-m2 minimax/minimax-m2-her
    minimax/minimax-m2.1 minimax/minimax-m2.5 minimax/minimax-m2.7 minimax/minimax-m3
    mistralai/codestral-2508 mistralai/devstral-2512 mistralai/devstral-medium
    mistralai/devstral-small mistralai/ministral-14b-2512 mistralai/ministral-3b-2512
    mistralai/ministral-8b-2512 mistralai/mistral-7b-instruct-v0.1 mistralai/mistral-large
    mistralai/mistral-large-2407 mistralai/mistral-large-2411 mistralai/mistral-large-2512
    mistralai/mistral-medium-3 mistralai/mistral-medium-3.1 mistralai/mistral-medium-3-5
    mistralai/mistral-nemo mistralai/mistral-saba mistralai/mistral-small-24b-instruct-2501
    mistralai/mistral-small-2603 mistralai/mistral-small-3.1-24b-instruct
    mistralai/mistral-small-3.2-24b-instruct mistralai/mixtral-8x22b-instruct
    mistralai/pixtral-large-2411 mistralai/voxtral-small-24b-2507 moonshotai/kimi-k2
    moonshotai/kimi-k2-0905 moonshotai/kimi-k2-thinking moonshotai/kimi-k2.5 moonshotai/kimi-k2.6
    moonshotai/kimi-k3 moonshotai/kimi-k2.7-code openai/gpt-3.5-turbo openai/gpt-3.5-turbo-0613
    openai/gpt-3.5-turbo-16k openai/gpt-3.5-turbo-instruct openai/gpt-4 openai/gpt-4-0314
    openai/gpt-4-1106-preview openai/gpt-4-turbo openai/gpt-4-turbo-preview openai/gpt-4.1
    openai/gpt-4.1-mini openai/gpt-4.1-nano openai/gpt-4o openai/gpt-4o-2024-05-13
    openai/gpt-4o-2024-08-06 openai/gpt-4o-2024-11-20 openai/gpt-4o-audio-preview openai/gpt-4o-mini
    openai/gpt-4o-mini-2024-07-18 openai/gpt-4o-mini-search-preview openai/gpt-4o-search-preview
    openai/gpt-5 openai/gpt-5-chat openai/gpt-5-codex openai/gpt-5-image openai/gpt-5-image-mini
    openai/gpt-5-mini openai/gpt-5-nano openai/gpt-5-pro openai/gpt-5.1 openai/gpt-5.1-chat
    openai/gpt-5.1-codex openai/gpt-5.1-codex-max openai/gpt-5.1-codex-mini openai/gpt-5.2
    openai/gpt-5.2-chat openai/gpt-5.2-codex openai/gpt-5.2-pro openai/gpt-5.3-chat
    openai/gpt-5.3-codex openai/gpt-5.4 openai/gpt-5.4-image-2 openai/gpt-5.4-mini
    openai/gpt-5.4-nano openai/gpt-5.4-pro openai/gpt-5.5 openai/gpt-5.5-pro openai/gpt-audio
    openai/gpt-audio-mini openai/gpt-chat-latest openai/gpt-oss-120b openai/gpt-oss-20b
    openai/gpt-oss-safeguard-20b openai/o1 openai/o1-pro openai/o3 openai/o3-deep-research
    openai/o3-mini openai/o3-mini-high openai/o3-pro openai/o4-mini openai/o4-mini-deep-research
    openai/o4-mini-high qwen/qwen-2.5-72b-instruct qwen/qwen-2.5-7b-instruct
    qwen/qwen-2.5-coder-32b-instruct qwen/qwen-plus qwen/qwen-plus-2025-07-28
    qwen/qwen-plus-2025-07-28:thinking qwen/qwen2.5-vl-72b-instruct qwen/qwen3-14b
    qwen/qwen3-235b-a22b qwen/qwen3-235b-a22b-2507 qwen/qwen3-235b-a22b-thinking-2507
    qwen/qwen3-30b-a3b qwen/qwen3-30b-a3b-instruct-2507 qwen/qwen3-30b-a3b-thinking-2507
    qwen/qwen3-32b qwen/qwen3-8b qwen/qwen3-coder qwen/qwen3-coder-30b-a3b-instruct
    qwen/qwen3-coder-flash qwen/qwen3-coder-next qwen/qwen3-coder-plus qwen/qwen3-max
    qwen/qwen3-max-thinking qwen/qwen3-next-80b-a3b-instruct qwen/qwen3-next-80b-a3b-thinking
    qwen/qwen3-vl-235b-a22b-instruct qwen/qwen3-vl-235b-a22b-thinking qwen/qwen3-vl-30b-a3b-instruct
    qwen/qwen3-vl-30b-a3b-thinking qwen/qwen3-vl-32b-instruct qwen/qwen3-vl-8b-instruct
    qwen/qwen3-vl-8b-thinking qwen/qwen3.5-122b-a10b qwen/qwen3.5-27b qwen/qwen3.5-35b-a3b
    qwen/qwen3.5-397b-a17b qwen/qwen3.5-9b qwen/qwen3.5-flash-02-23 qwen/qwen3.5-plus-02-15
    qwen/qwen3.5-plus-20260420 qwen/qwen3.6-27b qwen/qwen3.6-35b-a3b qwen/qwen3.6-flash
    qwen/qwen3.6-max-preview qwen/qwen3.6-plus qwen/qwen3.7-max qwen/qwen3.7-plus x-ai/grok-4.20
    x-ai/grok-4.20-multi-agent x-ai/grok-4.3 x-ai/grok-build-0.1 z-ai/glm-4-32b z-ai/glm-4.5
    z-ai/glm-4.5-air z-ai/glm-4.5v z-ai/glm-4.6 z-ai/glm-4.6v z-ai/glm-4.7 z-ai/glm-4.7-flash
    z-ai/glm-5 z-ai/glm-5-turbo z-ai/glm-5.1 z-ai/glm-5.2 z-ai/glm-5v-turbo aion-labs/aion-1.0
    aion-labs/aion-1.0-mini aion-labs/aion-rp-llama-3.1-8b amazon/nova-lite-v1 amazon/nova-micro-v1
    amazon/nova-pro-v1 anthracite-org/magnum-v4-72b anthropic/claude-3.5-sonnet
    cohere/command-r-08-2024 cohere/command-r-plus-08-2024 cohere/command-r7b-12-2024
    google/gemma-2-9b-it gryphe/mythomax-l2-13b inflection/inflection-3-pi
    inflection/inflection-3-productivity mancer/weaver meta-llama/llama-3.3-70b-instruct:free
    microsoft/phi-4 microsoft/wizardlm-2-8x22b nousresearch/hermes-2-pro-llama-3-8b
    nousresearch/hermes-3-llama-3.1-405b nousresearch/hermes-3-llama-3.1-70b perplexity/sonar
    sao10k/l3-euryale-70b sao10k/l3-lunaris-8b sao10k/l3.1-70b-hanami-x1 sao10k/l3.1-euryale-70b
    sao10k/l3.3-euryale-70b thedrummer/rocinante-12b thedrummer/unslopnemo-12b
    undi95/remm-slerp-l2-13b
  `),
  owner: 'openrouter',
  ownerRank: 109,
  priceLists: { rank: 240, modelsDev: ['openrouter'], liteLlm: 'openrouter' },
})
