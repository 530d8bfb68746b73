import { baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { bearer, namesIn } from '../shared/model-list.ts'
import { names, nativeVendor } from '../vendor.ts'
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
      pictures: 'as data or by address, where the model sees',
      tools: 'yes; which one must be called is said by showing that one alone',
      json: 'with or without a schema',
      thinking: 'a budget of tokens; plans for tools count as thought',
      usage: '`billed_units`, or `tokens` where they are missing',
    },
    notes: [
      'Embeddings are made to be searched (`search_document`) unless a client says otherwise, by ' +
        '`input_type` or Gemini’s `task_type`.',
      'More than 96 texts to embed go in several calls.',
      'Models named `rerank-…` rank; documents are texts, or objects with one, and are not given back.',
      'Searching the web went with the first version: names that end in `-internet` are refused.',
    ],
  },
})
