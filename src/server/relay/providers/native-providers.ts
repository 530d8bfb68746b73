import type { Protocol } from '../../../contract/channel-types.ts'
import type { Provider, ProviderChannel, ProviderRow } from '../dialect/provider.ts'
import { bedrockSeal, bedrockUrl, claudeEdits, isClaude } from './bedrock/address.ts'
import { claudeWire, converseWire } from './bedrock/wires.ts'
import { cloudflareUrl } from './cloudflare/address.ts'
import { cohereHeaders, cohereUrl, isRanking, rankingEdits } from './cohere/address.ts'
import { dashscopeEdits, dashscopeHeaders, dashscopeUrl } from './dashscope/address.ts'
import { ollamaHeaders, ollamaUrl } from './ollama/address.ts'
import { ndjson } from './ollama/ndjson.ts'
import {
  isShared,
  isVertexClaude,
  vertexClaudeEdits,
  vertexSeal,
  vertexUrl,
} from './vertex/address.ts'
import { zhipuEdits, zhipuUrl } from './zhipu/address.ts'

const bearer = ({ key }: ProviderChannel): Record<string, string> => ({
  authorization: `Bearer ${key}`,
})

const converse: Provider = {
  dialect: 'converse',
  url: bedrockUrl,
  headers: () => ({}),
  asksForUsage: () => false,
  wire: converseWire,
  seal: bedrockSeal,
}

const bedrockClaude: Provider = {
  ...converse,
  dialect: 'anthropic',
  wire: claudeWire,
  edits: claudeEdits,
}

const cloudflare: Provider = {
  dialect: 'openai',
  url: cloudflareUrl,
  headers: bearer,
  asksForUsage: () => true,
}

const cohere: Provider = {
  dialect: 'cohere',
  url: cohereUrl,
  headers: cohereHeaders,
  asksForUsage: () => false,
}

/** The common shape of rankings is Cohere's own. */
const cohereRanking: Provider = { ...cohere, dialect: 'openai', edits: rankingEdits }

const dashscope: Provider = {
  dialect: 'openai',
  url: dashscopeUrl,
  headers: dashscopeHeaders,
  asksForUsage: () => true,
  edits: dashscopeEdits,
}

const ollama: Provider = {
  dialect: 'ollama',
  url: ollamaUrl,
  headers: ollamaHeaders,
  asksForUsage: () => false,
  wire: ndjson,
}

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
  edits: vertexClaudeEdits,
}

/** Models of other makers, under names like `meta/llama-3.3-70b-instruct-maas`. */
const vertexShared: Provider = { ...vertexGemini, dialect: 'openai', asksForUsage: () => true }

function vertex(model: string): Provider {
  if (isVertexClaude(model)) return vertexClaude
  return isShared(model) ? vertexShared : vertexGemini
}

const zhipu: Provider = {
  dialect: 'openai',
  url: zhipuUrl,
  headers: bearer,
  asksForUsage: () => true,
  edits: zhipuEdits,
}

/** Providers with addresses, words or signatures of their own, by the protocol of their type. */
export const nativeProviders: Readonly<Partial<Record<Protocol, ProviderRow>>> = {
  bedrock: (model) => (isClaude(model) ? bedrockClaude : converse),
  cloudflare,
  cohere: (model) => (isRanking(model) ? cohereRanking : cohere),
  dashscope,
  ollama,
  vertex,
  zhipu,
}
