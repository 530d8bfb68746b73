import { roleEdits } from '../protocols/openai-chat/message-edits.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

export const zhinao = openaiVendor({
  type: 19,
  label: { zh: '360 智脑', en: '360 Zhinao' },
  color: 'blue',
  baseUrl: 'https://ai.360.cn',
  listPosition: 200,
  // Zhinao supports only the roles system, user, assistant and tool.
  call: { edits: roleEdits },
  models: names(`
    360GPT_S2_V9 embedding-bert-512-v1 embedding_s1_v1 semantic_similarity_s1_v1
  `),
  owner: '360',
  ownerRank: 15,
})
