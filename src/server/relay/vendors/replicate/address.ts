import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel } from '../../protocols/dialect/provider.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'

/** Source: Replicate's HTTP API reference, "Create a prediction" and "Streaming output". */

/** `owner/name`, optionally with a version id, which community models require. */
const MODEL = /^([\w-][\w.-]*)\/([\w-][\w.-]*)(?::([0-9a-f]{16,64}))?$/

/** Version id at the end of a model name; null for the model's default. */
export const versionOf = (model: string): string | null => MODEL.exec(model)?.[3] ?? null

/** Root of the API, for a channel address with any path of it. */
function rootOf(address: string): string {
  const base = address.replace(/\/models$/, '')
  return /\/v\d$/.test(base) ? base : `${base}/v1`
}

export function replicateUrl(
  channel: ProviderChannel,
  { task, model }: ProviderCall,
): string | null {
  const found = MODEL.exec(model)
  const base = channel.baseUrl || channelType(channel.type).baseUrl
  if (found === null || base === '' || (task !== 'chat' && task !== 'images')) return null
  const [, owner = '', name = '', version] = found
  const root = rootOf(base)
  return version === undefined
    ? `${root}/models/${owner}/${name}/predictions`
    : `${root}/predictions`
}

/** For a whole answer, Replicate is asked to wait for the result, up to a minute. */
export const replicateHeaders = (
  { key }: ProviderChannel,
  { isStream }: ProviderCall,
): Record<string, string> => ({
  authorization: `Bearer ${key}`,
  ...(isStream ? {} : { prefer: 'wait=60' }),
})

const ID = /^[\w-]{1,64}$/

/** The request that polls a prediction; null if it has no id. */
export function askAbout(request: UpstreamRequest, id: string): UpstreamRequest | null {
  if (!ID.test(id)) return null
  const url = request.url.replace(/(?:\/models\/[^/]+\/[^/]+)?\/predictions$/, `/predictions/${id}`)
  return { ...request, url, method: 'GET', headers: withoutBody(request.headers), body: null }
}

/** The request that cancels a prediction after its client has left. */
export const cancelOf = (asking: UpstreamRequest): UpstreamRequest => ({
  ...asking,
  url: `${asking.url}/cancel`,
  method: 'POST',
})

function withoutBody(headers: Record<string, string>): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(?:content-type|prefer|accept)$/i.test(name),
  )
  return { ...Object.fromEntries(kept), accept: 'application/json' }
}

const OWN_HOST = /(?:^|\.)replicate\.(?:com|net)$/
const FILE_HOST = /(?:^|\.)replicate\.(?:delivery|com)$/

/**
 * The request for a stream whose URL a response contains. Only the channel's own host is trusted,
 * and Replicate's if the channel calls Replicate itself: a response must not redirect the channel's
 * key elsewhere. Null: the stream is not available, and the prediction is polled instead.
 */
export function streamOf(asking: UpstreamRequest, address: unknown): UpstreamRequest | null {
  const own = new URL(asking.url)
  const place = placeIn(address)
  const isTheirs = place !== null && OWN_HOST.test(own.hostname) && isAt(place, OWN_HOST)
  if (place === null || (place.origin !== own.origin && !isTheirs)) return null
  const headers = { ...asking.headers, accept: 'text/event-stream', 'cache-control': 'no-store' }
  return { ...asking, url: place.href, headers }
}

/**
 * The request for an image whose URL a response contains, on Replicate's or the channel's host;
 * null for any other host.
 */
export function fileOf(request: UpstreamRequest, address: string): UpstreamRequest | null {
  const place = placeIn(address)
  const isOwn = place?.origin === new URL(request.url).origin
  if (place === null || (!isOwn && !isAt(place, FILE_HOST))) return null
  // The file's address must not receive the key.
  const headers = { accept: '*/*', 'user-agent': 'Gatehouse' }
  return { ...request, url: place.href, method: 'GET', headers, body: null }
}

function placeIn(address: unknown): URL | null {
  if (typeof address !== 'string' || !URL.canParse(address)) return null
  const place = new URL(address)
  return place.username === '' && place.password === '' ? place : null
}

const isAt = (place: URL, hosts: RegExp): boolean =>
  place.protocol === 'https:' && place.port === '' && hosts.test(place.hostname)
