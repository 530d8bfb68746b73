import { splitKey } from '../../../../contract/channel-types.ts'
import { betasFor, GOOGLES_BETAS } from '../anthropic/clouds/betas.ts'
import { cloudEdits } from '../anthropic/clouds/members.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import type { Seal, UpstreamRequest, Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { googlesMedia, mediaAction } from '../google/media.ts'
import { mistralEdits } from '../mistral/chat.ts'
import { accessToken } from './access-token.ts'
import { embeddingAction, vertexEmbeddingWalk } from './embedding.ts'

/**
 * URLs of models on Vertex AI, and their dialects. Sources: Vertex AI REST reference,
 * "publishers.models"; "Use Anthropic's Claude models"; "Mistral AI models"; "Call MaaS APIs for
 * open models".
 */

/** Regions and projects become parts of host names and paths, so the patterns are strict. */
const NAME = /^[a-z][a-z0-9-]{0,62}$/
const PROJECT = /^[a-z0-9][a-z0-9.:-]{0,62}$/

interface VertexKey {
  region: string
  project: string
  credentials: string
}

function keyOf({ type, key }: ProviderChannel): VertexKey | null {
  const [region, project, credentials] = splitKey(type, key) ?? []
  if (region === undefined || project === undefined || credentials === undefined) return null
  return NAME.test(region) && PROJECT.test(project) ? { region, project, credentials } : null
}

export const isVertexClaude = (model: string): boolean => /^(?:anthropic\/)?claude-/.test(model)

export const isVertexMistral = (model: string): boolean =>
  /^(?:mistralai\/|(?:mistral|ministral|magistral|codestral|devstral|pixtral)-)/.test(model)

/** Models of other makers have names that begin with the maker. */
export const isShared = (model: string): boolean =>
  model.includes('/') && !/^(?:models|google|anthropic|mistralai)\//.test(model)

export function vertexUrl(channel: ProviderChannel, call: ProviderCall): string | null {
  const key = keyOf(channel)
  const action = actionOf(call)
  if (key === null || action === null) return null
  const { region, project } = key
  const base = channel.baseUrl || `https://${hostOf(region)}`
  const place = `projects/${project}/locations/${region}`
  if (isShared(call.model)) return `${base}/v1beta1/${place}/endpoints/openapi/chat/completions`
  const model = encodeURIComponent(bareName(call.model))
  if (model === '' || model === '.' || model === '..') return null
  return `${base}/v1/${place}/publishers/${publisherOf(call.model)}/models/${model}:${action}`
}

function publisherOf(model: string): string {
  if (isVertexClaude(model)) return 'anthropic'
  return isVertexMistral(model) ? 'mistralai' : 'google'
}

/** Multi-region locations have their own host names. */
function hostOf(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com'
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`
  return `${region}-aiplatform.googleapis.com`
}

/** Null if the model does not have this task. */
function actionOf({ task, model, isStream }: ProviderCall): string | null {
  if (googlesMedia(model, task) !== null) {
    return isRaw(model) || isShared(model) ? null : mediaAction(model, task)
  }
  if (isEmbedding(task)) {
    return isRaw(model) || isShared(model) ? null : embeddingAction(model)
  }
  if (task !== 'chat') return null
  if (isRaw(model)) return isStream ? 'streamRawPredict' : 'rawPredict'
  return isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
}

/** Whether the maker's own format is passed on unchanged. */
const isRaw = (model: string): boolean => isVertexClaude(model) || isVertexMistral(model)

export const isEmbedding = (task: Task): boolean =>
  task === 'embeddings' || task === 'embedContent' || task === 'batchEmbedContents'

/** Embedding requests and responses are in OpenAI's format; the walk converts them. */
export const vertexVia = (_channel: ProviderChannel, call: ProviderCall): Via =>
  inSteps(vertexEmbeddingWalk(call))

const DATED_CLAUDE = /^(claude-.+)-(\d{8})$/
/** Vertex distinguishes the two versions of this name by a `-v2`. */
const SECOND_VERSION = 'claude-3-5-sonnet-20241022'

/** Vertex separates a model's name and its date by `@`. */
function bareName(model: string): string {
  const name = model.replace(/^(?:models|google|anthropic|mistralai)\//, '')
  if (name === SECOND_VERSION) return 'claude-3-5-sonnet-v2@20241022'
  return name.replace(DATED_CLAUDE, '$1@$2')
}

const CLAUDE_VERSION = 'vertex-2023-10-16'

/** The URL contains the model; the body contains the version of the API. */
export const vertexClaudeEdits = (body: ScannedBody, call: ProviderCall): MemberEdit[] => [
  { remove: 'model' },
  { set: 'anthropic_version', json: JSON.stringify(CLAUDE_VERSION) },
  ...cloudEdits(body, { ...call, cloud: 'google' }),
]

/** The URL contains the model and its version, the body only the model. */
export const vertexMistralEdits = (body: ScannedBody, call: ProviderCall): MemberEdit[] => [
  ...mistralEdits(body, call),
  { set: 'model', json: JSON.stringify(bareName(call.model).split('@', 1)[0]) },
]

/**
 * Vertex reads betas only from Anthropic's header. Sources: Claude Code documentation, "LLM gateway
 * protocol reference", "API formats"; BerriAI/litellm#22321, whose author tried header and body.
 */
export function vertexClaudeHeaders(
  _channel: ProviderChannel,
  call: ProviderCall,
  body = NOTHING,
): Record<string, string> {
  const betas = betasFor(GOOGLES_BETAS, call, body)
  return betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }
}

const NOTHING = Buffer.alloc(0)

export function vertexSeal(
  channel: ProviderChannel,
  _request: UpstreamRequest,
  nowSeconds: () => number,
): Seal {
  return async (egress) => {
    const key = keyOf(channel)
    // `vertexUrl` has already checked the key.
    if (key === null) return { kind: 'failed', reason: 'unreachable' }
    const token = await accessToken(key.credentials, { egress, nowSeconds: nowSeconds() })
    if (token.kind !== 'token') return token
    return { kind: 'sealed', headers: { authorization: `Bearer ${token.value}` } }
  }
}
