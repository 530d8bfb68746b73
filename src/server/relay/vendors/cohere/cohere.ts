import { baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { bearer, namesIn } from '../shared/model-list.ts'
import { OPENAI_CHAT, names, nativeVendor } from '../vendor.ts'
import { cohereHeaders, cohereUrl, cohereVia, isRanking, rankingEdits } from './address.ts'
import { cohereEmbedding } from './embedding.ts'
import { CohereStreamReader, readCohereAnswer } from './read-answer.ts'
import { COHERE_LACKS, writeCohereRequest } from './write-request.ts'

const provider: Provider = {
  dialect: {
    name: 'cohere',
    writeRequest: writeCohereRequest,
    lacks: COHERE_LACKS,
    readAnswer: readCohereAnswer,
    readStream: () => new CohereStreamReader(),
    embedding: cohereEmbedding,
  },
  url: cohereUrl,
  headers: cohereHeaders,
  asksForUsage: () => false,
  via: cohereVia,
}

/** The usual format of reranking is Cohere's. */
const reranking: Provider = { ...provider, dialect: 'openai', edits: rankingEdits }

export const cohere = nativeVendor({
  type: 35,
  label: 'Cohere',
  color: 'blue',
  baseUrl: 'https://api.cohere.ai',
  protocol: 'cohere',
  modelVendor: 'cohere',
  listPosition: 300,
  provider: (model) => (isRanking(model) ? reranking : provider),
  modelList: {
    question: (channel) => ({
      url: beside(baseUrlOf(channel), '/v1/models?page_size=1000'),
      headers: bearer(channel),
    }),
    shape: namesIn('models', 'name'),
  },
  models: names(`
    command-a-plus-05-2026 command-a-03-2025 command-r7b-12-2024 command-r-08-2024
    command-r-plus-08-2024 c4ai-aya-expanse-32b c4ai-aya-vision-32b tiny-aya-global tiny-aya-earth
    tiny-aya-fire tiny-aya-water command-a-vision-07-2025 command-a-reasoning-08-2025
    command-a-translate-08-2025 command command-nightly command-light command-light-nightly
    command-r command-r-plus rerank-v4.0-pro rerank-v4.0-fast rerank-v3.5 rerank-english-v3.0
    rerank-multilingual-v3.0 embed-v4.0 embed-english-v3.0 embed-english-light-v3.0
    embed-multilingual-v3.0 embed-multilingual-light-v3.0 command-internet command-nightly-internet
    command-light-internet command-light-nightly-internet command-r-internet command-r-plus-internet
  `),
  owner: 'Cohere',
  ownerRank: 10,
  priceLists: { rank: 130, modelsDev: ['cohere'], liteLlm: 'cohere' },
  docs: {
    source: 'Cohere, API reference, second version: Chat, Embed, Rerank',
    chat: {
      images: OPENAI_CHAT.images,
      tools: {
        en: 'yes; to force a specific tool, Gatehouse declares only that tool',
        zh: '支持；指定必须调用的工具时，网关只声明这一个',
      },
      json: { en: 'with or without a schema', zh: '带或不带 schema' },
      reasoning: {
        en: 'a token budget; tool plans are treated as reasoning',
        zh: '按 tokens 的预算；工具计划视为思考',
      },
      usage: {
        en: '`billed_units`, or `tokens` if missing',
        zh: '`billed_units`，没有时用 `tokens`',
      },
    },
    notes: [
      {
        en: 'Embeddings are created for search (`search_document`) unless the client sets `input_type` or Gemini’s `task_type`.',
        zh: '向量默认用于搜索（`search_document`），除非客户端设置了 `input_type` 或 Gemini 的 `task_type`。',
      },
      {
        en: 'Embedding more than 96 texts takes several upstream requests.',
        zh: '一次超过 96 段文本的向量请求会分成多个上游请求。',
      },
      {
        en: 'Models named `rerank-…` rerank. Documents are texts, or objects with a text, and are not returned.',
        zh: '`rerank-…` 用于重排。文档是文本，或带文本的对象，不会返回。',
      },
      {
        en: 'Web search ended with version 1 of the API: model names that end in `-internet` are rejected.',
        zh: '联网搜索随第一版接口停止：以 `-internet` 结尾的模型名会被拒绝。',
      },
    ],
  },
})
