import { baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import type { Provider } from '../../protocols/dialect/provider.ts'
import { bearer, namesIn } from '../shared/model-list.ts'
import { names, nativeVendor } from '../vendor.ts'
import { ollamaHeaders, ollamaUrl } from './address.ts'
import { ollamaEmbedding } from './embedding.ts'
import { ndjson } from './ndjson.ts'
import { OllamaStreamReader, readOllamaAnswer } from './read-answer.ts'
import { OLLAMA_LACKS, writeOllamaRequest } from './write-request.ts'

const provider: Provider = {
  dialect: {
    name: 'ollama',
    writeRequest: writeOllamaRequest,
    lacks: OLLAMA_LACKS,
    readAnswer: readOllamaAnswer,
    readStream: () => new OllamaStreamReader(),
    embedding: ollamaEmbedding,
  },
  url: ollamaUrl,
  headers: ollamaHeaders,
  asksForUsage: () => false,
  wire: ndjson,
}

export const ollama = nativeVendor({
  type: 30,
  label: 'Ollama',
  color: 'black',
  baseUrl: 'http://localhost:11434',
  protocol: 'ollama',
  key: {
    placeholder: {
      zh: '本地服务不检查密钥，任意填写',
      en: 'Not checked locally; any text will do',
    },
  },
  modelVendor: 'ollama-cloud',
  listPosition: 260,
  provider,
  modelList: {
    question: (channel) => ({
      url: beside(baseUrlOf(channel), '/api/tags'),
      headers: bearer(channel),
    }),
    shape: namesIn('models', 'name'),
  },
  models: names(`
    codellama:7b-instruct llama2:7b llama2:latest llama3:latest phi3:latest qwen:0.5b-chat qwen:7b
    llama3.1:latest llama3.2:latest llama3.3:latest deepseek-r1:latest gemma3:latest gemma2:latest
    qwen2.5:latest qwen2.5-coder:latest qwen3:latest mistral:latest gpt-oss:latest
    nomic-embed-text:latest
  `),
  owner: 'ollama',
  ownerRank: 108,
  docs: {
    source: 'Ollama, API reference: Generate a chat completion, Generate embeddings',
    chat: {
      pictures: 'as data',
      tools: 'yes; that one must be called is asked for in words',
      json: 'with or without a schema',
      thinking: 'on or off; by a word for gpt-oss',
      usage: 'in the last line; a prompt that was kept from before is counted here',
    },
    notes: [
      'Ids of calls are made here where the server gives none.',
      '`/v1/completions` is missing here: a channel of type 50 to the same server has it.',
    ],
  },
})
