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
 * Where models of Vertex AI are, and in whose words they answer. Sources: Vertex AI REST reference,
 * "publishers.models"; "Use Anthropic's Claude models"; "Mistral AI models"; "Call MaaS APIs for
 * open models".
 */

/** Regions and projects are parts of hosts' names and paths: nothing else may come out of them. */
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

/** Models of other makers are named after them. */
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

/** Some places are no region, and have hosts of their own. */
function hostOf(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com'
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`
  return `${region}-aiplatform.googleapis.com`
}

/** Null: this model has no such call. */
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

/** Whether its maker's own words are passed on as they are. */
const isRaw = (model: string): boolean => isVertexClaude(model) || isVertexMistral(model)

export const isEmbedding = (task: Task): boolean =>
  task === 'embeddings' || task === 'embedContent' || task === 'batchEmbedContents'

/** Vectors are asked for, and answered, in OpenAI's words. */
export const vertexVia = (_channel: ProviderChannel, call: ProviderCall): Via =>
  inSteps(vertexEmbeddingWalk(call))

const DATED_CLAUDE = /^(claude-.+)-(\d{8})$/
/** Two versions of one name. */
const SECOND_VERSION = 'claude-3-5-sonnet-20241022'

/** Vertex parts a model's name and its date by an at sign. */
function bareName(model: string): string {
  const name = model.replace(/^(?:models|google|anthropic|mistralai)\//, '')
  if (name === SECOND_VERSION) return 'claude-3-5-sonnet-v2@20241022'
  return name.replace(DATED_CLAUDE, '$1@$2')
}

const CLAUDE_VERSION = 'vertex-2023-10-16'

/** The address names the model; the version stands in the body. */
export const vertexClaudeEdits = (body: ScannedBody, call: ProviderCall): MemberEdit[] => [
  { remove: 'model' },
  { set: 'anthropic_version', json: JSON.stringify(CLAUDE_VERSION) },
  ...cloudEdits(body, { ...call, cloud: 'google' }),
]

/** The address names the model and its version, the body the model alone. */
export const vertexMistralEdits = (body: ScannedBody, call: ProviderCall): MemberEdit[] => [
  ...mistralEdits(body, call),
  { set: 'model', json: JSON.stringify(bareName(call.model).split('@', 1)[0]) },
]

/**
 * Betas are read from the head alone, as Anthropic has them. Sources: Claude Code documentation,
 * "LLM gateway protocol reference", "API formats"; BerriAI/litellm#22321, which has tried both.
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
    // `vertexUrl` has found it whole.
    if (key === null) return { kind: 'failed', reason: 'unreachable' }
    const token = await accessToken(key.credentials, { egress, nowSeconds: nowSeconds() })
    if (token.kind !== 'token') return token
    return { kind: 'sealed', headers: { authorization: `Bearer ${token.value}` } }
  }
}
