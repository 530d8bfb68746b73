import { byObject } from '../protocols/openai-chat/thinking/switches.ts'
import { roleEdits } from '../protocols/openai-chat/message-edits.ts'
import { meaningByCode } from './shared/refusals.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

export const volcengineArk = openaiVendor({
  type: 40,
  label: { zh: '字节火山引擎', en: 'Volcengine Ark' },
  color: 'blue',
  baseUrl: 'https://ark.cn-beijing.volces.com',
  pathPrefix: '/api/v3',
  notice: {
    zh: '模型可直接填模型 ID；若使用推理接入点（ep-…），请用模型重定向把模型名指到接入点 ID',
    en: 'List model ids as they are; to call an endpoint (ep-…), map a model name to its id',
  },
  // Bots use a path of their own; their names begin with `bot`.
  pathForModels: { models: /^bot/, from: '/chat/', to: '/bots/chat/' },
  modelVendor: 'volcengine-ark',
  listPosition: 120,
  responses: true,
  // Volcengine Ark rejects the role `developer` (agno-agi/agno#6697).
  call: { edits: roleEdits },
  // Source: Volcengine Ark, "Chat API", `thinking`.
  traits: { reasoningSwitch: byObject },
  refusals: {
    hosts: /(?:^|\.)(?:volces|bytepluses)\.com$/,
    // Volcengine Ark reports an overdue balance with status 403. Source: Volcano Ark, "Error
    // codes".
    meaning: meaningByCode({ AccountOverdueError: 402 }),
  },
  models: names(`
    doubao-seed-2-1-pro-260915 doubao-seed-2-1-pro-260628 doubao-seed-2-1-turbo-260628
    doubao-seed-2-0-pro-260215 doubao-seed-2-0-lite-260428 doubao-seed-2-0-lite-260215
    doubao-seed-2-0-mini-260428 doubao-seed-2-0-mini-260215 doubao-seed-2-0-code-preview-260215
    doubao-seed-1-8-251228 doubao-seed-code-preview-251028 doubao-seed-1-6-251015
    doubao-seed-1-6-250615 doubao-seed-1-6-lite-251015 doubao-seed-1-6-flash-250828
    doubao-seed-1-6-vision-250815 deepseek-v3-2-251201 doubao-1-5-pro-32k-250115
    doubao-1-5-pro-256k-250115 doubao-1-5-lite-32k-250115 doubao-1-5-vision-pro-32k-250115
  `),
  owner: 'doubao',
  ownerRank: 18,
})
