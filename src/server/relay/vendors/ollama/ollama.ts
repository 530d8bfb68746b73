import { channelType } from '../../../../contract/channel-types.ts'
import { baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import { arrayOr, present, type JsonRecord } from '../../json/json-value.ts'
import type { Embedding } from '../../protocols/canonical/embedding.ts'
import type {
  Provider,
  ProviderCall,
  ProviderChannel,
  Task,
} from '../../protocols/dialect/provider.ts'
import { bearer, namesIn } from '../shared/model-list.ts'
import { names, nativeVendor } from '../vendor.ts'
import { ndjson } from './ndjson.ts'
import { OllamaStreamReader, readOllamaAnswer } from './read-answer.ts'
import { OLLAMA_LACKS, writeOllamaRequest } from './write-request.ts'

/** Source: Ollama's API reference, "Generate a chat completion" and "Generate embeddings". */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/api/chat',
  embeddings: '/api/embed',
  embedContent: '/api/embed',
  batchEmbedContents: '/api/embed',
}

/** A base URL copied from a client of OpenAI's dialect ends in `/v1`, which is removed. */
function ollamaUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const path = PATHS[task]
  const base = (channel.baseUrl || channelType(channel.type).baseUrl).replace(/\/(?:v1|api)$/, '')
  return path === undefined || base === '' ? null : `${base}${path}`
}

/** A self-hosted server needs no key; Ollama's cloud, or a proxy before the server, may. */
const ollamaHeaders = ({ key }: ProviderChannel): Record<string, string> => ({
  authorization: `Bearer ${key}`,
})

/** Source: Ollama's API reference, "Generate embeddings". */
const ollamaEmbedding: Embedding = {
  request: ({ texts, dimensions }, model): JsonRecord => ({
    model,
    input: texts,
    ...present({ dimensions }),
  }),
  vectors: (answer) => arrayOr(answer.embeddings),
}

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
      images: { en: 'as data', zh: '以数据发送' },
      tools: {
        en: 'yes; a forced tool call is requested by a sentence in the prompt',
        zh: '支持；必须调用工具的要求写在提示里',
      },
      json: { en: 'with or without a schema', zh: '带或不带 schema' },
      reasoning: { en: 'on or off; an effort for gpt-oss', zh: '打开或关闭；gpt-oss 使用强度' },
      usage: {
        en: 'in the last line; if Ollama leaves out a cached prompt, Gatehouse counts it',
        zh: '在最后一行；Ollama 不报告已缓存的提示时由网关计数',
      },
    },
    notes: [
      {
        en: 'Gatehouse creates an id for every tool call to which the server gives none.',
        zh: '服务器没有给出工具调用的 ID 时，由网关生成。',
      },
      {
        en: '`/v1/completions` is not supported: use a channel of type 50 (OpenAI compatible) to the same server.',
        zh: '不支持 `/v1/completions`：请对同一服务器使用类型 50（OpenAI 兼容）的渠道。',
      },
    ],
  },
})
