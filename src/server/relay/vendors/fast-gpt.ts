import { keyOf } from '../../../contract/channel-type-row.ts'
import { openaiVendor } from './openai-vendor.ts'
import { openai } from './openai.ts'

export const fastGpt = openaiVendor({
  type: 22,
  label: { zh: '知识库：FastGPT', en: 'Knowledge base: FastGPT' },
  color: 'blue',
  baseUrl: 'https://fastgpt.run/api/openapi',
  key: { ...keyOf('-', 'APIKey', 'AppId'), sentWhole: true },
  baseUrlField: { label: { zh: '私有部署地址', en: 'Address of your deployment' } },
  listPosition: 410,
  models: openai.models ?? [],
})
