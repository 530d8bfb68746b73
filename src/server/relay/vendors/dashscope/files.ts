import type { UpstreamRequest } from '../../transport/upstream-call.ts'

const FILE_HOST = /\.aliyuncs\.com$/

/**
 * Returns the request for a file that DashScope generated. Only URLs on Alibaba's storage and on
 * the channel's own host are allowed, and the channel's key is not sent. An `http:` URL of the
 * storage, as in responses with audio, is changed to `https:`, which the storage supports.
 */
export function fileOf(request: UpstreamRequest, address: string): UpstreamRequest | null {
  const place = URL.canParse(address) ? new URL(address) : null
  if (place === null || place.username !== '') return null
  const isOwn = place.origin === new URL(request.url).origin
  if (!isOwn && FILE_HOST.test(place.hostname) && place.port === '') place.protocol = 'https:'
  const isTheirs = place.protocol === 'https:' && FILE_HOST.test(place.hostname)
  if (!isOwn && !isTheirs) return null
  const headers = { accept: '*/*', 'user-agent': 'Gatehouse' }
  const { seal: _seal, ...plain } = request
  return { ...plain, url: place.href, method: 'GET', headers, body: null }
}
