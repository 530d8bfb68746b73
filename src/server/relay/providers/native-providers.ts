import type { Protocol } from '../../../contract/channel-types.ts'
import type { Provider, ProviderChannel, ProviderRow, Task } from '../dialect/provider.ts'
import {
  baiduRankingEdits,
  baiduSeal,
  baiduUrl,
  baiduVia,
  isBaiduRanking,
} from '../vendors/baidu/address.ts'
import {
  bedrockSeal,
  bedrockUrl,
  bedrockVia,
  claudeEdits,
  isClaude,
} from '../vendors/bedrock/address.ts'
import { pictureEdits as bedrockPictureEdits } from '../vendors/bedrock/pictures.ts'
import { rankingEdits as bedrockRankingEdits } from '../vendors/bedrock/ranking.ts'
import { claudeWire, converseWire } from '../vendors/bedrock/wires.ts'
import { cloudflareUrl } from '../vendors/cloudflare/address.ts'
import { cloudflareMedia } from '../vendors/cloudflare/media.ts'
import {
  cohereHeaders,
  cohereUrl,
  cohereVia,
  isRanking,
  rankingEdits,
} from '../vendors/cohere/address.ts'
import { cozeEdits, cozeUrl, cozeVia } from '../vendors/coze/address.ts'
import {
  dashscopeEdits,
  dashscopeHeaders,
  dashscopeUrl,
  dashscopeVia,
} from '../vendors/dashscope/address.ts'
import { deeplHeaders, deeplUrl, deeplWire } from '../vendors/deepl/address.ts'
import { recordingAsJson } from '../vendors/google/heard-content.ts'
import { googlesMedia } from '../vendors/google/media.ts'
import { formAsJson } from '../images/form-as-json.ts'
import { roleEdits } from '../openai/message-edits.ts'
import { namedEvents } from './named-events.ts'
import { MISTRAL_LACKS } from '../vendors/mistral/chat.ts'
import { ollamaHeaders, ollamaUrl } from '../vendors/ollama/address.ts'
import { ndjson } from '../vendors/ollama/ndjson.ts'
import { replicateHeaders, replicateUrl } from '../vendors/replicate/address.ts'
import { pictureEdits } from '../vendors/replicate/pictures.ts'
import { replicateVia } from '../vendors/replicate/prediction.ts'
import { sparkSeal, sparkUrl } from '../vendors/spark/address.ts'
import { sparkVia } from '../vendors/spark/frames-call.ts'
import { sparkEdits } from '../vendors/spark/write-request.ts'
import { tencentHeaders, tencentSeal, tencentUrl, tencentVia } from '../vendors/tencent/address.ts'
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
} from '../vendors/vertex/address.ts'
import { vertexEmbeddingEdits } from '../vendors/vertex/embedding.ts'
import { zhipuEdits, zhipuUrl, zhipuVia } from '../vendors/zhipu/address.ts'
import { zhipuWire } from '../vendors/zhipu/finish.ts'

const bearer = ({ key }: ProviderChannel): Record<string, string> => ({
  authorization: `Bearer ${key}`,
})

const baidu: Provider = {
  dialect: 'baidu',
  url: baiduUrl,
  headers: () => ({}),
  asksForUsage: () => false,
  seal: baiduSeal,
  via: baiduVia,
}

const baiduRanking: Provider = { ...baidu, dialect: 'openai', edits: baiduRankingEdits }

const converse: Provider = {
  dialect: 'converse',
  url: bedrockUrl,
  headers: () => ({}),
  asksForUsage: () => false,
  wire: converseWire,
  seal: bedrockSeal,
  via: bedrockVia,
}

const bedrockClaude: Provider = {
  ...converse,
  dialect: 'anthropic',
  wire: claudeWire,
  edits: claudeEdits,
}

/** Asked and answered in OpenAI's words, which edits and a walk turn into those of each maker. */
const bedrockPictures: Provider = {
  dialect: 'openai',
  url: bedrockUrl,
  headers: () => ({}),
  asksForUsage: () => false,
  seal: bedrockSeal,
  via: bedrockVia,
  ofForm: formAsJson,
  edits: bedrockPictureEdits,
}

/** Answered in the common shape, which is Cohere's own. */
const bedrockRanking: Provider = { ...bedrockPictures, edits: bedrockRankingEdits }

function bedrock(model: string, task: Task): Provider {
  if (task === 'images' || task === 'imageEdits') return bedrockPictures
  if (task === 'rerank') return bedrockRanking
  return isClaude(model) ? bedrockClaude : converse
}

const cloudflare: Provider = {
  dialect: 'openai',
  url: cloudflareUrl,
  headers: bearer,
  asksForUsage: () => true,
  edits: roleEdits,
}

const cohere: Provider = {
  dialect: 'cohere',
  url: cohereUrl,
  headers: cohereHeaders,
  asksForUsage: () => false,
  via: cohereVia,
}

/** The common shape of rankings is Cohere's own. */
const cohereRanking: Provider = { ...cohere, dialect: 'openai', edits: rankingEdits }

const coze: Provider = {
  dialect: 'coze',
  url: cozeUrl,
  headers: bearer,
  asksForUsage: () => false,
  wire: namedEvents,
  edits: cozeEdits,
  via: cozeVia,
}

const dashscopeCalls: Provider = {
  dialect: 'openai',
  url: dashscopeUrl,
  headers: dashscopeHeaders,
  asksForUsage: () => true,
  edits: dashscopeEdits,
  via: dashscopeVia,
}

/** They take no forms. */
const dashscopeChanging: Provider = { ...dashscopeCalls, ofForm: formAsJson }
const dashscopeHearing: Provider = { ...dashscopeCalls, ofForm: recordingAsJson }

/** Also what Bailian's channels are asked by for all but texts. */
export function dashscope(task: Task): Provider {
  if (task === 'imageEdits') return dashscopeChanging
  return task === 'transcriptions' ? dashscopeHearing : dashscopeCalls
}

const deepl: Provider = {
  dialect: 'deepl',
  url: deeplUrl,
  headers: deeplHeaders,
  asksForUsage: () => false,
  wire: deeplWire,
}

const ollama: Provider = {
  dialect: 'ollama',
  url: ollamaUrl,
  headers: ollamaHeaders,
  asksForUsage: () => false,
  wire: ndjson,
}

const replicate: Provider = {
  dialect: 'replicate',
  url: replicateUrl,
  headers: replicateHeaders,
  asksForUsage: () => false,
  wire: namedEvents,
  via: replicateVia,
}

/** Asked and answered in OpenAI's words, which its edits and its walk turn into Replicate's. */
const replicatePictures: Provider = { ...replicate, dialect: 'openai', edits: pictureEdits }

const vertexGemini: Provider = {
  dialect: 'gemini',
  url: vertexUrl,
  headers: () => ({}),
  asksForUsage: () => false,
  seal: vertexSeal,
}

const vertexClaude: Provider = {
  ...vertexGemini,
  dialect: 'anthropic',
  headers: vertexClaudeHeaders,
  edits: vertexClaudeEdits,
}

/** Refuses whatever it does not know, and tells the usage of every stream unasked. */
const vertexMistral: Provider = {
  ...vertexGemini,
  dialect: 'openai',
  lacks: MISTRAL_LACKS,
  edits: vertexMistralEdits,
}

/** Models of other makers, under names like `meta/llama-3.3-70b-instruct-maas`. */
const vertexShared: Provider = { ...vertexGemini, dialect: 'openai', asksForUsage: () => true }

/** Asked and answered in OpenAI's words, which edits and a walk turn into Vertex's. */
const vertexEmbedding: Provider = {
  ...vertexGemini,
  dialect: 'openai',
  edits: vertexEmbeddingEdits,
  via: vertexVia,
}

function vertex(model: string, task: Task): Provider {
  const media = googlesMedia(model, task)
  if (media !== null) return { ...vertexGemini, ...media }
  if (isEmbedding(task)) return vertexEmbedding
  if (isVertexClaude(model)) return vertexClaude
  if (isVertexMistral(model)) return vertexMistral
  return isShared(model) ? vertexShared : vertexGemini
}

const spark: Provider = {
  dialect: 'spark',
  url: sparkUrl,
  headers: () => ({}),
  asksForUsage: () => false,
  edits: sparkEdits,
  seal: sparkSeal,
  via: () => sparkVia,
}

const tencent: Provider = {
  dialect: 'tencent',
  url: tencentUrl,
  headers: tencentHeaders,
  asksForUsage: () => false,
  seal: tencentSeal,
  via: tencentVia,
}

const zhipu: Provider = {
  dialect: 'openai',
  url: zhipuUrl,
  headers: bearer,
  asksForUsage: () => true,
  edits: zhipuEdits,
  wire: zhipuWire,
  via: zhipuVia,
}

/** Providers with addresses, words or signatures of their own, by the protocol of their type. */
export const nativeProviders: Readonly<Partial<Record<Protocol, ProviderRow>>> = {
  baidu: (model) => (isBaiduRanking(model) ? baiduRanking : baidu),
  bedrock,
  cloudflare: (model, task) => ({ ...cloudflare, ...cloudflareMedia(model, task) }),
  cohere: (model) => (isRanking(model) ? cohereRanking : cohere),
  coze,
  dashscope: (_model, task) => dashscope(task),
  deepl,
  ollama,
  replicate: (_model, task) => (task === 'images' ? replicatePictures : replicate),
  tencent,
  vertex,
  xunfei: spark,
  zhipu,
}
