import { capabilitiesOf } from '../../../model/model-table.ts'
import { nativeVendor } from '../vendor.ts'
import {
  anthropicHeaders,
  anthropic,
  ANTHROPIC_CHAT,
  anthropicModelList,
  anthropicProvider,
  anthropicRefusals,
} from './anthropic.ts'

export const anthropicCompatible = nativeVendor({
  type: 52,
  label: { zh: 'Anthropic 兼容', en: 'Anthropic compatible' },
  color: 'black',
  protocol: 'anthropic',
  baseUrlField: {
    mode: 'required',
    placeholder: 'https://llm.example.com/anthropic',
  },
  notice: {
    zh: '填写与 Claude Code 的 ANTHROPIC_BASE_URL 相同的地址，/v1/messages 由网关补上',
    en: 'Enter what Claude Code takes as ANTHROPIC_BASE_URL; /v1/messages is added',
  },
  listPosition: 40,
  provider: {
    ...anthropicProvider,
    // Sends the key in Anthropic's header and in OpenAI's, since compatible servers read either
    // one. Claude Code can be configured to send both.
    headers: (channel, call) => ({
      ...anthropicHeaders(channel, call),
      authorization: `Bearer ${channel.key}`,
    }),
  },
  traits: { searchesWeb: (model) => capabilitiesOf({ model }).maker === 'anthropic' },
  refusals: anthropicRefusals,
  modelList: anthropicModelList,
  models: anthropic.models ?? [],
  docs: {
    source: 'Anthropic, API reference: Messages, Streaming messages',
    chat: ANTHROPIC_CHAT,
    notes: [
      {
        en: 'The key is sent in `x-api-key` and as a bearer token.',
        zh: '密钥同时放在 `x-api-key` 和 `Authorization: Bearer` 里发送。',
      },
    ],
  },
})
