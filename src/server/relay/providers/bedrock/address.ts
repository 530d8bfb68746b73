import { splitKey } from '../../../../contract/channel-types.ts'
import { AMAZONS_BETAS, betasFor } from '../../anthropic/clouds/betas.ts'
import { cloudEdits, isEager } from '../../anthropic/clouds/members.ts'
import type { ProviderCall, ProviderChannel } from '../../dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import type { Seal, UpstreamRequest, Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { isTitan, titanWalk } from './embedding.ts'
import { signedHeaders } from './sigv4.ts'

/**
 * Where models of Bedrock are. Source: Amazon Bedrock API reference, "Converse", "InvokeModel";
 * user guide, "Supported foundation models" and "Inference profiles".
 */

/** A region is a part of a host's name: nothing else may come out of it. */
const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/

interface BedrockKey {
  accessKeyId: string
  secretKey: string
  region: string
}

function keyOf({ type, key }: ProviderChannel): BedrockKey | null {
  const [accessKeyId, secretKey, region] = splitKey(type, key) ?? []
  if (accessKeyId === undefined || secretKey === undefined || region === undefined) return null
  return REGION.test(region) ? { accessKeyId, secretKey, region } : null
}

/** Claude answers in its maker's words; everything else in Converse's. */
export const isClaude = (model: string): boolean =>
  /(?:^|\.|\/|:)(?:anthropic\.)?claude-/.test(model)

/** Models that embed are invoked: Converse only talks. */
const EMBEDS = /(?:^|\.)(?:amazon\.titan-embed|cohere\.embed)/

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
  if (task !== 'chat' || EMBEDS.test(model)) return null
  if (isClaude(model)) return isStream ? 'invoke-with-response-stream' : 'invoke'
  return isStream ? 'converse-stream' : 'converse'
}

/** Names under which these models are known outside Bedrock, and to other gateways. */
const IDS: Readonly<Record<string, string>> = {
  'claude-instant-1.2': 'anthropic.claude-instant-v1',
  'claude-2.0': 'anthropic.claude-v2',
  'claude-2.1': 'anthropic.claude-v2:1',
  'claude-3-5-sonnet-20241022': 'anthropic.claude-3-5-sonnet-20241022-v2:0',
  'llama3-8b-8192': 'meta.llama3-8b-instruct-v1:0',
  'llama3-70b-8192': 'meta.llama3-70b-instruct-v1:0',
}

/** Undated names end as they are, but for this one. */
const FIRST_VERSIONS: ReadonlySet<string> = new Set(['claude-opus-4-6'])
const DATED_CLAUDE = /^claude-(?:.+)-\d{8}$/
/** Those that can be called directly; later ones only through a profile of several regions. */
const CALLED_DIRECTLY = /^claude-(?:instant|2|3-(?:haiku|sonnet|opus|5))/

type Profiles = readonly (readonly [region: RegExp, prefix: string])[]

const AMERICA_AND_EUROPE: Profiles = [
  [/^us-gov-/, 'us-gov'],
  [/^us-/, 'us'],
  [/^eu-/, 'eu'],
]
const PROFILES: Profiles = [...AMERICA_AND_EUROPE, [/^ap-/, 'apac']]

/**
 * Since then profiles are those of the United States, where Canada is answered too, of the European
 * Union, of Japan and of Australia; every other region of the world has the global one alone.
 * Source: Amazon Bedrock user guide, "Regional availability".
 */
const BY_COUNTRY = /^claude-[a-z]+-(?:4-[5-9]|[5-9])/
const COUNTRIES: Profiles = [
  ...AMERICA_AND_EUROPE,
  [/^ca-/, 'us'],
  [/^ap-northeast-[13]$/, 'jp'],
  [/^ap-southeast-[24]$/, 'au'],
  [/^(?!cn-)/, 'global'],
]

/** An id of Bedrock's own, a profile or an ARN passes as it is. */
function modelId(model: string, region: string): string {
  const known = IDS[model]
  if (known !== undefined) return known
  if (!model.startsWith('claude-')) return model
  const ending = DATED_CLAUDE.test(model) ? '-v1:0' : FIRST_VERSIONS.has(model) ? '-v1' : ''
  const id = `anthropic.${model}${ending}`
  if (CALLED_DIRECTLY.test(model)) return id
  const profiles = BY_COUNTRY.test(model) ? COUNTRIES : PROFILES
  const profile = profiles.find(([pattern]) => pattern.test(region))
  return profile === undefined ? id : `${profile[1]}.${id}`
}

const CLAUDE_VERSION = 'bedrock-2023-05-31'

/** The address names the model and whether it is a stream; versions and betas stand in the body. */
export function claudeEdits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  const betas = betasFor(AMAZONS_BETAS, call, body.bytes)
  if (isEager(body) && !betas.includes(EAGER)) betas.push(EAGER)
  return [
    { remove: 'model' },
    { remove: 'stream' },
    { set: 'anthropic_version', json: JSON.stringify(CLAUDE_VERSION) },
    ...(betas.length === 0 ? [] : [{ set: 'anthropic_beta', json: JSON.stringify(betas) }]),
    ...cloudEdits(body, { cloud: 'amazon', model: call.model }),
  ]
}

/** What asks for it elsewhere is a member of each tool. Source: Vercel's `@ai-sdk/amazon-bedrock`. */
const EAGER = 'fine-grained-tool-streaming-2025-05-14'

export function bedrockSeal(
  channel: ProviderChannel,
  _request: UpstreamRequest,
  nowSeconds: () => number,
): Seal {
  return (_egress, { url, method, headers, body }) => {
    const key = keyOf(channel)
    // `bedrockUrl` has found it whole.
    if (key === null) return { kind: 'failed', reason: 'unreachable' }
    const contentType = headers['content-type'] ?? 'application/json'
    const signed = signedHeaders(
      { method, url, contentType, body: body ?? NOTHING },
      { ...key, sessionToken: null, service: 'bedrock' },
      nowSeconds(),
    )
    return { kind: 'sealed', headers: signed }
  }
}

/** Titan is asked for one text after the other. */
export const bedrockVia = (_channel: ProviderChannel, { model }: ProviderCall): Via | null =>
  isTitan(model) ? inSteps(titanWalk) : null

const NOTHING = Buffer.alloc(0)
