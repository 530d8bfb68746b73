import { capabilitiesOf } from '../../../model/model-table.ts'
import { composedKey, field } from '../../../../contract/channel-type-row.ts'
import type { Provider, Task } from '../../protocols/dialect/provider.ts'
import { GOOGLE_MEDIA_NOTES } from '../google/gemini.ts'
import { googlesMedia } from '../google/media.ts'
import { MISTRAL_LACKS } from '../mistral/chat.ts'
import { names, nativeVendor } from '../vendor.ts'
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

/** Rejects members that it does not know, and reports the usage of every stream unasked. */
const mistral: Provider = {
  ...gemini,
  dialect: 'openai',
  lacks: MISTRAL_LACKS,
  edits: vertexMistralEdits,
}

/** Models of other makers, under names like `meta/llama-3.3-70b-instruct-maas`. */
const shared: Provider = { ...gemini, dialect: 'openai', asksForUsage: () => true }

/** In OpenAI's dialect; edits and a walk convert it to Vertex AI's. */
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
      pictures: 'as Gemini, Anthropic or OpenAI has them',
      tools: 'yes',
      json: 'as Gemini or Anthropic has it',
      thinking: 'as Gemini or Anthropic has it',
      usage: 'always',
    },
    notes: [
      '`claude-…` goes to Anthropic’s models, `mistral-…`, `codestral-…` and `mistralai/…` to ' +
        'Mistral’s, `maker/model` to open ones, the rest to Gemini. Of Anthropic’s betas those go ' +
        'along that Google knows and the request makes use of.',
      'Credentials are those of a service account, or of a user with a refresh token. Access ' +
        'tokens are kept until five minutes before they end; `token_uri` is called by the rules ' +
        'for outgoing calls.',
      'The region may be `global`, `us` or `eu`. Dated names of Claude get their `@` here.',
      'Texts are embedded by `predict`, those of `gemini-embedding-001` one after the other; later ' +
        'models by `embedContent`.',
      ...GOOGLE_MEDIA_NOTES,
    ],
  },
})
