import { field } from '../../../contract/channel-type-row.ts'
import { openai } from './openai.ts'
import { nativeVendor } from './vendor.ts'

export const aiProxyLibrary = nativeVendor({
  type: 21,
  label: { zh: '知识库：AI Proxy', en: 'Knowledge base: AI Proxy' },
  color: 'purple',
  baseUrl: 'https://api.aiproxy.io',
  protocol: 'aiproxy-library',
  fields: [
    field(
      'library_id',
      { zh: '知识库 ID', en: 'Library ID' },
      { alsoOther: true, placeholder: '123456' },
    ),
  ],
  notice: {
    zh: '这项服务已经停止，请改用「知识库：FastGPT」或「OpenAI 兼容」',
    en: 'This service has ended; use FastGPT or an OpenAI-compatible one instead',
  },
  legacy: true,
  retired: true,
  listPosition: 420,
  provider: null,
  models: openai.models ?? [],
})
