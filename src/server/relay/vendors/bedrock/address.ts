import { splitKey } from '../../../../contract/channel-types.ts'
import { AMAZONS_BETAS, betasFor } from '../anthropic/clouds/betas.ts'
import { cloudEdits, isEager } from '../anthropic/clouds/members.ts'
import type { ProviderCall, ProviderChannel } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import type { Seal, UpstreamRequest, Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { cohereWalk, isTitan, titanWalk } from './embedding.ts'
import { modelId } from './model-ids.ts'
import { isChanging, isDrawing, imageWalk } from './images.ts'
import { isRanking } from './ranking.ts'
import { signedHeaders } from './sigv4.ts'

/**
 * URLs and credentials of Bedrock. Sources: Amazon Bedrock API reference, "Converse",
 * "InvokeModel"; user guide, "API keys"
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html).
 */

/** A region becomes part of a host name, so the pattern is strict. */
const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/

/** A signing key; `secretKey` is null for an API key, which is sent as it is in `id`. */
interface BedrockKey {
  id: string
  secretKey: string | null
  region: string
}

function keyOf({ type, key }: ProviderChannel): BedrockKey | null {
  const parts = splitKey(type, key) ?? []
  const [id, secretKey, region] = parts.length === 2 ? [parts[0], null, parts[1]] : parts
  if (id === undefined || secretKey === undefined || region === undefined) return null
  return REGION.test(region) ? { id, secretKey, region } : null
}

/** Claude uses Anthropic's dialect; all other models use Converse. */
export const isClaude = (model: string): boolean =>
  /(?:^|\.|\/|:)(?:anthropic\.)?claude-/.test(model)

/** Embedding models are invoked, since Converse only chats. */
const EMBEDS = /(?:^|\.)(?:amazon[.-]titan-embed|cohere\.embed)/

export function bedrockUrl(channel: ProviderChannel, call: ProviderCall): string | null {
  const key = keyOf(channel)
  const action = actionOf(call)
  if (key === null || action === null) return null
  const domain = key.region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  const base = channel.baseUrl || `https://bedrock-runtime.${key.region}.${domain}`
  const id = encodeURIComponent(modelId(call.model, key.region))
  return id === '.' || id === '..' ? null : `${base}/model/${id}/${action}`
}

function actionOf({ task, model, isStream }: ProviderCall): string | null {
  if (task === 'embeddings' || task === 'embedContent' || task === 'batchEmbedContents') {
    return EMBEDS.test(model) ? 'invoke' : null
  }
  if (task === 'images') return isDrawing(model) ? 'invoke' : null
  if (task === 'imageEdits') return isChanging(model) ? 'invoke' : null
  if (task === 'rerank') return isRanking(model) ? 'invoke' : null
  if (task !== 'chat' || EMBEDS.test(model)) return null
  if (isClaude(model)) return isStream ? 'invoke-with-response-stream' : 'invoke'
  return isStream ? 'converse-stream' : 'converse'
}

const CLAUDE_VERSION = 'bedrock-2023-05-31'

/**
 * Claude's body on Bedrock. The URL contains the model and the streaming mode; the body contains
 * the version and the betas.
 */
export function claudeEdits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  const betas = betasFor(AMAZONS_BETAS, call, body.bytes)
  if (isEager(body) && !betas.includes(EAGER)) betas.push(EAGER)
  return [
    { remove: 'model' },
    { remove: 'stream' },
    { set: 'anthropic_version', json: JSON.stringify(CLAUDE_VERSION) },
    ...(betas.length === 0 ? [] : [{ set: 'anthropic_beta', json: JSON.stringify(betas) }]),
    ...cloudEdits(body, { ...call, cloud: 'amazon' }),
  ]
}

/**
 * Beta that Bedrock expects for eager streaming of tool arguments. Other platforms expect a member
 * of each tool. Source: the npm package `@ai-sdk/amazon-bedrock`, which adds this beta.
 */
const EAGER = 'fine-grained-tool-streaming-2025-05-14'

export function bedrockSeal(
  channel: ProviderChannel,
  _request: UpstreamRequest,
  nowSeconds: () => number,
): Seal {
  return (_egress, { url, method, headers, body }) => {
    const key = keyOf(channel)
    // `bedrockUrl` has already checked it.
    if (key === null) return { kind: 'failed', reason: 'unreachable' }
    const { id, secretKey, region } = key
    if (secretKey === null) {
      return { kind: 'sealed', headers: { authorization: `Bearer ${id}` } }
    }
    const contentType = headers['content-type'] ?? 'application/json'
    const signed = signedHeaders(
      { method, url, contentType, body: body ?? NOTHING },
      { accessKeyId: id, secretKey, region, sessionToken: null, service: 'bedrock' },
      nowSeconds(),
    )
    return { kind: 'sealed', headers: signed }
  }
}

/** Titan embeds one text per request, Cohere several. */
export function bedrockVia(_channel: ProviderChannel, { task, model }: ProviderCall): Via | null {
  if (task === 'images' || task === 'imageEdits') return inSteps(imageWalk)
  if (isTitan(model)) return inSteps(titanWalk)
  return EMBEDS.test(model) ? inSteps(cohereWalk) : null
}

const NOTHING = Buffer.alloc(0)
