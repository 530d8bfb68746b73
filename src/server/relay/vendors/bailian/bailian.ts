import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import {
  ALIBABA_PART,
  alibabaRefusals,
  alibabaTraits,
  dashscopeProvider,
} from '../dashscope/dashscope.ts'
import { openaiVendor } from '../openai-vendor.ts'
import { names } from '../vendor.ts'
import { bailianEdits } from './chat.ts'

/**
 * Bailian is the later name of DashScope. Its compatible mode has no reranking, images, speech and
 * transcription, and embeds ten texts per request. Sources: Alibaba Cloud Model Studio, "Text
 * rerank", "Qwen-Image", "Embedding".
 */
const BY_DASHSCOPE: ReadonlySet<Task> = new Set<Task>([
  'rerank',
  'images',
  'imageEdits',
  'speech',
  'transcriptions',
  'embeddings',
  'embedContent',
  'batchEmbedContents',
])

const usual: Partial<Provider> = { edits: bailianEdits }

export const bailian = openaiVendor({
  type: 49,
  label: { zh: '阿里云百炼', en: 'Alibaba Bailian' },
  color: 'orange',
  baseUrl: 'https://dashscope.aliyuncs.com',
  pathPrefix: '/compatible-mode/v1',
  paths: {
    '/v1/responses': '/api/v2/apps/protocols/compatible-mode/v1/responses',
    '/v1/messages': '/apps/anthropic/v1/messages',
  },
  notice: {
    zh: '使用百炼的 OpenAI 兼容接口，密钥与「阿里通义千问」通用',
    en: 'Speaks the OpenAI-compatible protocol; keys of Alibaba DashScope work here too',
  },
  partAddress: ALIBABA_PART,
  modelVendor: 'alibaba-cn',
  listPosition: 160,
  responses: true,
  call: (_model, task) => (BY_DASHSCOPE.has(task) ? dashscopeProvider(task) : usual),
  traits: alibabaTraits,
  refusals: alibabaRefusals,
  models: names(`
    qwen-turbo qwen-flash qwen-plus qwen-long qwen-max qwen3-max qwen3.5-plus qwen3.5-flash
    qwen3.6-plus qwen3.6-flash qwen3.6-max-preview qwen3.8-max qwen3.7-max qwen3.7-plus
    qwen-coder-plus qwen-coder-plus-latest qwen-coder-turbo qwen-coder-turbo-latest qwen3-coder-plus
    qwen3-coder-flash qwen3-coder-next qwen-vl-max qwen-vl-plus qwen-vl-ocr qwen3-vl-plus
    qwen3-vl-flash qwen3-vl-235b-a22b-instruct qwen3-vl-235b-a22b-thinking qwen3-vl-32b-instruct
    qwen3-vl-32b-thinking qwen3-vl-30b-a3b-instruct qwen3-vl-30b-a3b-thinking qwen3-vl-8b-instruct
    qwen3-vl-8b-thinking qwen3-omni-flash qwen-omni-turbo qwen-mt-plus qwen-mt-turbo qwq-32b-preview
    qwq-plus qvq-max deepseek-r1 kimi/kimi-k3 text-embedding-v3 text-embedding-v4 deepseek-v3
  `),
  owner: 'alibailian',
  ownerRank: 22,
})
