import { keyOf } from '../../../../contract/channel-type-row.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { statedStatus } from '../../protocols/dialect/error-body.ts'
import { names, nativeVendor } from '../vendor.ts'
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
      pictures: 'as data or by address, where the model sees',
      tools: 'yes; one certain tool can be demanded',
      json: 'no',
      thinking: 'on or off; reasoning in the response is returned',
      usage: 'in every event',
    },
    notes: [
      'Requests are signed by TC3-HMAC-SHA256, in the name of `hunyuan.tencentcloudapi.com` also ' +
        'behind a reverse proxy. The first part of the key is not used.',
      'A limit on the answer’s length has no word there and is left behind.',
      'More than 50 texts to embed go in several calls.',
      'With a plain key of Hunyuan’s OpenAI-compatible address ' +
        '(`https://api.hunyuan.cloud.tencent.com/v1`) choose the type OpenAI compatible.',
    ],
  },
})
