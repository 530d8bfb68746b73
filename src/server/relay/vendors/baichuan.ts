import { roleEdits } from '../protocols/openai-chat/message-edits.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

export const baichuan = openaiVendor({
  type: 26,
  label: { zh: '百川大模型', en: 'Baichuan' },
  color: 'orange',
  baseUrl: 'https://api.baichuan-ai.com',
  listPosition: 230,
  // Baichuan rejects `stream_options`.
  call: { asksForUsage: () => false, edits: roleEdits },
  models: names(`
    Baichuan4 Baichuan4-Turbo Baichuan4-Air Baichuan3-Turbo Baichuan3-Turbo-128k Baichuan2-Turbo
    Baichuan-M3-Plus Baichuan-M3 Baichuan-M2-Plus Baichuan-M2 Baichuan-Text-Embedding
    Baichuan2-Turbo-192k
  `),
  owner: 'baichuan',
  ownerRank: 12,
})
