import type { UpstreamRequest } from '../../transport/upstream-call.ts'

const FILE_HOST = /\.aliyuncs\.com$/

/**
 * The request for a file that DashScope has made. An answer is believed about Alibaba's own storage
 * and the channel's own host, and about nothing else; the key stays here. Storage that is named
 * without encryption, as for recordings, answers with it, too.
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
