import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

export const lingyi = openaiVendor({
  type: 31,
  label: { zh: '零一万物', en: '01.AI' },
  color: 'green',
  baseUrl: 'https://api.lingyiwanwu.com',
  listPosition: 270,
  models: names(`
    yi-lightning yi-vision-v2 yi-34b-chat-0205 yi-34b-chat-200k yi-vl-plus
  `),
  owner: 'lingyiwanwu',
  ownerRank: 14,
})
