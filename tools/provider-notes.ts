import type { Protocol } from '../src/contract/channel-types.ts'

/** What docs/providers says of a protocol that its code does not show by itself. */
export interface ProviderNotes {
  /** Title of the provider's documentation that the converters follow. */
  source: string
  chat: Readonly<Record<'pictures' | 'tools' | 'json' | 'thinking' | 'usage', string>>
  notes: readonly string[]
}

const AS_OPENAI = {
  pictures: 'as data or by address, where the model sees',
  tools: 'yes',
  json: 'as the model offers it',
  thinking: '`reasoning_effort` in, `reasoning_content` out',
  usage: 'asked for in streams; counted here when it does not come',
} as const

export const providerNotes: Readonly<Partial<Record<Protocol, ProviderNotes>>> = {
  azure: {
    source: 'Azure OpenAI, REST API reference; API version lifecycle',
    chat: AS_OPENAI,
    notes: ['A version of `v1` names the model in the body; others in the address, without dots.'],
  },
  anthropic: {
    source: 'Anthropic, API reference: Messages, Streaming messages',
    chat: {
      pictures: 'jpeg, png, gif, webp; as data or by address',
      tools: 'yes',
      json: 'by a schema',
      thinking: 'budgets or efforts, by model; seals are kept',
      usage: 'always; cache reads and writes apart',
    },
    notes: ['`anthropic-version` and `anthropic-beta` of Anthropic’s clients travel on.'],
  },
  gemini: {
    source: 'Google, Gemini API reference: Generating content, Embeddings',
    chat: {
      pictures: 'as data; by address only files that Gemini reads where they lie',
      tools: 'yes; one call at a time cannot be asked for',
      json: 'with or without a schema',
      thinking: 'budgets or levels, by model; seals are kept',
      usage: 'always; thoughts apart',
    },
    notes: [],
  },
  zhipu: {
    source: 'Zhipu, API reference: Chat completion, Embeddings (fourth version)',
    chat: AS_OPENAI,
    notes: [
      'The key is sent as it is, which the fourth version takes.',
      '`temperature` 0 becomes `do_sample: false`, above 1 becomes 1; `top_p` is at least 0.01.',
      'An address that ends in a version is taken as it is: plans for coding have their own.',
      'Models of the third version (`chatglm_…`) are gone and not spoken with.',
    ],
  },
  dashscope: {
    source: 'Alibaba Cloud Model Studio: OpenAI compatible – Chat, Embedding',
    chat: AS_OPENAI,
    notes: [
      'Spoken with by the compatible mode, which answers for the same models with the same keys.',
      'A model whose name ends in `-internet` is asked without that ending and searches the web.',
      '`top_p` of 1 becomes 0.9999, as 1 is refused.',
    ],
  },
  cloudflare: {
    source: 'Cloudflare, Workers AI: OpenAI compatible API endpoints; AI Gateway: Workers AI',
    chat: AS_OPENAI,
    notes: ['An address of the AI Gateway has the account in it; the field is then not used.'],
  },
  cohere: {
    source: 'Cohere, API reference, second version: Chat, Embed, Rerank',
    chat: {
      pictures: 'as data or by address, where the model sees',
      tools: 'yes; which one must be called is said by showing that one alone',
      json: 'with or without a schema',
      thinking: 'a budget of tokens; plans for tools count as thought',
      usage: '`billed_units`, or `tokens` where they are missing',
    },
    notes: [
      'Embeddings are made to be searched (`search_document`): clients cannot say otherwise.',
      'Models named `rerank-…` rank; documents are texts, and are not given back.',
    ],
  },
  ollama: {
    source: 'Ollama, API reference: Generate a chat completion, Generate embeddings',
    chat: {
      pictures: 'as data',
      tools: 'yes; that one must be called cannot be said',
      json: 'with or without a schema',
      thinking: 'on or off; by a word for gpt-oss',
      usage: 'in the last line; counted here when the prompt was kept from before',
    },
    notes: ['Ids of calls are made here where the server gives none.'],
  },
  bedrock: {
    source:
      'Amazon Bedrock, API reference: Converse, ConverseStream, InvokeModel; AWS: Signature V4',
    chat: {
      pictures: 'as data; documents likewise',
      tools: 'yes; one call at a time cannot be asked for, but of Claude',
      json: 'by a schema, of Claude only',
      thinking: 'of Claude as Anthropic has it; of gpt-oss by effort',
      usage: 'always; cache reads and writes apart',
    },
    notes: [
      'Claude is invoked in Anthropic’s own words, all other models by Converse.',
      'A model is an id of Bedrock’s, an inference profile, or an ARN. Claude’s public names are ' +
        'understood too and reached by the profile of the region’s continent.',
      'The checksums of every message of a stream are verified.',
      'Temporary keys and Bedrock’s own API keys are not taken.',
    ],
  },
  vertex: {
    source:
      'Google, Vertex AI REST reference: publishers.models; Claude models; MaaS for open models; ' +
      'OAuth 2.0 for server to server applications',
    chat: {
      pictures: 'as Gemini, Anthropic or OpenAI has them',
      tools: 'yes',
      json: 'as Gemini or Anthropic has it',
      thinking: 'as Gemini or Anthropic has it',
      usage: 'always',
    },
    notes: [
      '`claude-…` goes to Anthropic’s models, `maker/model` to open ones, the rest to Gemini.',
      'Credentials are those of a service account, or of a user with a refresh token. Access ' +
        'tokens are kept until five minutes before they end; `token_uri` is called by the rules ' +
        'for outgoing calls.',
      'The region may be `global`, `us` or `eu`. Dated names of Claude get their `@` here.',
      'Embeddings are not spoken with.',
    ],
  },
}
