import { capabilitiesOf } from '../../../model/model-table.ts'
import { composedKey, field } from '../../../../contract/channel-type-row.ts'
import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import { GOOGLE_MEDIA_NOTES } from '../google/gemini.ts'
import { googlesMedia } from '../google/media.ts'
import { MISTRAL_LACKS } from '../mistral/chat.ts'
import { YES, names, nativeVendor } from '../vendor.ts'
import {
  isEmbedding,
  isShared,
  isVertexClaude,
  isVertexMistral,
  vertexClaudeEdits,
  vertexClaudeHeaders,
  vertexMistralEdits,
  vertexSeal,
  vertexUrl,
  vertexVia,
} from './address.ts'
import { vertexEmbeddingEdits } from './embedding.ts'

const gemini: Provider = {
  dialect: 'gemini',
  url: vertexUrl,
  headers: () => ({}),
  asksForUsage: () => false,
  seal: vertexSeal,
}

const claude: Provider = {
  ...gemini,
  dialect: 'anthropic',
  headers: vertexClaudeHeaders,
  edits: vertexClaudeEdits,
}

/**
 * Mistral's models on Vertex reject unknown members, and report the usage of every stream without a
 * request for it.
 */
const mistral: Provider = {
  ...gemini,
  dialect: 'openai',
  lacks: MISTRAL_LACKS,
  edits: vertexMistralEdits,
}

/** Models of other makers, under names like `meta/llama-3.3-70b-instruct-maas`. */
const shared: Provider = { ...gemini, dialect: 'openai', asksForUsage: () => true }

/**
 * Embeddings: requests are in OpenAI's format; edits and a walk convert them to Vertex
 * AI's.
 */
const embedding: Provider = {
  ...gemini,
  dialect: 'openai',
  edits: vertexEmbeddingEdits,
  via: vertexVia,
}

function provider(model: string, task: Task): Provider {
  const media = googlesMedia(model, task)
  if (media !== null) return { ...gemini, ...media }
  if (isEmbedding(task)) return embedding
  if (isVertexClaude(model)) return claude
  if (isVertexMistral(model)) return mistral
  return isShared(model) ? shared : gemini
}

export const vertex = nativeVendor({
  type: 42,
  label: { zh: 'VertexAI', en: 'Google Vertex AI' },
  color: 'blue',
  protocol: 'vertex',
  key: {
    ...composedKey('region', 'vertex_ai_project_id', 'vertex_ai_adc'),
    isOpenEnded: true,
  },
  fields: [
    field(
      'region',
      { zh: '区域（Region）', en: 'Region' },
      { required: true, placeholder: 'us-east5' },
    ),
    field(
      'vertex_ai_project_id',
      { zh: '项目 ID', en: 'Project ID' },
      { required: true, isAccount: true, placeholder: 'my-project-123456' },
    ),
    field(
      'vertex_ai_adc',
      { zh: '应用默认凭据（JSON）', en: 'Application default credentials (JSON)' },
      {
        required: true,
        secret: true,
        multiline: true,
        placeholder: '{"type":"service_account",…}',
      },
    ),
  ],
  hiddenFields: ['key', 'batch'],
  modelVendor: 'google-vertex',
  listPosition: 350,
  provider,
  traits: {
    servesClaude: true,
    searchesWeb: (model) => capabilitiesOf({ model }).maker === 'anthropic',
    takesEmbeddingPurpose: true,
    isVertexAi: true,
  },
  models: names(`
    gemini-embedding-001 gemini-embedding-2-preview gemini-embedding-2 gemini-3.1-pro-preview
    gemini-3.1-pro-preview-customtools gemini-3.1-flash-image-preview gemini-3.1-flash-image
    gemini-3.1-flash-lite-image gemini-3.1-flash-lite gemini-3.1-flash-lite-preview
    gemini-3.1-flash-tts-preview gemini-3-pro-preview gemini-3-flash-preview gemini-3.5-flash
    gemini-3.6-flash gemini-3.5-flash-lite gemini-omni-flash-preview gemini-3-pro-image-preview
    gemini-3-pro-image gemini-2.5-pro gemini-2.5-pro-preview gemini-2.5-computer-use-preview
    gemini-2.5-computer-use-preview-10-2025 gemini-2.5-flash gemini-2.5-flash-preview
    gemini-2.5-flash-preview-09-2025 gemini-2.5-flash-lite gemini-2.5-flash-lite-preview
    gemini-2.5-flash-lite-preview-09-2025 gemini-2.5-flash-image gemini-2.5-flash-image-preview
    gemini-2.5-flash-preview-tts gemini-2.5-pro-preview-tts gemini-robotics-er-1.5-preview
    gemini-robotics-er-1.6-preview gemini-2.0-flash gemini-2.0-flash-image gemini-2.0-flash-lite
    claude-3-haiku@20240307 claude-3-5-haiku@20241022 claude-haiku-4-5@20251001
    claude-3-sonnet@20240229 claude-3-5-sonnet@20240620 claude-3-5-sonnet-v2@20241022
    claude-3-7-sonnet@20250219 claude-sonnet-4@20250514 claude-sonnet-4-5@20250929 claude-sonnet-4-6
    claude-sonnet-5 claude-3-opus@20240229 claude-opus-4@20250514 claude-opus-4-1@20250805
    claude-opus-4-5@20251101 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5
    claude-fable-5 imagen-4.0-generate-001 imagen-4.0-ultra-generate-001
    imagen-4.0-fast-generate-001 imagen-4.0-generate-preview-06-06
    imagen-4.0-ultra-generate-preview-06-06 imagen-4.0-fast-generate-preview-06-06
    imagen-4.0-generate-preview-05-20 imagen-4.0-ultra-generate-preview-05-20
    imagen-4.0-fast-generate-preview-05-20 imagen-3.0-generate-001 imagen-3.0-generate-002
    imagen-3.0-fast-generate-001 gemini-pro gemini-1.5-pro-001 gemini-1.5-flash-001
    gemini-2.0-flash-exp gemini-2.0-flash-001 gemini-2.0-flash-lite-preview-02-05
    gemini-2.0-flash-thinking-exp-01-21
  `),
  owner: 'vertexai',
  ownerRank: 102,
  docs: {
    source:
      'Google, Vertex AI REST reference: publishers.models; Claude models; Mistral AI models; MaaS for ' +
      'open models; OAuth 2.0 for server to server applications',
    chat: {
      images: {
        en: 'as in the API of Gemini, Anthropic or OpenAI, by model',
        zh: '与 Gemini、Anthropic 或 OpenAI 的接口相同，取决于模型',
      },
      tools: YES,
      json: {
        en: 'as in the API of Gemini or Anthropic, by model',
        zh: '与 Gemini 或 Anthropic 的接口相同，取决于模型',
      },
      reasoning: {
        en: 'as in the API of Gemini or Anthropic, by model',
        zh: '与 Gemini 或 Anthropic 的接口相同，取决于模型',
      },
      usage: { en: 'always', zh: '总会给出' },
    },
    notes: [
      {
        en: '`claude-…` is sent to Anthropic’s models, `mistral-…`, `codestral-…` and `mistralai/…` to Mistral’s, `maker/model` to open models, and every other name to Gemini. Of the client’s `anthropic-beta` values, those that Google supports and the request uses are forwarded.',
        zh: '`claude-…` 发往 Anthropic 的模型，`mistral-…`、`codestral-…` 和 `mistralai/…` 发往 Mistral 的，`maker/model` 发往开放模型，其余发往 Gemini。客户端的 `anthropic-beta` 里，只转发 Google 支持而且请求用到的值。',
      },
      {
        en: 'Credentials are those of a service account, or of a user with a refresh token. Access tokens are reused until five minutes before they expire. Requests to `token_uri` follow the rules for outgoing connections.',
        zh: '凭证可以是服务账号的，也可以是带 refresh token 的用户的。access token 一直用到过期前五分钟。对 `token_uri` 的请求遵守出站连接的规则。',
      },
      {
        en: 'The region may be `global`, `us` or `eu`. Gatehouse converts the date of a Claude model name to Vertex AI’s form with `@`.',
        zh: '区域可以是 `global`、`us` 或 `eu`。Claude 模型名里的日期会换成 Vertex AI 带 `@` 的写法。',
      },
      {
        en: 'Embeddings use `predict`, and `gemini-embedding-001` takes one request per text; later models use `embedContent`.',
        zh: '向量通过 `predict` 请求，`gemini-embedding-001` 每段文本一个请求；更新的模型使用 `embedContent`。',
      },
      ...GOOGLE_MEDIA_NOTES,
    ],
  },
})
