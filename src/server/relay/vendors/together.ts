import { roleEdits } from '../protocols/openai-chat/message-edits.ts'
import { TOO_LONG, tooLongIn } from './shared/too-long.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

export const together = openaiVendor({
  type: 39,
  label: 'together.ai',
  color: 'blue',
  baseUrl: 'https://api.together.xyz',
  modelVendor: 'togetherai',
  listPosition: 340,
  // Together rejects the role `developer` (earendil-works/pi, `detectCompat`).
  call: { edits: roleEdits },
  refusals: {
    hosts: /(?:^|\.)together\.(?:xyz|ai)$/,
    // Together reports a prompt that is too long with status 403. Source: Together's documentation,
    // "Error codes".
    meaning: (said) =>
      said.status === 403 && /\bmax_(?:new_)?tokens\b|\bcontext length\b/.test(said.message)
        ? { status: 400, tooLong: tooLongIn(said) ?? TOO_LONG }
        : undefined,
  },
  models: names(`
    MiniMaxAI/MiniMax-M2.7 MiniMaxAI/MiniMax-M2.5 MiniMaxAI/MiniMax-M3 Qwen/Qwen3.6-Plus
    Qwen/Qwen3.7-Plus Qwen/Qwen3.7-Max Qwen/Qwen3.5-397B-A17B Qwen/Qwen3.5-9B moonshotai/Kimi-K2.6
    moonshotai/Kimi-K2.5 zai-org/GLM-5.2 zai-org/GLM-5.1 zai-org/GLM-5 openai/gpt-oss-120b
    openai/gpt-oss-20b deepseek-ai/DeepSeek-V4-Pro deepseek-ai/DeepSeek-V3.1
    Qwen/Qwen3-Coder-Next-FP8 Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8
    Qwen/Qwen3-235B-A22B-Instruct-2507-tput deepseek-ai/DeepSeek-R1
    meta-llama/Llama-3.3-70B-Instruct-Turbo deepcogito/cogito-v2-1-671b essentialai/rnj-1-instruct
    Qwen/Qwen2.5-7B-Instruct-Turbo google/gemma-4-31B-it meta-llama/Llama-Guard-4-12B
    google/gemma-3n-E4B-it LiquidAI/LFM2-24B-A2B meta-llama/Meta-Llama-3-8B-Instruct-Lite
    nvidia/nemotron-3-ultra-550b-a55b moonshotai/Kimi-K2.7-Code pearl-ai/gemma-4-31b-it
    LiquidAI/LFM2.5-8B-A1B intfloat/multilingual-e5-large-instruct google/imagen-4.0-preview
    google/imagen-4.0-fast google/imagen-4.0-ultra google/flash-image-2.5 google/gemini-3-pro-image
    black-forest-labs/FLUX.1-schnell black-forest-labs/FLUX.1.1-pro
    black-forest-labs/FLUX.1-kontext-pro black-forest-labs/FLUX.1-kontext-max
    black-forest-labs/FLUX.1-krea-dev black-forest-labs/FLUX.2-dev black-forest-labs/FLUX.2-flex
    black-forest-labs/FLUX.2-pro black-forest-labs/FLUX.2-max openai/gpt-image-1.5
    google/flash-image-3.1 openai/gpt-image-2 Wan-AI/Wan2.6-image ByteDance-Seed/Seedream-3.0
    ByteDance-Seed/Seedream-4.0 Qwen/Qwen-Image Qwen/Qwen-Image-2.0 Qwen/Qwen-Image-2.0-Pro
    RunDiffusion/Juggernaut-pro-flux Rundiffusion/Juggernaut-Lightning-Flux
    HiDream-ai/HiDream-I1-Full HiDream-ai/HiDream-I1-Dev HiDream-ai/HiDream-I1-Fast
    ideogram/ideogram-3.0 ideogram/ideogram-4.0 Lykon/DreamShaper
    stabilityai/stable-diffusion-3-medium stabilityai/stable-diffusion-xl-base-1.0
    canopylabs/orpheus-3b-0.1-ft hexgrad/Kokoro-82M cartesia/sonic-3 cartesia/sonic-2 cartesia/sonic
    openai/whisper-large-v3 nvidia/parakeet-tdt-0.6b-v3 nvidia/nemotron-3-asr-streaming-0.6b
    nvidia/nemotron-3.5-asr-streaming-0.6b
  `),
  owner: 'together.ai',
  ownerRank: 105,
  priceLists: { rank: 180, modelsDev: ['togetherai'], liteLlm: 'together_ai' },
})
