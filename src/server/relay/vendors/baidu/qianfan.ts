import { keyOf } from '../../../../contract/channel-type-row.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { statedStatus } from '../../protocols/dialect/error-body.ts'
import { names, nativeVendor } from '../vendor.ts'
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
      pictures: 'no',
      tools: 'one call per turn; several results are sent one after the other',
      json: 'without a schema',
      thinking: 'cannot be switched; reasoning about a tool call is returned',
      usage: 'in the last event',
    },
    notes: [
      'An access token is fetched with the two keys, by the rules for outgoing calls and through ' +
        'the channel’s proxy. It is kept until its last hour; one that Baidu refuses is changed ' +
        'for another within the call.',
      '`temperature` is held between 0.01 and 1, `max_tokens` is at least 2; a ' +
        '`frequency_penalty` from 1 to 2 is `penalty_score`.',
      'Models named `Embedding-…`, `bge-…` and `tao-8k` embed, `bce-reranker…` rank; a model not ' +
        'known here is called by its name in small letters.',
      'More than 16 texts to embed, of `tao-8k` more than one, go in several calls; by Qianfan V2 too.',
    ],
  },
})
