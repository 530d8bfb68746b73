import { keyOf } from '../../../../contract/channel-type-row.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { statedStatus } from '../../protocols/dialect/error-body.ts'
import { NO, names, nativeVendor } from '../vendor.ts'
import { baiduRankingEdits, baiduSeal, baiduUrl, baiduVia, isBaiduRanking } from './address.ts'
import { baiduEmbedding } from './embedding.ts'
import { baiduStream, readBaiduAnswer } from './read-answer.ts'
import { BAIDU_LACKS, writeBaiduRequest } from './write-request.ts'

const baidu: Provider = {
  dialect: {
    name: 'baidu',
    writeRequest: writeBaiduRequest,
    lacks: BAIDU_LACKS,
    readAnswer: readBaiduAnswer,
    readStream: baiduStream,
    statusOf: statedStatus,
    embedding: baiduEmbedding,
  },
  url: baiduUrl,
  headers: () => ({}),
  asksForUsage: () => false,
  seal: baiduSeal,
  via: baiduVia,
}

const reranking: Provider = { ...baidu, dialect: 'openai', edits: baiduRankingEdits }

export const qianfan = nativeVendor({
  type: 15,
  label: { zh: '百度文心千帆', en: 'Baidu Qianfan' },
  color: 'blue',
  baseUrl: 'https://aip.baidubce.com',
  protocol: 'baidu',
  key: keyOf('|', 'APIKey', 'SecretKey'),
  notice: {
    zh: '用于千帆应用的 API Key 与 Secret Key；若密钥以 bce-v3/ 开头，请选「百度文心千帆 V2」',
    en: 'Takes the two keys of an application; one that begins with bce-v3/ is for Qianfan V2',
  },
  modelVendor: 'baidu-qianfan',
  listPosition: 130,
  provider: (model) => (isBaiduRanking(model) ? reranking : baidu),
  models: names(`
    ERNIE-4.0-8K ERNIE-3.5-8K ERNIE-3.5-8K-0205 ERNIE-3.5-8K-1222 ERNIE-Bot-8K ERNIE-3.5-4K-0205
    ERNIE-Speed-8K ERNIE-Speed-128K ERNIE-Lite-8K-0922 ERNIE-Lite-8K-0308 ERNIE-Tiny-8K BLOOMZ-7B
    Embedding-V1 bge-large-zh bge-large-en tao-8k
  `),
  owner: 'baidu',
  ownerRank: 16,
  docs: {
    source:
      'Baidu AI Cloud, Qianfan ModelBuilder, API reference: ERNIE models, Embeddings, Reranker, ' +
      'Get an access token, Error codes',
    chat: {
      images: NO,
      tools: {
        en: 'one call per turn; several results are sent one after the other',
        zh: '每轮一次调用；多个结果依次发送',
      },
      json: { en: 'without a schema', zh: '不带 schema' },
      reasoning: {
        en: 'cannot be switched; reasoning about a tool call is returned',
        zh: '不能开关；会返回关于工具调用的思考',
      },
      usage: { en: 'in the last event', zh: '在最后一个事件里' },
    },
    notes: [
      {
        en: 'Gatehouse exchanges the two keys for an access token. The request follows the rules for outgoing connections and uses the channel’s proxy. The token is reused until one hour before it expires; if Baidu rejects it, Gatehouse requests a new one within the same call.',
        zh: '网关用两个密钥换取 access token。这个请求遵守出站连接的规则，并使用渠道的代理。token 一直用到过期前一小时；百度拒绝它时，网关在同一次调用里换新的。',
      },
      {
        en: '`temperature` is limited to 0.01–1 and `max_tokens` to at least 2. A `frequency_penalty` from 1 to 2 is sent as `penalty_score`.',
        zh: '`temperature` 限制在 0.01–1，`max_tokens` 至少为 2。1 到 2 之间的 `frequency_penalty` 作为 `penalty_score` 发送。',
      },
      {
        en: 'Models named `Embedding-…`, `bge-…` and `tao-8k` create embeddings; `bce-reranker…` reranks. The name of an unknown model is sent in lower case.',
        zh: '`Embedding-…`、`bge-…` 和 `tao-8k` 用于向量，`bce-reranker…` 用于重排。不认识的模型名以小写发送。',
      },
      {
        en: 'Embedding more than 16 texts takes several upstream requests, also for Qianfan V2; with `tao-8k` each text takes one.',
        zh: '一次超过 16 段文本的向量请求会分成多个上游请求，千帆 V2 也一样；`tao-8k` 每段文本一个请求。',
      },
    ],
  },
})
