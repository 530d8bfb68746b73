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
    // Source: docs.z.ai, "Errors". 429 is also its status for accounts.
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
      thinking:
        '`thinking` and `reasoning_effort` in, `reasoning_content` out; GLM-5.3 always does',
    },
    notes: [
      'The key is sent as it is, which the fourth version takes.',
      '`max_completion_tokens` becomes `max_tokens`, and the role `developer` `system`.',
      'More than 64 texts to embed go in several calls.',
      '`temperature` 0 becomes `do_sample: false`, above 1 becomes 1; `top_p` is at least 0.01.',
      'An address that ends in a version is taken as it is: plans for coding have their own.',
      'Speech has voices and formats of Zhipu’s own, which a client must name.',
      'Finish reasons are those of OpenAI; `network_error` is an error, and another channel is ' +
        'asked.',
      'Models of the third version (`chatglm_…`) are retired and not supported.',
      'Moderation is missing here: Zhipu has it, with answers that are not OpenAI’s.',
    ],
  },
})
