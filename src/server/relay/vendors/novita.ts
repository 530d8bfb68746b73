import { byFlag } from '../protocols/openai-chat/thinking/switches.ts'
import { meaningByCode } from './shared/refusals.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

export const novita = openaiVendor({
  type: 41,
  label: 'Novita',
  color: 'purple',
  baseUrl: 'https://api.novita.ai/v3/openai',
  pathPrefix: '',
  modelVendor: 'novita-ai',
  listPosition: 110,
  // Source: Novita's API reference, "Create chat completion", `enable_thinking`.
  traits: { reasoningSwitch: byFlag },
  refusals: {
    // Source: Novita's API reference, "Error codes".
    meaning: meaningByCode({ NOT_ENOUGH_BALANCE: 402 }),
  },
  models: names(`
    baidu/cobuddy baidu/ernie-4.5-21B-a3b baidu/ernie-4.5-21B-a3b-thinking
    baidu/ernie-4.5-300b-a47b-paddle baidu/ernie-4.5-vl-28b-a3b baidu/ernie-4.5-vl-28b-a3b-thinking
    baidu/ernie-4.5-vl-424b-a47b deepseek/deepseek-ocr deepseek/deepseek-ocr-2
    deepseek/deepseek-prover-v2-671b deepseek/deepseek-r1-0528 deepseek/deepseek-r1-0528-qwen3-8b
    deepseek/deepseek-r1-distill-llama-70b deepseek/deepseek-r1-turbo deepseek/deepseek-v3-0324
    deepseek/deepseek-v3.1 deepseek/deepseek-v3.1-terminus deepseek/deepseek-v3.2-exp
    deepseek/deepseek-v3.2 deepseek/deepseek-v3-turbo deepseek/deepseek-v4-flash
    deepseek/deepseek-v4-pro google/gemma-3-12b-it google/gemma-3-27b-it google/gemma-4-26b-a4b-it
    google/gemma-4-31b-it meta-llama/llama-3.1-8b-instruct meta-llama/llama-3.2-3b-instruct
    meta-llama/llama-3.3-70b-instruct meta-llama/llama-3-70b-instruct meta-llama/llama-3-8b-instruct
    meta-llama/llama-4-maverick-17b-128e-instruct-fp8 meta-llama/llama-4-scout-17b-16e-instruct
    qwen/qwen-2.5-72b-instruct qwen/qwen2.5-7b-instruct qwen/qwen2.5-vl-72b-instruct
    qwen/qwen3-235b-a22b-fp8 qwen/qwen3-235b-a22b-instruct-2507 qwen/qwen3-235b-a22b-thinking-2507
    qwen/qwen3-30b-a3b-fp8 qwen/qwen3-32b-fp8 qwen/qwen3-4b-fp8 qwen/qwen3-coder-30b-a3b-instruct
    qwen/qwen3-coder-480b-a35b-instruct qwen/qwen3-coder-next qwen/qwen3-next-80b-a3b-instruct
    qwen/qwen3-next-80b-a3b-thinking qwen/qwen3-vl-235b-a22b-instruct
    qwen/qwen3-vl-235b-a22b-thinking qwen/qwen3-vl-30b-a3b-instruct qwen/qwen3-vl-30b-a3b-thinking
    qwen/qwen3-vl-8b-instruct qwen/qwen-mt-plus qwen/qwen3.5-122b-a10b qwen/qwen3.5-27b
    qwen/qwen3.5-35b-a3b qwen/qwen3.5-397b-a17b qwen/qwen3-max qwen/qwen3.7-max qwen/qwen3.6-27b
    qwen/qwen3.6-35b-a3b qwen/qwen3-omni-30b-a3b-instruct qwen/qwen3-omni-30b-a3b-thinking
    zai-org/autoglm-phone-9b-multilingual zai-org/glm-4.5-air zai-org/glm-4.5 zai-org/glm-4.5v
    zai-org/glm-4.6 zai-org/glm-4.6v zai-org/glm-4.7-flash zai-org/glm-4.7 zai-org/glm-5.1
    zai-org/glm-5.2 zai-org/glm-5 zai-org/glm-5-turbo zai-org/glm-5v-turbo zai-org/glm-4.7-h
    zai-org/glm-ocr elephant inclusionai/ling-2.6-flash inclusionai/ling-2.6-1t
    inclusionai/ring-2.6-1t kwaipilot/kat-coder-pro microsoft/wizardlm-2-8x22b minimax/minimax-m2.1
    minimax/minimax-m2.5-highspeed minimax/minimax-m2.5 minimax/minimax-m2.7 minimax/minimax-m2
    minimax/minimax-m2.7-highspeed minimax/minimax-m3 minimaxai/minimax-m1-80k
    mistralai/mistral-nemo moonshotai/kimi-k2-0905 moonshotai/kimi-k2-instruct
    moonshotai/kimi-k2-thinking moonshotai/kimi-k2.5 moonshotai/kimi-k2.6 moonshotai/kimi-k3
    moonshotai/kimi-k2.7-code nousresearch/hermes-2-pro-llama-3-8b openai/gpt-oss-120b
    openai/gpt-oss-20b Sao10K/L3-8B-Stheno-v3.2 sao10k/l31-70b-euryale-v2.2 sao10k/l3-8b-lunaris
    stepfun/step-3.7-flash xiaomimimo/mimo-v2-flash xiaomimimo/mimo-v2.5 xiaomimimo/mimo-v2.5-pro
    nvidia/nemotron-3-nano-30b-a3b thudm/glm-4-32b-0414 baichuan/baichuan-m2-32b
    paddlepaddle/paddleocr-vl gryphe/mythomax-l2-13b
  `),
  owner: 'novita',
  ownerRank: 106,
  priceLists: { rank: 200, modelsDev: ['novita-ai'], liteLlm: 'novita' },
})
