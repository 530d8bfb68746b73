import { keyOf } from '../../../../contract/channel-type-row.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { statedStatus } from '../../protocols/dialect/error-body.ts'
import { NO, OPENAI_CHAT, names, nativeVendor } from '../vendor.ts'
import { tencentHeaders, tencentSeal, tencentUrl, tencentVia } from './address.ts'
import { tencentEmbedding } from './embedding.ts'
import { readTencentAnswer, TencentStreamReader } from './read-answer.ts'
import { TENCENT_LACKS, writeTencentRequest } from './write-request.ts'

const provider: Provider = {
  dialect: {
    name: 'tencent',
    limitsOutput: false,
    writeRequest: writeTencentRequest,
    lacks: TENCENT_LACKS,
    readAnswer: readTencentAnswer,
    readStream: () => new TencentStreamReader(),
    statusOf: statedStatus,
    embedding: tencentEmbedding,
  },
  url: tencentUrl,
  headers: tencentHeaders,
  asksForUsage: () => false,
  seal: tencentSeal,
  via: tencentVia,
}

export const hunyuan = nativeVendor({
  type: 23,
  label: { zh: '腾讯混元', en: 'Tencent Hunyuan' },
  color: 'teal',
  baseUrl: 'https://hunyuan.tencentcloudapi.com',
  protocol: 'tencent',
  key: keyOf('|', 'AppId', 'SecretId', 'SecretKey'),
  notice: {
    zh: '以腾讯云 API 密钥签名调用；若是混元控制台的 sk- 密钥，请选「OpenAI 兼容」',
    en: 'Signs with a Tencent Cloud key; for an sk- key of Hunyuan choose OpenAI compatible',
  },
  modelVendor: 'tencent-hunyuan',
  listPosition: 220,
  provider,
  models: names(`
    hunyuan-lite hunyuan-standard hunyuan-standard-256K hunyuan-pro hunyuan-turbo hunyuan-turbos
    hunyuan-t1 hunyuan-a13b hunyuan-large-role hunyuan-role-latest hunyuan-translation
    hunyuan-translation-lite hunyuan-vision hunyuan-turbos-vision hunyuan-turbos-vision-video
    hunyuan-t1-vision hunyuan-embedding hy3-preview hy3 hunyuan-vision-1.5-instruct
  `),
  owner: 'tencent',
  ownerRank: 11,
  docs: {
    source:
      'Tencent Cloud API documentation, Hunyuan: ChatCompletions, GetEmbedding, Error codes; ' +
      'Signature v3',
    chat: {
      images: OPENAI_CHAT.images,
      tools: { en: 'yes, including a specific forced tool', zh: '支持，可以指定必须调用的工具' },
      json: NO,
      reasoning: {
        en: 'on or off; reasoning in the response is returned',
        zh: '打开或关闭；返回响应里的思考',
      },
      usage: { en: 'in every event', zh: '在每个事件里' },
    },
    notes: [
      {
        en: 'Requests are signed with TC3-HMAC-SHA256 for the host `hunyuan.tencentcloudapi.com`, also behind a reverse proxy. The first part of the key is not used.',
        zh: '请求用 TC3-HMAC-SHA256 签名，主机固定为 `hunyuan.tencentcloudapi.com`，经过反向代理也一样。密钥的第一部分不使用。',
      },
      {
        en: 'Hunyuan has no output limit: a client’s limit is dropped.',
        zh: '混元没有输出上限的参数：客户端的上限会省略。',
      },
      {
        en: 'Embedding more than 50 texts takes several upstream requests.',
        zh: '一次超过 50 段文本的向量请求会分成多个上游请求。',
      },
      {
        en: 'For an API key of Hunyuan’s OpenAI-compatible address (`https://api.hunyuan.cloud.tencent.com/v1`), choose the type OpenAI compatible.',
        zh: '如果密钥属于混元的 OpenAI 兼容地址（`https://api.hunyuan.cloud.tencent.com/v1`），请选择类型「OpenAI 兼容」。',
      },
    ],
  },
})
