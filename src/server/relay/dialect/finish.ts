import type { Clock } from '../../clock.ts'
import { scanBody } from '../json/body-scan.ts'
import { splice } from '../json/body-splice.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'
import type { Provider, ProviderCall, ProviderChannel } from './provider.ts'

/** The last touches of a provider to a request in its dialect. */

/** The body as this provider of its dialect wants it. */
export function finished(provider: Provider, to: ProviderCall, bytes: Buffer): Buffer {
  if (provider.edits === undefined) return bytes
  const body = scanBody(bytes)
  if (!body.ok) throw new Error(`a written body is broken: ${body.reason}`)
  const edits = provider.edits(body, to)
  return edits.length === 0 ? bytes : splice(body, edits)
}

/** The request with what must happen to it right before it goes out. */
export function sealedBy(
  provider: Provider,
  channel: ProviderChannel,
  request: UpstreamRequest,
  clock: Pick<Clock, 'nowSeconds'>,
): UpstreamRequest {
  if (provider.seal === undefined) return request
  return { ...request, seal: provider.seal(channel, request, () => clock.nowSeconds()) }
}
