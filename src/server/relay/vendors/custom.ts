import { fromSubscription } from './shared/balance.ts'
import { openaiVendor } from './openai-vendor.ts'
import { openai } from './openai.ts'

export const custom = openaiVendor({
  type: 8,
  label: { zh: '自定义渠道', en: 'Custom' },
  color: 'pink',
  baseUrlField: {
    mode: 'required',
    label: { zh: '接口地址', en: 'API address' },
    placeholder: 'https://llm.example.com',
  },
  notice: {
    zh: '只填到域名，/v1 由网关补上；地址已含 /v1 的，建议选「OpenAI 兼容」',
    en: 'Enter scheme and host, /v1 is added; for an address with /v1 choose OpenAI compatible',
  },
  listPosition: 400,
  // The server may lack the Responses API; the relay then sends the call as chat
  // (`call/second-form.ts`).
  responses: true,
  traits: { servesOpenai: 'maybe' },
  balance: { unit: 'usd', read: fromSubscription },
  models: openai.models ?? [],
})
