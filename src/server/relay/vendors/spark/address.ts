import { createHmac } from 'node:crypto'
import { splitKey } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel } from '../../protocols/dialect/provider.ts'
import type { Seal, UpstreamRequest } from '../../transport/upstream-call.ts'

/**
 * URLs of Spark's models, and the signature of a call. Sources: iFlytek Open Platform, Spark "Web
 * API", "Deep reasoning by WebSocket" and "General URL authentication".
 */
const BASE = 'wss://spark-api.xf-yun.com'

interface Version {
  path: string
  domain: string
}

const X1: Version = { path: '/v1/x1', domain: 'spark-x' }
const X2: Version = { path: '/x2', domain: 'spark-x' }

/** Versions whose path or domain differs from their name; in lower case. */
const VERSIONS: Readonly<Record<string, Version>> = {
  'v1.1': { path: '/v1.1/chat', domain: 'lite' },
  'v2.1': { path: '/v2.1/chat', domain: 'generalv2' },
  'v3.1': { path: '/v3.1/chat', domain: 'generalv3' },
  'v3.5': { path: '/v3.5/chat', domain: 'generalv3.5' },
  'v4.0': { path: '/v4.0/chat', domain: '4.0Ultra' },
  'v3.1-128k': { path: '/chat/pro-128k', domain: 'pro-128k' },
  'v3.5-32k': { path: '/chat/max-32k', domain: 'max-32k' },
  x1: X1,
  'x1.5': X1,
  'v1/x1': X1,
  x2: X2,
}

const MODELS: Readonly<Record<string, string>> = {
  'spark-lite': 'v1.1',
  'spark-pro': 'v3.1',
  'spark-pro-128k': 'v3.1-128k',
  'spark-max': 'v3.5',
  'spark-max-32k': 'v3.5-32k',
  'spark-4.0-ultra': 'v4.0',
  'spark-x': 'x1',
}

const OLDEST = 'v1.1'

/** Version of the channel, or the version that the model's name contains or implies. */
function versionNameOf(apiVersion: string, model: string): string {
  if (apiVersion !== '') return apiVersion
  const name = model.toLowerCase()
  if (Object.hasOwn(MODELS, name)) return MODELS[name] ?? OLDEST
  const dash = model.indexOf('-')
  return model.slice(dash + 1 || model.length) || OLDEST
}

export function sparkVersion(apiVersion: string, model: string): Version {
  const name = versionNameOf(apiVersion, model)
  const small = name.toLowerCase()
  const known = Object.hasOwn(VERSIONS, small) ? VERSIONS[small] : undefined
  return known ?? { path: `/${encodeURIComponent(name)}/chat`, domain: `general${name}` }
}

interface SparkKey {
  appId: string
  secret: string
  key: string
}

/** Parses a channel key: application id, secret, key, in this order. */
export function sparkKey({ type, key: stored }: ProviderChannel): SparkKey | null {
  const [appId, secret, key] = splitKey(type, stored) ?? []
  if (appId === undefined || secret === undefined || key === undefined) return null
  return { appId, secret, key }
}

export function sparkUrl(channel: ProviderChannel, call: ProviderCall): string | null {
  if (call.task !== 'chat' || sparkKey(channel) === null) return null
  const { path } = sparkVersion(channel.apiVersion, call.model)
  if (/^\/\.{1,2}\//.test(path)) return null
  return (channel.baseUrl.replace(/^http/, 'ws') || BASE) + path
}

/** The signature is in the URL; the clock may be off by five minutes, not more. */
export function sparkSeal(
  channel: ProviderChannel,
  { url }: UpstreamRequest,
  nowSeconds: () => number,
): Seal {
  return () => {
    const key = sparkKey(channel)
    // `sparkUrl` has already checked it.
    if (key === null) return { kind: 'failed', reason: 'unreachable' }
    const { host, pathname } = new URL(url)
    const query = signedQuery({ host, path: pathname }, key, nowSeconds())
    return { kind: 'sealed', headers: {}, query }
  }
}

export function signedQuery(
  { host, path }: { host: string; path: string },
  { secret, key }: Pick<SparkKey, 'secret' | 'key'>,
  nowSeconds: number,
): string {
  const date = new Date(nowSeconds * 1000).toUTCString()
  const text = `host: ${host}\ndate: ${date}\nGET ${path} HTTP/1.1`
  const signature = createHmac('sha256', secret).update(text).digest('base64')
  const authorization =
    `api_key="${key}", algorithm="hmac-sha256", headers="host date request-line", ` +
    `signature="${signature}"`
  return new URLSearchParams({
    authorization: Buffer.from(authorization).toString('base64'),
    date,
    host,
  }).toString()
}
