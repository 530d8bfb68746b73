import { channelType, splitKey } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'
import type { Seal, UpstreamRequest, Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { embeddingWalk } from './embedding.ts'
import { tc3Authorization, type Tc3Key } from './tc3.ts'

/**
 * Hunyuan has a single URL; a header names the action. Source: Tencent Cloud API documentation,
 * Hunyuan, "ChatCompletions", "GetEmbedding", "Common parameters".
 */
const ACTIONS: Readonly<Partial<Record<Task, string>>> = {
  chat: 'ChatCompletions',
  embeddings: 'GetEmbedding',
  embedContent: 'GetEmbedding',
  batchEmbedContents: 'GetEmbedding',
}

const VERSION = '2023-09-01'
const SERVICE = 'hunyuan'
const HOST = 'hunyuan.tencentcloudapi.com'
/** Hosts of regions and of the international site. */
const OWN_HOST = /\.tencentcloudapi\.com$/

/** The first part of a key is an application id, which this API version no longer needs. */
function keyOf({ type, key }: ProviderChannel): Tc3Key | null {
  const [, secretId, secretKey] = splitKey(type, key) ?? []
  return secretId === undefined || secretKey === undefined ? null : { secretId, secretKey }
}

export function tencentUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  if (ACTIONS[task] === undefined || keyOf(channel) === null) return null
  return `${channel.baseUrl || channelType(channel.type).baseUrl}/`
}

export const tencentHeaders = (
  _channel: ProviderChannel,
  { task }: ProviderCall,
): Record<string, string> => ({
  'x-tc-action': ACTIONS[task] ?? '',
  'x-tc-version': VERSION,
})

export const tencentVia = (_channel: ProviderChannel, { task }: ProviderCall): Via | null =>
  ACTIONS[task] === ACTIONS.embeddings ? inSteps(embeddingWalk) : null

/** Tencent requires its own host name in the signature, even behind a reverse proxy. */
function signedHost(url: string): string {
  const { host } = new URL(url)
  return OWN_HOST.test(host) ? host : HOST
}

export function tencentSeal(
  channel: ProviderChannel,
  _request: UpstreamRequest,
  nowSeconds: () => number,
): Seal {
  return (_egress, { url, headers, body }) => {
    const key = keyOf(channel)
    // `tencentUrl` has already checked it.
    if (key === null) return { kind: 'failed', reason: 'unreachable' }
    const seconds = nowSeconds()
    const authorization = tc3Authorization(
      {
        service: SERVICE,
        host: signedHost(url),
        action: headers['x-tc-action'] ?? '',
        contentType: headers['content-type'] ?? 'application/json',
        body: body ?? NOTHING,
      },
      key,
      seconds,
    )
    return { kind: 'sealed', headers: { authorization, 'x-tc-timestamp': String(seconds) } }
  }
}

const NOTHING = Buffer.alloc(0)
