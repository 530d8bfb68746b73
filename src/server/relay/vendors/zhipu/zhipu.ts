import { byObject } from '../../protocols/openai-chat/thinking/switches.ts'
import { keyOf } from '../../../../contract/channel-type-row.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { meaningByCode } from '../shared/refusals.ts'
import { TOO_LONG } from '../shared/too-long.ts'
import { modelListBelow } from '../shared/model-list.ts'
import { openaiHeaders } from '../openai-vendor.ts'
import { OPENAI_CHAT, names, nativeVendor } from '../vendor.ts'
import { zhipuEdits, zhipuUrl, zhipuVia } from './address.ts'
import { zhipuWire } from './finish.ts'

const provider: Provider = {
  dialect: 'openai',
  url: zhipuUrl,
  headers: openaiHeaders,
  asksForUsage: () => true,
  edits: zhipuEdits,
  wire: zhipuWire,
  via: zhipuVia,
}

const statusByCode = meaningByCode({
  1110: 401,
  1111: 401,
  1112: 401,
  1113: 402,
  1121: 401,
  1211: 404,
  1301: 400,
  1309: 402,
})

export const zhipu = nativeVendor({
  type: 16,
  label: { zh: '智谱 ChatGLM', en: 'Zhipu GLM' },
  color: 'violet',
  baseUrl: 'https://open.bigmodel.cn',
  protocol: 'zhipu',
  key: keyOf('.', 'id', 'secret'),
  modelVendor: 'zhipuai',
  listPosition: 190,
  provider,
  // Sources: Z.AI's documentation, "Tool Streaming Output"; Zhipu's, "Thinking mode".
  traits: { streamsArguments: true, reasoningSwitch: byObject },
  refusals: {
    hosts: /(?:^|\.)(?:bigmodel\.cn|z\.ai)$/,
    // Zhipu also uses status 429 for account errors. Source: docs.z.ai, "Errors".
    meaning: (said) =>
      said.code === '1261' ? { status: 400, tooLong: TOO_LONG } : statusByCode(said),
  },
  modelList: modelListBelow('/api/paas/v4'),
  models: names(`
    glm-5.3 glm-5.3-flash glm-5-turbo glm-5 glm-5.1 glm-5.2 glm-4.7 glm-4.7-flashx glm-4.7-flash
    glm-4.6 glm-4.5-air glm-4.5 glm-4.5-x glm-4.5-airx autoglm-phone glm-5v-turbo glm-4.6v
    glm-4.6v-flashx glm-4.5v glm-4.6v-flash glm-4v-flash glm-4-plus glm-4-air glm-4-air-250414
    glm-4-airx glm-4-flashx-250414 glm-4-long glm-4-assistant glm-4-flash-250414 glm-4.5-flash
    glm-4-flash glm-z1-air glm-z1-airx glm-z1-flashx glm-4.1v-thinking-flashx
    glm-4.1v-thinking-flash glm-4v-plus-0111 glm-4v-plus glm-4v glm-4-voice cogview-4 glm-image
    cogview-3-plus cogview-3 cogview-3-flash charglm-4 emohaa codegeex-4 rerank embedding-3
    embedding-2 glm-tts glm-asr-2512 glm-zero-preview glm-4-0520 glm-4-flashx glm-4 glm-3-turbo
    cogviewx cogviewx-flash
  `),
  owner: 'zhipu',
  ownerRank: 8,
  priceLists: { rank: 80, modelsDev: ['zai', 'zhipuai'], liteLlm: 'zai' },
  docs: {
    source:
      'Zhipu, API reference: Chat completion, Embeddings, Rerank, Images, Text to speech (fourth ' +
      'version)',
    chat: {
      ...OPENAI_CHAT,
      reasoning: {
        en: '`thinking` and `reasoning_effort` in the request, `reasoning_content` in the response; GLM-5.3 always reasons',
        zh: '请求里的 `thinking` 和 `reasoning_effort`，响应里的 `reasoning_content`；GLM-5.3 总会思考',
      },
    },
    notes: [
      {
        en: 'The key is sent unchanged, as version 4 of the API accepts it.',
        zh: '密钥原样发送，第四版接口接受这种方式。',
      },
      {
        en: '`max_completion_tokens` is sent as `max_tokens`, and the role `developer` as `system`.',
        zh: '`max_completion_tokens` 作为 `max_tokens` 发送，`developer` 角色作为 `system` 发送。',
      },
      {
        en: 'Embedding more than 64 texts takes several upstream requests.',
        zh: '一次超过 64 段文本的向量请求会分成多个上游请求。',
      },
      {
        en: 'A `temperature` of 0 is sent as `do_sample: false`; values above 1 become 1. `top_p` is at least 0.01.',
        zh: '`temperature` 为 0 时发送 `do_sample: false`，大于 1 时改为 1。`top_p` 至少为 0.01。',
      },
      {
        en: 'A base URL that ends in a version is used unchanged, because coding plans have their own.',
        zh: '以版本号结尾的接口地址原样使用，因为编程套餐有自己的地址。',
      },
      {
        en: 'Text-to-speech has Zhipu’s own voices and formats, which the client must name.',
        zh: '语音合成使用智谱自己的音色和格式，客户端必须指定。',
      },
      {
        en: 'Finish reasons are OpenAI’s. `network_error` is treated as an error, and the call is retried on another channel.',
        zh: '结束原因与 OpenAI 相同。`network_error` 视为错误，并换一个渠道重试。',
      },
      {
        en: 'Models of version 3 (`chatglm_…`) are retired and not supported.',
        zh: '第三版的模型（`chatglm_…`）已下线，不支持。',
      },
      {
        en: 'Moderation is not supported, because Zhipu’s responses differ from OpenAI’s.',
        zh: '不支持审核，因为智谱的响应与 OpenAI 的不同。',
      },
    ],
  },
})
