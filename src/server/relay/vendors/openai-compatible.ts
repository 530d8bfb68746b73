import { openaiVendor } from './openai-vendor.ts'
import { openai } from './openai.ts'

export const openaiCompatible = openaiVendor({
  type: 50,
  label: { zh: 'OpenAI 兼容', en: 'OpenAI compatible' },
  color: 'olive',
  pathPrefix: '',
  baseUrlField: {
    mode: 'required',
    placeholder: 'https://llm.example.com/v1',
  },
  notice: {
    zh: '填写与 SDK 的 base_url 相同的地址，通常以 /v1 结尾',
    en: 'Enter the address an SDK takes as base_url; it usually ends in /v1',
  },
  listPosition: 20,
  // The server may lack the Responses API; the relay then sends the call as chat
  // (`call/second-form.ts`).
  responses: true,
  traits: { servesOpenai: 'maybe' },
  models: openai.models ?? [],
})
